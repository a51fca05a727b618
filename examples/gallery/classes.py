# %% [markdown]
# # My model tells three classes apart. When do I believe it, and when do I ask?
#
# A naive Bayes classifier reads threes, fives and eights on a bad scan, which has every third
# pixel. To read one wrongly costs 5, to ask a person costs 1, and to read it right costs nothing.

# %%
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

import rainproof

x, digit = load_digits(return_X_y=True)
x, digit = x[np.isin(digit, [3, 5, 8]), ::3], digit[np.isin(digit, [3, 5, 8])]
p = cross_val_predict(GaussianNB(), x, digit, method="predict_proba")
sample = rainproof.Sample(digit, p, labels=[3, 5, 8])
task = rainproof.DecisionTask.from_cost_matrix(
    5 - 5 * np.eye(3), actions=["3", "5", "8"], abstain=1
)
print(rainproof.swap_regret(sample, task=task))

# %% [markdown]
# The same decision with the recalibrated probabilities, and the class that is off most:

# %% How often it is an eight, far below what the classifier says
better = rainproof.Recalibrator().fit(p, digit, labels=[3, 5, 8]).predict(p)
print("asked as it is:", np.mean(task.best_response(p) == "abstain").round(3), end="; ")
print("recalibrated:", np.mean(task.best_response(better) == "abstain").round(3))
print(rainproof.measures.measure_classes(sample, measures=["soft_binned_cdl"]))
rainproof.assess(sample[8]).reliability.plot()

# %% [markdown]
# **So:** where it would read an eight, ask. The classifier is too sure, and hardly ever asks. Both
# statements are in hindsight, about these rows, to which the recalibration was fitted too.
