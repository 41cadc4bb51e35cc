"""The lab as data: what a run's network, traffic and records are, resolved to numbers.

The builder (`netwarp.lab`) makes labs, engines execute them, and everything that reads a result loads them.
"""
