"""The points of a study: sweep axes and cases, the scenario at each of them, and the parts that identify it."""
