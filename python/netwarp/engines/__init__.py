"""Engines: a run → the records of a run directory. An engine only writes."""

from netwarp.engines.confinement import refuse_withheld
from netwarp.engines.identity import differing, identity_here, identity_of, name_of, sources_digest
from netwarp.engines.job import Engine, EngineError, Job, Outcome
from netwarp.engines.virtual import VirtualEngine

__all__ = [
    "Engine",
    "EngineError",
    "Job",
    "Outcome",
    "VirtualEngine",
    "differing",
    "identity_here",
    "identity_of",
    "name_of",
    "refuse_withheld",
    "sources_digest",
]
