"""Kernel modules of users: their sources as a scenario names them, and the names that they register."""
