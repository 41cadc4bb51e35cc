"""Loads a validated scenario from a file and the command line's settings, or reports errors with line numbers."""
