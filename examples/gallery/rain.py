# %% [markdown]
# # The forecast says 30% rain. Do I take the umbrella?
#
# 2,000 forecasts (simulated), and whether it rained. To get wet costs me as much as carrying an
# umbrella on six dry days.

# %%
import numpy as np

import rainproof

rng = np.random.default_rng(7)
chance = rng.beta(1.2, 2.4, 2000)  # what the weather really does
p = chance**1.6 / (chance**1.6 + (1 - chance) ** 1.6)  # what the forecaster says: too sure
rained = rng.random(2000) < chance
task = rainproof.DecisionTask.from_costs(
    false_positive=1, false_negative=6, actions=["leave it", "take it"]
)
a = rainproof.assess(rained, p, task=task)
print(a)

# %% [markdown]
# And for a friend who minds the rain more, or less? The forecast's worth at every threshold:

# %% Worth of the forecast at each threshold, as it is and recalibrated, below perfect foresight
print(a.advice_at(0.3))
a.value.plot()

# %% [markdown]
# **So:** at a stated 30% I take it, and so I would at much less. The forecaster is too sure of
# himself; the map repairs that for all his readers, whatever they have to lose.
