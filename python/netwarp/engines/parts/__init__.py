"""Runs whose network is divided between several machines of the engine `uml` (docs/parallel.md)."""
