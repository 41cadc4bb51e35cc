"""The cases of the suites, a group a file."""
