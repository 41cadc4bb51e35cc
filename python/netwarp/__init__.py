"""The real Linux network stack in virtual time."""
