# %% [markdown]
# # When should my language model answer, and when say "I don't know"?
#
# 4,000 answers with the confidence that the model stated (simulated; it is too sure). A wrong
# answer costs three times what a right one is worth.

# %%
import numpy as np

import rainproof

rng = np.random.default_rng(11)
stated = rng.choice([0.2, 0.5, 0.8, 0.9, 0.95, 0.99], 4000, p=[0.1, 0.15, 0.2, 0.2, 0.2, 0.15])
right = rng.random(4000) < stated**2
task = rainproof.DecisionTask.from_costs(
    false_positive=3, false_negative=1, actions=["abstain", "answer"]
)
a = rainproof.assess(right, stated, task=task)
print(a)

# %% [markdown]
# How many questions it answers from each confidence on, and how many of these answers are wrong:

# %% Share of wrong answers, which rises in six steps to 34% as more questions are answered
rainproof.decisions.risk_coverage(right, stated).plot()

# %% [markdown]
# **So:** the rule is "answer where the recalibrated confidence is at least 3 / (3 + 1)". What the
# model states is not yet that number.
