"""Kernel modules of users: their sources as a scenario names them, and what these register."""
