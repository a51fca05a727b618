# %% [markdown]
# # Which payments do I check, when some are large and some are small?
#
# A model says how likely each of 20,000 card payments is a fraud (simulated; 2% are). To check one
# that is good costs 5; a fraud that passes costs its amount. So one threshold for all payments
# cannot be right.

# %%
import numpy as np

import rainproof

rng = np.random.default_rng(8)
amount = rng.lognormal(3.5, 1.2, 20_000).round(2)
risk = 1 / (1 + np.exp(-rng.normal(-5, 1.6, 20_000)))
fraud = rng.random(20_000) < risk
said = risk**0.7  # the model says too much
task = rainproof.DecisionTask.from_costs(
    false_positive=5, false_negative=amount, actions=["pass", "check"]
)
a = rainproof.assess(fraud, said, task=task)
print(a)

# %% Cost per payment of six ways to decide: recalibrated costs least, but for foresight, and
# checking all most
a.task.plot()

# %% [markdown]
# **So:** check a payment from its own threshold on, 5 / (5 + amount). "Best cut-off" is the best
# single threshold for all payments: what it costs more is what the amounts are worth.
