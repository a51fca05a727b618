"""What the sample says about the population: bounds, tests, intervals, comparisons."""
