# %% [markdown]
# # Can I act on the scores of my classifier?
#
# A naive Bayes classifier looks for handwritten threes. A missed three costs me five times a false
# alarm, so I would act on every score above 1/6.

# %%
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

import rainproof

x, digit = load_digits(return_X_y=True)
y = digit == 3
p = cross_val_predict(GaussianNB(), x, y, method="predict_proba")[:, 1]
task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=5)
a = rainproof.assess(y, p, task=task)
print(a)

# %% [markdown]
# The scores rank the digits, but they are no probabilities yet. The map that comes with the verdict
# makes them so:

# %% How often it is a three, far below what the classifier says, and the map that mends it
print(a.recalibrator.predict([0.01, 0.5, 1.0]).round(2))
a.reliability.plot(recalibration=a.recalibrator.map_)

# %% [markdown]
# **So:** keep the classifier, act on the recalibrated score. The picture shows why: of the digits
# that the classifier is certain of, most are no threes.
