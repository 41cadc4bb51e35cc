"""Statistics, independent of netwarp: permutation tests, effect sizes, intervals, weighted percentiles, censoring."""
