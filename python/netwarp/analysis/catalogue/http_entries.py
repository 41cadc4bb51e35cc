"""Metrics of flows that load pages over HTTP (`http`)."""

from netwarp.analysis.catalogue.entry import HIGHER, LOWER, Axis, Entry, entry

_SPREAD = "mean, percentiles and maximum of "
_PAGES = "pages"
_SOURCE = "`pages`"
_LOADS = (
    "pages; at the client, from the beginning of a load, before there is a connection, to the last byte of its last "
    "object; those that ended in the window or were under way at its end"
)
_FIRST = "pages; at the client; those whose first byte came in the window or had not come at its end"
_TRIPS = (
    "the same, divided by the delays of the path there and back; absent if a delay or a rate on the path changes, or "
    "is not known. On an empty path a small page takes 2 round trips over TCP, 3 with TLS 1.3, 2 over QUIC and 1 with "
    "0-RTT; what exceeds these is serialisation, queueing, slow start and waiting for retransmissions"
)

HTTP_ENTRIES: tuple[Entry, ...] = (
    entry(
        "pages",
        "pages that were loaded completely",
        "sum",
        _SOURCE,
        better=HIGHER,
        min_effect=(0.02, 1),
        basis=_LOADS,
        axis=Axis("pages"),
        digits=0,
    ),
    entry(
        "pages_incomplete",
        "pages that were under way at the end of the window, or that had failed",
        "sum",
        _SOURCE,
        better=LOWER,
        min_effect=(0.2, 1),
        basis=_LOADS,
        axis=Axis("pages not completed", "pages"),
        digits=0,
        main={"pages_incomplete": "pages not\nloaded"},
    ),
    entry(
        "page_load_ms: mean p50 p95 p99 max",
        _SPREAD + "the time that a page takes: its document, and all objects that it names. Those not complete are "
        "censored, as of `completion_ms`",
        _PAGES,
        _SOURCE,
        better=LOWER,
        min_effect=(0.05, 1),
        basis=_LOADS,
        axis=Axis("page load", "ms"),
        main={"page_load_ms_p50": "page load\np50 ms", "page_load_ms_p95": "page load\np95 ms"},
        spread="pages, those not complete included",
        overview="page_load_ms_p50",
    ),
    entry(
        "page_load_rtts: mean p50",
        _TRIPS,
        _PAGES,
        "`pages`, `run.json`",
        better=LOWER,
        min_effect=(0.05, 0.05),
        basis=_LOADS,
        axis=Axis("page load", "round trips"),
        digits=2,
    ),
    entry(
        "ttfb_ms: mean p50 p95",
        "time to first byte: from the beginning of a page's load to the head of the response with its document",
        _PAGES,
        _SOURCE,
        better=LOWER,
        min_effect=(0.05, 0.1),
        basis=_FIRST,
        axis=Axis("time to first byte", "ms"),
        main={"ttfb_ms_p50": "first byte\np50 ms"},
    ),
    entry(
        "object_ms: mean p50 p95 p99",
        "mean and percentiles of the time that an object takes, documents included, from when the client knows it "
        "to its last byte in order: waiting for a connection, and for the objects before it, is in it",
        "objects",
        "`objects`",
        better=LOWER,
        min_effect=(0.05, 1),
        basis="objects; at the client; those that ended in the window or were under way at its end",
        axis=Axis("object", "ms"),
    ),
    entry(
        "objects_together_pct",
        "100 × objects whose last byte could be read at the very instant at which another object of their page was "
        "complete, the first of these left out / objects that were completed. On one TCP connection these are objects "
        "that a lost segment of another held up: what had arrived behind the gap can be read at once when it closes "
        "(head-of-line blocking); absent if no two objects of a page are under way at a time",
        "objects",
        "`objects`",
        better=LOWER,
        min_effect=(0.1, 1),
        basis="objects that ended in the window; at the client",
        axis=Axis("objects completed together", "%"),
        main={"objects_together_pct": "objects\ntogether %"},
    ),
    entry(
        "ttfb_rtts: mean p50",
        _TRIPS,
        _PAGES,
        "`pages`, `run.json`",
        better=LOWER,
        min_effect=(0.05, 0.05),
        basis=_FIRST,
        axis=Axis("time to first byte", "round trips"),
        digits=2,
    ),
)
