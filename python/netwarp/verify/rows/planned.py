"""Losses by plan: what a sender does with exactly these losses, at a wire that is a device."""

from __future__ import annotations

from netwarp.store.rundir import RunDir
from netwarp.verify.measures import metric, numbered
from netwarp.verify.row import Experiment, Family, Row, Size, share, within
from netwarp.verify.rows.networks import dumbbell, flow

_SACKED_BEFORE_REPAIR = 19
"""Of a flight of 20 with one loss."""
_WHOLE = (
    "a window is a whole number of packets and is cut to the lower one, and in each period there is a round trip of "
    "repair without growth, of which the formula knows nothing"
)
_PARAMETERS = "/sys/module/tcp_cubic/parameters"
_PLAIN = flow("plain", "command", client=["sh", "-c", f"echo 0 > {_PARAMETERS}/fast_convergence"])
"""The formula has no fast convergence (RFC 9438, section 4.7), which asks whether a peak is below the one before."""


_NAMES = {"reno": "Reno", "cubic": "CUBIC"}
_SOURCES = {
    "reno": "1.22 / √p; M. Mathis et al.: The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm (1997)",
    "cubic": "RFC 9438, section 5.2, table 1 (C = 0.4)",
}


def _path(name: str, loss: str, flows: str, duration: str, warmup: str = "0s") -> Experiment:
    """A round trip of 100 ms without congestion, and these losses of packets that leave r1 for h2."""
    return dumbbell(
        name,
        flows=flows,
        duration=duration,
        warmup=warmup,
        rate="1gbit",
        delay="50ms",
        queue="pfifo limit 20000",
        loss="",
        wire=f'wire = "device"\nloss = {{ forward = "{loss}" }}',
    )


def _pipe(run: RunDir) -> dict[str, float]:
    """Packets in flight at each ACK from the first one that reports a gap on, by the number of the ACK."""
    acks = run.scan("acks").sort("time_ns").collect()
    first = acks["ca_state"].to_list().index(1)
    found = acks["in_flight_pkts"][first : first + _SACKED_BEFORE_REPAIR].to_list()
    return numbered([float(one) for one in found])


def _response(control: str, every: int, expected: float, size: Size, times: tuple[str, str]) -> Row:
    flows = flow("bulk", "bulk", cc=control)
    return Row(
        f"{control}-response-{every}",
        f"At a round trip of 100 ms and a loss of each {every:,}th packet, {_NAMES[control]}'s mean window is this.",
        _SOURCES[control],
        "packets",
        {"cwnd_pkts_mean": expected},
        share(0.05, _WHOLE),
        _path(
            f"{control}-response-{every}",
            f"every {every}",
            f"{flows}\n{_PLAIN}" if control == "cubic" else flows,
            *times,
        ),
        metric("flow", "bulk", "cwnd_pkts_mean"),
        size=size,
    )


FAMILY = Family(
    "Losses by plan",
    (
        Row(
            "prr-one-loss",
            "With a window of 20, ssthresh 10 and one loss, PRR sends a segment for about every second ACK.",
            "RFC 6937, section 3.1",
            "packets in flight at the ACK",
            numbered([19.0, 19, 18, 18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 10]),
            within(0, "the RFC's own table"),
            _path("prr", "packets 13", flow("bulk", "bulk", cc="reno"), "1s"),
            _pipe,
            phases="the loss is of the first packet of a flight",
        ),
        _response("reno", 100, 12.2, Size.QUICK, ("60s", "10s")),
        _response("reno", 1000, 38.7, Size.QUICK, ("100s", "20s")),
        _response("reno", 8192, 110.9, Size.USUAL, ("250s", "100s")),
        _response("cubic", 100, 12, Size.QUICK, ("60s", "10s")),
        _response("cubic", 1000, 38, Size.QUICK, ("100s", "20s")),
        _response("cubic", 10_000, 187, Size.USUAL, ("200s", "80s")),
        _response("cubic", 100_000, 1054, Size.COMPLETE, ("300s", "150s")),
    ),
)
