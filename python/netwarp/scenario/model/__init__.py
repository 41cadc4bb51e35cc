"""The scenario format as models, a file for each section.

After validation every quantity is an integer in its base unit: bit/s, nanoseconds, bytes; percentages are fractions.
"""

from netwarp.scenario.model.change import Change, Tuner
from netwarp.scenario.model.link import Link
from netwarp.scenario.model.node import Node
from netwarp.scenario.model.run import MAX_RUN_NS, Capture, Record, RunOptions
from netwarp.scenario.model.scenario import SECTIONS, Scenario
from netwarp.scenario.model.study import INTERVAL, TUNER, Case, Expectation

__all__ = [
    "INTERVAL",
    "MAX_RUN_NS",
    "SECTIONS",
    "TUNER",
    "Capture",
    "Case",
    "Change",
    "Expectation",
    "Link",
    "Node",
    "Record",
    "RunOptions",
    "Scenario",
    "Tuner",
]
