"""Cases for calls."""
