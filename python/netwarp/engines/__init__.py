"""Engines: a run → the records of a run directory. An engine only writes."""

from netwarp.engines.job import Engine, EngineError, Job, Outcome
from netwarp.engines.programs import changed_programs, program_digests, programs_here
from netwarp.engines.virtual import VirtualEngine

__all__ = [
    "Engine",
    "EngineError",
    "Job",
    "Outcome",
    "VirtualEngine",
    "changed_programs",
    "program_digests",
    "programs_here",
]
