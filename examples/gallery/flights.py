# %% [markdown]
# # Is my model still good, now that it is in production?
#
# A model of January to August 2013 predicts each day which flights out of New York will be late.
# From September on it is used. Is there a day on which somebody should have been told?

# %%
import runpy

import rainproof

example = runpy.run_path("examples/flights.py")  # a model with default settings, and real flights
table = example["predictions"](example["flights"]())
days = table.groupby(table["date"].dt.strftime("%Y-%m-%d"))
stored = {day: rainproof.Sample(rows["late"], rows["probability"]).compress() for day, rows in days}
line = rainproof.monitor(stored, window=14, dependent=True)
print(*line.sentences(), sep="\n")

# %% What is said and what happens day by day from September to December, with two alarms
line.plot()

# %% [markdown]
# **So:** flights of one day share their weather, hence `dependent=True`: one day is one
# observation. Each day is a few thousand numbers, and the alarm allows for having looked every day.
