"""Results in a browser while they are made and afterwards: pages on this machine's loopback that change nothing."""

from netwarp.serve.server import Server

__all__ = ["Server"]
