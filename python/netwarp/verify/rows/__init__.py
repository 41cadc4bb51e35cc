"""The rows of netwarp itself, a file for each family."""
