"""From the sample to the population: guarantees, tests, intervals, comparisons, monitoring."""
