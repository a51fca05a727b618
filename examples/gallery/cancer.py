# %% [markdown]
# # Which tumours should be operated on, and what does the model save?
#
# A logistic regression predicts from a needle biopsy whether a breast tumour is malignant (569
# women, Wisconsin). To leave a malignant one costs as much as twenty needless operations. Every
# prediction is of a model that has not seen that woman.

# %%
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rainproof

x, benign = load_breast_cancer(return_X_y=True)
malignant = benign == 0
model = make_pipeline(StandardScaler(), LogisticRegression())
p = cross_val_predict(model, x, malignant, method="predict_proba")[:, 1]
task = rainproof.DecisionTask.from_costs(
    false_positive=1, false_negative=20, actions=["wait", "operate"]
)
a = rainproof.assess(malignant, p, task=task)
print(a)

# %% [markdown]
# What it costs to act on the model, beside other ways to decide, with 95% intervals. To operate
# where it is "more likely than not" costs more on these rows:

# %% Cost per case of six ways to decide: near 0 with the model, above 7 if nobody is operated on
missed, needless = malignant & (p < 0.5), ~malignant & (p >= 0.5)
print(
    f"cost per case from 50% on: {(20 * missed + needless).mean():.2f}; by the costs: "
    f"{a.task.cost.value:.2f}"
)
a.task.plot()

# %% [markdown]
# **So:** the threshold follows from the costs alone, 1 / (1 + 20), and is far below one half.
