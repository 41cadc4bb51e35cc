"""All steps of one command, a file each, and their interface to studies."""
