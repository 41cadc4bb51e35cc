"""How fast netwarp is, measured with the real command: `make bench`."""
