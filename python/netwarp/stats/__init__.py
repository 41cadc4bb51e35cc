"""Statistics without netwarp: permutation tests, effect sizes, intervals, percentiles weighted by time, censoring."""
