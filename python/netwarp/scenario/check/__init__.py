"""Checks of a scenario as a whole, which no field can make by itself."""
