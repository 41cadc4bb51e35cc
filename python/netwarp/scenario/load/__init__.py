"""From a file and the command line's settings to a validated scenario, or to errors with line numbers."""
