"""netwarp's speed, measured with the real command: `make bench`."""
