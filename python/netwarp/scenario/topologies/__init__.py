"""Generators of networks: `[topology]` of a scenario → nodes and links, as its author would have written them."""

from netwarp.scenario.topologies.files import read_topology
from netwarp.scenario.topologies.network import KINDS, Network
from netwarp.scenario.topologies.shapes import SHAPES, ShapeName

__all__ = ["KINDS", "SHAPES", "Network", "ShapeName", "read_topology"]
