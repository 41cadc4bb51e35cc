"""The lab as data: a run's network, traffic and records, resolved to numbers.

The builder (`netwarp.lab`) makes labs, engines execute them, and readers of results load them.
"""
