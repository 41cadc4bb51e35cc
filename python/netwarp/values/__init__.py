"""The kinds of value that scenarios, labs and results hold, and the numbers that all stages and the agent share."""
