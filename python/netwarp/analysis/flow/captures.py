"""Flows in captures (pcap, pcapng). The observer reads the captures; docs/pcap.md explains the columns."""

import subprocess
from pathlib import Path

import polars as pl

from netwarp.common.agent import find_observer


class CaptureError(Exception):
    """A capture that cannot be read; the message says which and why."""


def flows_of(*captures: Path) -> pl.DataFrame:
    """Return a row for each flow and direction with packets, in the order of the captures and of first packets.

    A row describes the packets of `src`, and the replies of `dst` to them: `packets`, `bytes`, `retransmissions`,
    `bytes_in_flight_mean` and `gap_ms_mean` are counted on the packets from `src`; `ack_rtt_…`, `acks`,
    `ack_interval_ms_mean`, `duplicate_acks` and `zero_windows` on those of `dst` that acknowledge them. Missing values
    (an RTT without a sample, retransmissions of UDP) are null. A capture that ends within a packet is read up to there.
    Raises CaptureError if a file cannot be read or is damaged, AgentMissingError without the observer.
    """
    return _table(["--arrow", *map(str, captures)])


def series_of(capture: Path, interval: str) -> pl.DataFrame:
    """Return a row for each flow, direction and interval (such as `100ms`) with packets; see docs/pcap.md.

    Raises the errors of `flows_of`.
    """
    return _table(["--series", interval, "--arrow", str(capture)])


def _table(arguments: list[str]) -> pl.DataFrame:
    done = subprocess.run([find_observer(), "pcap", *arguments], capture_output=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").splitlines()
        wrong = [line.removeprefix("error: ") for line in lines if not line.startswith("note: ")]
        raise CaptureError("\n".join(wrong) or f"the observer ended with exit code {done.returncode}")
    return pl.read_ipc_stream(done.stdout)
