"""Traces of links that come with netwarp, made by `generate`."""
