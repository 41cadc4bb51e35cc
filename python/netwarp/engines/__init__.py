"""Engines: a run → the records of a run directory. An engine only writes; `registry.py` lists the engines."""

from netwarp.engines.base import (
    Capabilities,
    Engine,
    EngineError,
    EngineOptions,
    EngineSpec,
    Job,
    MissingPartError,
    Outcome,
)
from netwarp.engines.check import lacking_by_default, refuse_unsupported, refuse_withheld
from netwarp.engines.identity import differing, identity_here, identity_of, name_of, sources_digest
from netwarp.engines.registry import SSH, engine_names, find_engine, find_same_engine, with_kernel_of

__all__ = [
    "SSH",
    "Capabilities",
    "Engine",
    "EngineError",
    "EngineOptions",
    "EngineSpec",
    "Job",
    "MissingPartError",
    "Outcome",
    "differing",
    "engine_names",
    "find_engine",
    "find_same_engine",
    "identity_here",
    "identity_of",
    "lacking_by_default",
    "name_of",
    "refuse_unsupported",
    "refuse_withheld",
    "sources_digest",
    "with_kernel_of",
]
