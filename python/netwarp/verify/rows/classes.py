"""Classes and shapers: shares, priorities and rates that tc's disciplines promise."""

from __future__ import annotations

from netwarp.store.rundir import RunDir
from netwarp.verify.measures import metric, packets_of
from netwarp.verify.row import Experiment, Family, Range, Row, share, within
from netwarp.verify.rows.networks import BOTTLENECK, FRAME_BYTES, SEGMENT_BYTES, dumbbell, flow, frame_ms, sharing

_FIRST = "filter add dev {dev} parent 1: protocol ip u32 match ip src 10.0.0.1/32 flowid 1:1"
_OTHERS = "filter add dev {dev} parent 1: protocol ip u32 match ip src 10.0.1.1/32 flowid 1:2"
_LINK = "qdisc add dev {dev} root handle 9: tbf rate 10mbit burst 1600 limit 3000"
"""The link's rate, which `raw` replaces: one packet at once, and hardly any queue."""
_INSIDE = "parent 9:1"
_SHARE = 3
_OVERLOAD = "\n".join(flow(f"f{number}", "cbr", source=f"s{number}", rate="20mbit") for number in (1, 2))


def _weights(name: str, *lines: str) -> Experiment:
    """Two flows of 20 Mbit/s each, which do not respond, through classes 1:1 and 1:2 of 10 Mbit/s."""
    raw = [_LINK, *(line.replace("root", _INSIDE) for line in lines), _FIRST, _OTHERS]
    return sharing(name, flows=_OVERLOAD, duration="30s", warmup="5s", raw=raw)


def _ratio(run: RunDir) -> dict[str, float]:
    """The goodput of the first flow for each bit of the second."""
    rows = run.metrics().filter(scope="flow", metric="goodput_mbps")
    goodputs = dict(zip(rows["name"].to_list(), rows["value"].to_list(), strict=True))
    return {"first / second": goodputs["f1"] / goodputs["f2"]} if goodputs.get("f2") else {}


def _weight(name: str, claim: str, source: str, why: str, *lines: str) -> Row:
    return Row(
        f"{name}-weights",
        claim,
        source,
        "goodput of the first / of the second",
        {"first / second": float(_SHARE)},
        share(0.02, why),
        _weights(f"{name}-weights", *lines),
        _ratio,
    )


def _longest_ms(run: RunDir) -> dict[str, float]:
    packets = packets_of(run, "f1", BOTTLENECK).drop_nulls("dequeue_ns")
    longest = (packets["dequeue_ns"] - packets["enqueue_ns"]).max()
    return {} if longest is None else {"longest wait": float(str(longest)) / 1e6}


def _of_packets(rate_mbps: float) -> float:
    """The goodput of UDP with frames of 1514 bytes at this rate."""
    return rate_mbps * 1472 / FRAME_BYTES


_TBF = dumbbell(
    "tbf",
    flows=flow("udp", "cbr", rate="20mbit"),
    duration="30s",
    warmup="5s",
    rate="100mbit",
    queue="tbf rate 5mbit burst 10kb latency 50ms",
)

FAMILY = Family(
    "Classes and shapers",
    (
        _weight(
            "htb",
            "HTB shares a link by the rates of its classes: 3 to 1.",
            "tc-htb(8); M. Devera: HTB Linux queuing discipline theory (2002)",
            "classes borrow quantum by quantum, 200 kB in all of 30 MB",
            "qdisc add dev {dev} root handle 1: htb",
            "class add dev {dev} parent 1: classid 1:10 htb rate 10mbit ceil 10mbit",
            "class add dev {dev} parent 1:10 classid 1:1 htb rate 7500kbit ceil 10mbit",
            "class add dev {dev} parent 1:10 classid 1:2 htb rate 2500kbit ceil 10mbit",
        ),
        _weight(
            "hfsc",
            "HFSC shares a link by its classes' service curves: 3 to 1.",
            "I. Stoica, H. Zhang, T. S. E. Ng: A Hierarchical Fair Service Curve Algorithm (1997); tc-hfsc(7)",
            "shares are exact to a packet of each class",
            "qdisc add dev {dev} root handle 1: hfsc",
            "class add dev {dev} parent 1: classid 1:1 hfsc ls m2 7500kbit",
            "class add dev {dev} parent 1: classid 1:2 hfsc ls m2 2500kbit",
        ),
        _weight(
            "drr",
            "DRR shares a link by its classes' quanta: 3 to 1.",
            "M. Shreedhar, G. Varghese: Efficient Fair Queueing Using Deficit Round Robin (1996); tc-drr(8)",
            "shares are exact to a quantum of each class",
            "qdisc add dev {dev} root handle 1: drr",
            "class add dev {dev} parent 1: classid 1:1 drr quantum 4542",
            "class add dev {dev} parent 1: classid 1:2 drr quantum 1514",
        ),
        _weight(
            "ets",
            "ETS shares a link by its bands' quanta: 3 to 1.",
            "tc-ets(8): quanta; IEEE 802.1Qaz",
            "shares are exact to a quantum of each band",
            "qdisc add dev {dev} root handle 1: ets bands 2 quanta 4542 1514",
        ),
        _weight(
            "qfq",
            "QFQ shares a link by its classes' weights: 3 to 1.",
            "F. Checconi, L. Rizzo, P. Valente: QFQ: Efficient Packet Scheduling with Tight Guarantees (2013)",
            "shares are exact to a few packets of each class",
            "qdisc add dev {dev} root handle 1: qfq",
            "class add dev {dev} parent 1: classid 1:1 qfq weight 3 maxpkt 2048",
            "class add dev {dev} parent 1: classid 1:2 qfq weight 1 maxpkt 2048",
        ),
        Row(
            "prio-first",
            "A packet of the first band waits for no more than what has already left the bands.",
            "tc-prio(8)",
            "ms",
            {"longest wait": frame_ms(10)},
            within(frame_ms(10), "the packet in service, and the one that the shaper below holds"),
            sharing(
                "prio-first",
                flows="\n".join(
                    [
                        flow("f1", "cbr", source="s1", rate="200kbit"),
                        flow("f2", "cbr", source="s2", rate="20mbit"),
                    ]
                ),
                duration="20s",
                raw=[_LINK, f"qdisc add dev {{dev}} {_INSIDE} handle 1: prio bands 3", _FIRST, _OTHERS],
            ),
            _longest_ms,
        ),
        Row(
            "tbf-rate",
            "A token bucket passes its rate, in frames with their Ethernet header.",
            "tc-tbf(8); tools/testing/selftests/net/forwarding/sch_tbf_core.sh: within 5 %",
            "Mbit/s",
            {"goodput_mbps": _of_packets(5)},
            share(0.002, "10 kB of tokens, of 15 MB; rates are rounded to multiples of the clock's ticks"),
            _TBF,
            metric("flow", "udp", "goodput_mbps"),
        ),
        Row(
            "tbf-latency",
            "Its latency is the longest that a packet waits.",
            "tc-tbf(8), latency: limit = rate × latency + burst",
            "ms",
            {"sojourn_ms_max": 50.0},
            Range(2 * frame_ms(5), frame_ms(5), "the limit is whole packets; tokens come for whole packets"),
            _TBF,
            metric("queue", BOTTLENECK, "sojourn_ms_max"),
            explained=Range(
                2 * frame_ms(5),
                16.0 + frame_ms(5),
                "tc makes the limit rate × latency + burst: once the tokens are used up, the 10 kB take 16 ms more",
            ),
        ),
        Row(
            "police-rate",
            "A policer passes its rate, and drops the rest at once.",
            "tc-police(8); tools/testing/selftests/net/forwarding/tc_police.sh: within 10 %",
            "Mbit/s",
            {"goodput_mbps": _of_packets(5)},
            share(0.01, "a bucket of 20 kB, of 15 MB; rates are rounded to multiples of the clock's ticks"),
            dumbbell(
                "police-rate",
                flows=flow("udp", "cbr", rate="20mbit"),
                duration="30s",
                warmup="5s",
                rate="100mbit",
                queue="",
                settings=(
                    "links.bottleneck.raw={ r1 = ["
                    '"qdisc add dev {dev} root handle 1: prio", '
                    '"filter add dev {dev} parent 1: protocol ip matchall '
                    'action police rate 5mbit burst 20k conform-exceed drop"] }',
                ),
            ),
            metric("flow", "udp", "goodput_mbps"),
        ),
        Row(
            "fq-maxrate",
            "fq lets a flow send at no more than maxrate, whatever the link's rate.",
            "tc-fq(8), maxrate",
            "Mbit/s",
            {"goodput_mbps": 5 * SEGMENT_BYTES / FRAME_BYTES},
            share(0.01, "a quantum of two packets is sent at once, and its time begins again after each idle one"),
            dumbbell(
                "fq-maxrate",
                flows=flow("bulk", "bulk", cc="reno"),
                duration="30s",
                warmup="10s",
                rate="100mbit",
                queue="fq maxrate 5mbit",
            ),
            metric("flow", "bulk", "goodput_mbps"),
        ),
    ),
)
