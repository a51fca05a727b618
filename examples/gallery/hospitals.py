# %% [markdown]
# # Our risk score comes from elsewhere. In which of our hospitals can we use it?
#
# 8 hospitals, 6,000 patients (simulated): the score says how likely an infection is. In two
# hospitals it happens almost twice as often as it says. To treat in vain costs a ninth of an
# infection that was not treated.

# %%
import numpy as np

import rainproof

rng = np.random.default_rng(3)
hospital = rng.integers(1, 9, 6000)
risk = rng.beta(1, 6, 6000).round(3)
infected = rng.random(6000) < np.where(hospital >= 7, np.minimum(1, 1.8 * risk), risk)
task = rainproof.DecisionTask.from_costs(
    false_positive=1, false_negative=9, actions=["observe", "treat"]
)
a = rainproof.assess(infected, risk, task=task, by={"hospital": hospital})
print(a.verdict.headline)
print(a.segments)

# %% Largest loss in each of eight hospitals, with its bound; hospitals 7 and 8 stand out
a.segments.plot()

# %% [markdown]
# **So:** `q` allows for having looked at eight hospitals: of those with `q` below 5%, at most 5%
# are expected to be false alarms. `Recalibrator().fit(risk, infected, by={"hospital": hospital})`
# gives a map of its own to each hospital that is proven to gain by one; these rows are too few to
# prove it of any. The patients of a new hospital are none of these, and nothing here is about them.
