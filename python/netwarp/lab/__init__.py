"""Builds of a run its lab: the fully resolved network, which an engine executes exactly."""

from netwarp.lab.build import build_lab, memory_bytes, unchecked
from netwarp.lab.notes import network_notes
from netwarp.lab_format.model import Lab

__all__ = ["Lab", "build_lab", "memory_bytes", "network_notes", "unchecked"]
