"""Estimates of an environment from a capture or a recording of `netwarp watch`: rate, RTT, loss, traffic, intervals.

The rate is that of the plateau: the highest throughput that was reached for a good part of the time. Without a plateau
nothing filled the line: its rate is only known to be higher, and the user has to state it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netwarp.advise.environment import Estimate
from netwarp.advise.errors import AdviceError
from netwarp.advise.traffic import Traffic
from netwarp.analysis.flow.captures import CaptureError, flows_of, series_of
from netwarp.common import quantities
from netwarp.stats.intervals import share_interval
from netwarp.store.monitor import read_monitor

_BIN_S = 0.2
_NEAR_THE_TOP = 0.9
_PLATEAU_SHARE = 0.25
"""The line was full if its throughput was within 10 % of the best 5 % for a quarter of the time."""
_MIN_BINS = 10
_BULK_BYTES, _BULK_S = 1_000_000, 2.0
_CALL_PACKETS_PER_S, _CALL_BYTES = (25, 110), 400
_FULL_FRAME, _FULL_PAYLOAD = 1514, 1448


@dataclass(frozen=True)
class Estimated:
    """Estimates with their intervals; `missing` says why a value could not be estimated.

    `shown` has the same in words, by the option that would override it.
    """

    rate_bps: int | None = None
    rate_interval: tuple[float, float] | None = None
    rtt_ns: int | None = None
    rtt_interval: tuple[float, float] | None = None
    loss: float | None = None
    traffic: Traffic | None = None
    control: str | None = None
    shown: Mapping[str, Estimate] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)

    def of_those_used(self, options: Any) -> Sequence[Estimate]:
        """The estimates that no option overrides."""
        return [one for name, one in self.shown.items() if getattr(options, name, None) is None]


@dataclass(frozen=True)
class _Measured:
    """Measurements from either kind of file: bits in each interval of the busier direction, RTTs of single connections
    in ms, segments resent and sent, the traffic, and the source of all that."""

    bits_per_s: NDArray[np.float64]
    rtts_ms: Sequence[float]
    resent: int
    sent: int
    traffic: Traffic
    basis: str
    control: str | None = None


def estimate(path: Path) -> Estimated:
    """Read a capture or a recording. Raises AdviceError, StoreError."""
    measured = _of_recording(path) if path.suffix.lower() in (".arrow", ".arrows") else _of_capture(path)
    shown: dict[str, Estimate] = {}
    missing: dict[str, str] = {}
    rate, rate_interval = _rate(measured, shown, missing)
    rtt, rtt_interval = _rtt(measured, shown, missing)
    loss = _loss(measured, rate is not None, shown)
    traffic: Traffic | None = measured.traffic
    if str(measured.traffic):
        shown["traffic"] = Estimate("traffic", str(measured.traffic), "", measured.basis)
    else:
        traffic, missing["traffic"] = None, f": {path} has no flow that is recognisable as bulk, a call or web"
    return Estimated(
        rate, rate_interval, rtt, rtt_interval, loss, traffic, measured.control, shown, missing
    )  # fmt: skip


def _rate(
    measured: _Measured, shown: dict[str, Estimate], missing: dict[str, str]
) -> tuple[int | None, tuple[float, float] | None]:
    bits = measured.bits_per_s
    if len(bits) < _MIN_BINS:
        missing["rate"] = f": {measured.basis} lasts for less than {_MIN_BINS * _BIN_S:g} s"
        return None, None
    top = float(np.percentile(bits, 95))
    plateau = bits[bits >= _NEAR_THE_TOP * top]
    if len(plateau) < _PLATEAU_SHARE * len(bits) or top <= 0:
        known = f"it is only known to carry {quantities.rate(top, 3)} or more"
        missing["rate"] = f": nothing filled the line in {measured.basis}, so that {known}"
        return None, None
    low, rate, high = (float(value) for value in np.percentile(plateau, [5, 50, 95]))
    interval = f"[{quantities.rate(low, 3)}, {quantities.rate(high, 3)}]"
    shown["rate"] = Estimate("rate", quantities.rate(rate, 3), interval, f"{measured.basis}, where the line was full")
    return round(rate), (low, high)


def _rtt(
    measured: _Measured, shown: dict[str, Estimate], missing: dict[str, str]
) -> tuple[int | None, tuple[float, float] | None]:
    if not measured.rtts_ms:
        missing["RTT"] = f": {measured.basis} has neither a handshake nor an RTT"
        return None, None
    low, high = min(measured.rtts_ms), float(np.median(measured.rtts_ms))
    shown["rtt"] = Estimate(
        "RTT", f"{low:.3g} ms", f"[{low:.3g}, {high:.3g}] ms", f"minimum and median of {measured.basis}"
    )
    return max(round(low * 1e6), 1), (low * 1e6, high * 1e6)


def _loss(measured: _Measured, full: bool, shown: dict[str, Estimate]) -> float | None:
    """The share of segments sent again; 0 if the line was full, because its queue may have dropped all of them."""
    if not measured.sent:
        return None
    low, high = share_interval(min(measured.resent, measured.sent), measured.sent)
    share = measured.resent / measured.sent
    if full:
        words = f"{measured.basis}; the line was full, so all of them may be drops of its queue"
        shown["loss"] = Estimate("loss", "0 %", f"[0, {100 * high:.2g}] %", words)
        return 0.0
    shown["loss"] = Estimate("loss", f"{100 * share:.2g} %", f"[{100 * low:.2g}, {100 * high:.2g}] %", measured.basis)
    return round(share, 6)


def _of_capture(path: Path) -> _Measured:
    try:
        flows, series = flows_of(path), series_of(path, f"{int(1000 * _BIN_S)}ms")
    except CaptureError as error:
        raise AdviceError(str(error)) from None
    if flows.is_empty():
        raise AdviceError(f"{path} has no flow, so nothing can be estimated from it")
    local = _local(flows)
    toward = series.filter(pl.col("dst") == local), series.filter(pl.col("src") == local)
    busier = max(toward, key=lambda frame: int(frame["bytes"].sum() or 0))
    bits = _whole_bins(busier, pl.col("bytes").sum() * 8 / _BIN_S)
    tcp = flows.filter(pl.col("protocol") == "tcp", pl.col("data_packets") > 0)
    resent = tcp.select(pl.max_horizontal("resent_packets", "retransmissions").sum()).item()
    rtts = tcp["handshake_rtt_ms"].drop_nulls().to_list()
    end_s = float(series["time_s"].max() or 0.0) + _BIN_S  # type: ignore[arg-type]
    traffic = _traffic(flows, busier is toward[0], local, end_s, float(np.percentile(bits, 95)) if len(bits) else 0.0)
    return _Measured(bits, rtts, int(resent or 0), int(tcp["data_packets"].sum() or 0), traffic, path.name)


def _local(flows: pl.DataFrame) -> str:
    """The address with the most bytes from and to it: the host that the line belongs to, or one like it."""
    ends = pl.concat([flows.select(pl.col(end).alias("address"), "bytes") for end in ("dst", "src")])
    # For a single conversation it is the end that received more.
    took = flows.group_by(pl.col("dst").alias("address")).agg(took=pl.col("bytes").sum())
    total = ends.group_by("address").agg(pl.col("bytes").sum()).join(took, on="address", how="left")
    return str(
        total.sort("bytes", pl.col("took").fill_null(0), "address", descending=True, maintain_order=True)["address"][0]
    )


def _whole_bins(frame: pl.DataFrame, value: pl.Expr) -> NDArray[np.float64]:
    """The value in each interval between the first and the last, which are incomplete and left out."""
    bins = (
        frame.group_by(bin=(pl.col("time_s") / _BIN_S).round().cast(pl.Int64))
        .agg(value=value)
        .sort("bin", maintain_order=True)
    )
    if bins.height < 3:
        return np.empty(0)
    found = np.zeros(int(bins["bin"][-1]) - int(bins["bin"][0]) + 1)
    found[bins["bin"].to_numpy() - int(bins["bin"][0])] = bins["value"].to_numpy()
    return found[1:-1]


def _traffic(flows: pl.DataFrame, toward_local: bool, local: str, lasts_s: float, rate_bps: float) -> Traffic:
    """Classify each flow by its bytes and packets: bulk, upload, half a call, the web, or other UDP."""
    count = {"bulk": 0, "upload": 0}
    halves = web_bytes = udp_bytes = 0
    for row in flows.iter_rows(named=True):
        ahead = (row["dst"] == local) is toward_local
        long = row["duration_s"] >= _BULK_S
        if row["protocol"] == "tcp":
            if row["payload_bytes"] >= _BULK_BYTES and long:
                count["bulk" if ahead else "upload"] += 1
            elif ahead:
                web_bytes += row["bytes"]
        elif long and _is_call(row):
            halves += 1
        elif ahead:
            udp_bytes += row["bytes"]
    share = web_bytes * 8 / lasts_s / rate_bps if rate_bps and lasts_s else 0.0
    udp_bps = int(udp_bytes * 8 / lasts_s) if lasts_s else 0
    return Traffic(
        bulk=count["bulk"],
        upload=count["upload"],
        call=-(-halves // 2),
        web=round(min(share, 1.0), 2) if share >= 0.01 else 0.0,
        udp_bps=udp_bps if udp_bps >= 0.01 * rate_bps else 0,
    )


def _is_call(row: Mapping[str, Any]) -> bool:
    per_s = row["packets"] / row["duration_s"]
    return bool(
        _CALL_PACKETS_PER_S[0] <= per_s <= _CALL_PACKETS_PER_S[1] and row["bytes"] / row["packets"] <= _CALL_BYTES
    )


def _of_recording(path: Path) -> _Measured:
    """Measure a recording, which has only TCP, and only the data that this host sent."""
    frame = read_monitor(path)
    needed = {"cookie", "time_s", "bytes_acked", "min_rtt_us", "total_retrans", "data_segs_out"}
    if lacking := sorted(needed - set(frame.columns)):
        raise AdviceError(f"{path} lacks the columns {', '.join(lacking)}; record it without --fields")
    moved = pl.col("bytes_acked").cast(pl.Float64).diff().over("cookie").clip(0)
    growing = frame.with_columns(moved=moved.fill_null(0.0))
    step_s = float(np.median(np.diff(growing["time_s"].unique().sort().to_numpy()))) if frame.height > 1 else _BIN_S
    wide = max(_BIN_S, step_s)
    scale = 8 * _FULL_FRAME / _FULL_PAYLOAD / wide
    bins = growing.with_columns(time_s=(pl.col("time_s") / wide).floor() * _BIN_S)
    bits = _whole_bins(bins, pl.col("moved").sum() * scale)
    each = growing.group_by("cookie", maintain_order=True).agg(
        pl.col("moved").sum(),
        pl.col("min_rtt_us", "total_retrans", "data_segs_out").cast(pl.Float64).max(),
        rtt=pl.col("min_rtt_us").cast(pl.Float64).min(),
        lasts_s=pl.col("time_s").max() - pl.col("time_s").min(),
        control=pl.col("congestion_control").last() if "congestion_control" in frame.columns else pl.lit(None),
    )
    each = each.filter(pl.col("moved") > 0)
    if each.is_empty():
        raise AdviceError(f"{path}: no data was acknowledged on any connection, so nothing can be estimated from it")
    bulk = each.filter(pl.col("moved") >= _BULK_BYTES, pl.col("lasts_s") >= _BULK_S)
    top = float(np.percentile(bits, 95)) if len(bits) else 0.0
    lasts_s = float(np.ptp(frame["time_s"].to_numpy()))
    small = float(each.join(bulk, on="cookie", how="anti")["moved"].sum() or 0.0) * 8
    share = small / lasts_s / top if lasts_s and top else 0.0
    traffic = Traffic(bulk=bulk.height, web=round(min(share, 1.0), 2) if share >= 0.01 else 0.0)
    rtts = [value / 1e3 for value in each["rtt"].drop_nulls().to_list() if value > 0]
    retrans, sent = (int(each[name].sum() or 0) for name in ("total_retrans", "data_segs_out"))
    controls = bulk["control"].drop_nulls().to_list()
    # Of as many, the first of the recording.
    control = max(controls, key=controls.count) if controls else None
    return _Measured(bits, rtts, retrans, sent, traffic, path.name, control)
