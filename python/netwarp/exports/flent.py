"""Flent's data files (its documentation, "The Flent data file format", version 4), one for each run.

A run becomes Flent's test `tcp_nup`: its TCP flows are `TCP upload::1` and so on, whatever their direction, and its
first ping is `Ping (ms) ICMP`. All of that test's plots can therefore be drawn, including the kernel's view of each
flow (`tcp_rtt`, `tcp_cwnd`). UDP flows and queues, which the format cannot hold, are left out.
"""

import gzip
import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netwarp.analysis.flow.flows import FlowData, load_flows
from netwarp.analysis.run.series import whole_run
from netwarp.exports.names import stem, tcp_sender, without_tcp
from netwarp.stats.fairness import jain_index
from netwarp.store.errors import StoreError
from netwarp.store.files import write_bytes
from netwarp.store.result import ResultDir
from netwarp.store.rundir import RunDir
from netwarp.store.summary import PlannedRun, axis_text, axis_title
from netwarp.values.json_values import Json

FORMAT_VERSION = 4
PING = "Ping (ms) ICMP"
STEP_S = 0.2
"""The interval between points, as in Flent by default."""

Points = NDArray[np.float64]


def write_flent(result: ResultDir, directory: Path) -> list[Path]:
    """Write a `.flent.gz` for each good run that has a TCP flow. Raises StoreError if none has."""
    files = []
    for run in result.good:
        document = flent_document(result, run)
        if document is None:
            continue
        path = directory / f"{stem(result, run)}.flent.gz"
        # The archive has no date, so that the same result makes the same bytes.
        write_bytes(path, gzip.compress(json.dumps(document).encode(), mtime=0))
        files.append(path)
    if not files:
        raise StoreError(without_tcp(result, "the only kind of flow that Flent's format can hold"))
    return files


def flent_document(result: ResultDir, run: PlannedRun) -> dict[str, Json] | None:
    """Return the content of a run's file; None if the run has no TCP flow."""
    directory = result.run(run.id)
    flows = load_flows(directory, transits=False)
    uploads = [data for data in flows if tcp_sender(data) is not None]
    if not uploads:
        return None
    ping = next((data for data in flows if data.pings is not None), None)
    created = datetime.fromisoformat(str(result.manifest["created"]))
    times, series = _series(directory, uploads, ping)
    return {
        "version": FORMAT_VERSION,
        "metadata": _metadata(result, run, directory, uploads, created),
        "x_values": _numbers(times),
        "results": {name: _numbers(values) for name, values in series.items()},
        "raw_values": dict(_raw_values(uploads, ping, times, series, created.timestamp())),
    }


def _series(run: RunDir, uploads: Sequence[FlowData], ping: FlowData | None) -> tuple[Points, dict[str, Points]]:
    window = whole_run(run)
    rates: list[Points] = []
    times: Points = np.empty(0)
    for data in uploads:
        assert data.to_application is not None
        times, rate = data.to_application.per_interval(window, round(STEP_S * 1e9))
        rates.append(_within(times, rate, data))
    series = {_upload(number): rate for number, rate in enumerate(rates)}
    stacked = np.array(rates)
    active = (~np.isnan(stacked)).sum(axis=0)
    total = np.where(active, np.nansum(stacked, axis=0), np.nan)
    series["TCP upload sum"] = total
    series["TCP upload avg"] = total / np.maximum(active, 1)
    fair = [jain_index([x for x in column if not np.isnan(x)]) for column in stacked.T]
    series["TCP upload fairness"] = np.array([np.nan if x is None else x for x in fair])
    if ping is not None and ping.pings is not None:
        answered = ping.pings.answered
        sent_s, rtts = ping.pings.sent_ns[answered] / 1e9, ping.pings.rtts_ms[answered]
        series[PING] = np.interp(times, sent_s, rtts, np.nan, np.nan) if len(rtts) else np.full(len(times), np.nan)
    return times, series


def _within(times: Points, rates: Points, data: FlowData) -> Points:
    """Return rates during the flow, and NaN before and after it, where no rate exists (rather than 0)."""
    start, end = data.start_ns / 1e9, data.window.end_ns / 1e9
    return np.where((times + STEP_S / 2 > start) & (times - STEP_S / 2 < end), rates, np.nan)


def _raw_values(
    uploads: Sequence[FlowData], ping: FlowData | None, times: Points, series: dict[str, Points], t0: float
) -> Iterator[tuple[str, list[dict[str, float]]]]:
    for number, data in enumerate(uploads):
        assert data.sender is not None
        sender = data.sender
        last = np.searchsorted(sender.times_ns, times * 1e9, side="right") - 1
        yield (
            _upload(number),
            [
                {"t": t0 + time, "val": rate}
                | ({"tcp_cwnd": sender.cwnd_pkts[i], "tcp_rtt": sender.srtt_ms[i]} if i >= 0 else {})
                for time, rate, i in zip(times.tolist(), series[_upload(number)].tolist(), last, strict=True)
                if not np.isnan(rate)
            ],
        )
    if ping is not None and ping.pings is not None:
        pairs = zip(ping.pings.sent_ns.tolist(), ping.pings.rtts_ms.tolist(), strict=True)
        yield (
            PING,
            [
                {"t": t0 + sent_ns / 1e9, "val": rtt, "seq": sequence}
                for sequence, (sent_ns, rtt) in enumerate(pairs)
                if not np.isnan(rtt)
            ],
        )


def _metadata(
    result: ResultDir, run: PlannedRun, directory: RunDir, uploads: Sequence[FlowData], created: datetime
) -> dict[str, Json]:
    length = directory.description.duration_ns / 1e9
    point = [f"{axis_title(path)} {axis_text(value)}" for path, value in run.point.items()]
    return {
        "NAME": "tcp_nup",
        "TITLE": ", ".join([str(result.plan.get("name", "")), *point, f"seed {run.seed}"]),
        "NOTE": f"netwarp run {run.id}",
        "TIME": _date(created),
        "T0": _date(created),
        "HOST": uploads[0].flow.destination,
        "HOSTS": [uploads[0].flow.destination],
        "LOCAL_HOST": uploads[0].flow.source,
        "LENGTH": length,
        "TOTAL_LENGTH": length,
        "STEP_SIZE": STEP_S,
        "IP_VERSION": 6 if ":" in uploads[0].flow.source else 4,
        "TEST_PARAMETERS": {"upload_streams": str(len(uploads))},
        "DATA_FILENAME": f"{stem(result, run)}.flent.gz",
        "FLENT_VERSION": None,
        "BATCH_NAME": None,
        "BATCH_TIME": None,
        "BATCH_TITLE": None,
        "BATCH_UUID": None,
        "SERIES_META": {_upload(number): {} for number in range(len(uploads))},
    }


def _upload(number: int) -> str:
    return f"TCP upload::{number + 1}"


def _date(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _numbers(values: Points) -> list[float | None]:
    """Return values for JSON: NaN becomes null."""
    return [None if np.isnan(value) else float(value) for value in values]
