"""Shows results in a browser, also while they are made: read-only pages on this machine's loopback."""

from netwarp.serve.server import Server

__all__ = ["Server"]
