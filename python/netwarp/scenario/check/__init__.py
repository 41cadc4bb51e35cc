"""Checks of a scenario as a whole: what no field can say by itself."""
