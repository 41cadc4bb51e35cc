"""Features of labs that this machine's kernel refuses, tried in namespaces that are discarded at once."""

import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from netwarp.engines.base import EngineError

_PROBE_S = 60.0


@dataclass(frozen=True)
class Refused:
    """Features that the kernel refuses: name → reason; `privilege` is what the namespaces were made with."""

    privilege: str
    interfaces: Mapping[str, str]
    qdiscs: Mapping[str, str]
    congestion_controls: Mapping[str, str]
    sysctls: Mapping[str, str]
    available_congestion_controls: tuple[str, ...]


def probe(
    agent: Path,
    qdiscs: Iterable[str] = (),
    congestion_controls: Iterable[str] = (),
    sysctls: Iterable[tuple[str, str]] = (),
) -> Refused:
    """Ask the kernel for all of these. Raises EngineError if it cannot make namespaces."""
    return _probe(agent, _once(qdiscs), _once(congestion_controls), tuple(dict.fromkeys(sysctls)))


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


@cache
def _probe(
    agent: Path, qdiscs: tuple[str, ...], controls: tuple[str, ...], sysctls: tuple[tuple[str, str], ...]
) -> Refused:
    asked = json.dumps({"qdiscs": qdiscs, "congestion_controls": controls, "sysctls": sysctls})
    try:
        answer = subprocess.run(
            [agent, "host-probe"], input=asked, capture_output=True, text=True, check=False, timeout=_PROBE_S
        )
        if answer.returncode != 0:
            raise EngineError(f"This machine cannot run labs in its own kernel: {answer.stderr.strip()}")
        found = json.loads(answer.stdout)
        return Refused(
            privilege=found["privilege"],
            interfaces=dict(found["interfaces"]),
            qdiscs=dict(found["qdiscs"]),
            congestion_controls=dict(found["congestion_controls"]),
            sysctls=dict(found["sysctls"]),
            available_congestion_controls=tuple(found["available_congestion_controls"]),
        )
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        raise EngineError(
            f"{agent} does not report what this kernel can do ({error}): `make setup` builds it."
        ) from None
