"""All steps of one command, a file each, and what these ask of studies."""
