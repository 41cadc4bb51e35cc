"""`http`: loads of pages over HTTP/1.1, HTTP/2 or HTTP/3."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from netwarp.flows.arrivals import ArrivalsField, expected_arrivals
from netwarp.flows.kind import TOOL, FlowPath
from netwarp.flows.resumption import ahead_ns, unused_ahead
from netwarp.flows.transfer_size import TransferSize, TransferSizeField
from netwarp.flows.web import WebFields, WebFlow, WebKind
from netwarp.lab_format.own_fields import OwnFields
from netwarp.lab_format.quantities import Share, Text, Time, UInt32, UInt64, Yes, meaning
from netwarp.values.fields import (
    Distribution,
    DurationDistribution,
    PositiveDuration,
    PositiveSize,
    Shape,
    about,
)

_OPEN = 200
"""Connections for which the machine has memory if pages begin whether or not earlier ones are complete."""
_BROWSERS = 6
"""The most connections that browsers open to a host with HTTP/1.1."""
_Count = Annotated[int, Field(strict=True, ge=0, le=1000)]
_Some = Annotated[int, Field(strict=True, ge=1, le=1000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpFields(WebFields):
    """The fields of a client of HTTP and its server in the lab; the agent draws times and sizes from the seed."""

    most_connections: Annotated[_Some, meaning("of HTTP/1.1 for each page, at most")]
    document_bytes: UInt64
    objects: Annotated[_Count, meaning("of a page, beside its document")]
    depth: Annotated[_Some, meaning("levels of objects, each known when its parents are complete")]
    urgent: Annotated[_Count, meaning("objects of each page that are requested with the urgency 1")]
    size_distribution: Annotated[Text, meaning("of objects: constant, exponential, pareto, lognormal or empirical")]
    size_bytes: Annotated[UInt64, meaning("the mean")]
    size_shape: Annotated[float, meaning("Pareto's exponent; the deviation of a log-normal size's logarithm")]
    cdf_bytes: Annotated[tuple[UInt64, ...], meaning("points of the empirical distribution, linear between them")]
    cdf_shares: Annotated[tuple[Share, ...], meaning("the share of objects that are not larger than each")]
    pages: Annotated[UInt32 | None, meaning("null: until the flow's end")]
    closed: Annotated[Yes, meaning("each page begins after the one before, and a pause; otherwise as arrivals say")]
    think_ns: Annotated[Time, meaning("mean of the pauses")]
    think_distribution: Shape
    poisson: Annotated[Yes, meaning("a Poisson process; otherwise regular or listed")]
    interval_ns: Annotated[Time | None, meaning("mean time between arrivals; null: they are listed")]
    times_ns: Annotated[tuple[Time, ...], meaning("listed arrivals, from the flow's start")]
    resume_ahead_ns: Annotated[
        Time | None,
        meaning("how long before its start first connections fetch session tickets; null: it does not resume"),
    ]


class HttpFlow(WebFlow):
    """Loads of pages, each a document and the objects that it names: the agent's own client on `from` and server on
    `to`, of the libraries hyper and h3 ([http.md](http.md)). Each page has connections of its own, as a first visit
    has. `duration` is the time in which pages begin; they may go on until the run ends."""

    tool: Literal["http"] = about(TOOL, "http")
    connections: int | None = about(
        "The most connections of a page with HTTP/1.1; default: 6, as browsers have. Other versions have one.",
        4,
        refused=[0, 101],
        beside={"version": "1.1"},
        default=None,
        ge=1,
        le=100,
        strict=True,
    )
    document: PositiveSize = about("Bytes of a page's document.", "100kB", refused=[0], default=30_000)
    objects: int = about(
        "The number of objects that a page has beside its document.", 30, refused=[-1, 1001], default=0, ge=0, le=1000
    )
    object_size: TransferSizeField = about(
        "Bytes of an object: a fixed size, or a distribution as for `size` of `open_loop`.",
        "30kB lognormal 1.5",
        "web-search",
        refused=["30kB pareto 1", "web"],
        beside={"objects": 20},
        default=TransferSize(mean=30_000),
    )
    depth: int = about(
        "Levels of objects: those of the first are named by the document, and are requested when it is complete; each "
        "of a further level is named by one of the level before.",
        3,
        refused=[0, 11],
        beside={"objects": 20},
        default=1,
        ge=1,
        le=10,
        strict=True,
    )
    urgent: int = about(
        "How many objects of a page, from the first on, are requested as urgent (`priority: u=1`, RFC 9218; otherwise "
        "u=3), which the server of HTTP/3 sends first. Those of other versions would take no notice.",
        5,
        refused=[-1, 1001],
        beside={"version": "3", "objects": 20},
        default=0,
        ge=0,
        le=1000,
        strict=True,
    )
    pages: int | None = about(
        "The most pages that are loaded; default: until the flow's end.", 1, refused=[0], default=None, ge=1, le=10**6
    )
    think: DurationDistribution = about(
        "The pause between the end of a page and the next one, if there are no `arrivals`.",
        "500ms exponential",
        refused=["-1ms"],
        default=Distribution(mean=0),
    )
    arrivals: ArrivalsField | None = about(
        "When pages begin, whether or not earlier ones are complete: as for `open_loop`. Default: one after the other.",
        "poisson 2/s",
        "every 500ms",
        refused=["poisson", "2/s"],
        default=None,
    )
    zero_rtt: bool = about(
        "Whether connections of HTTP/3 resume earlier ones, and so send requests in their first flight (0-RTT): two "
        "first connections, `resume_ahead` before the flow's start, fetch session tickets and are closed.",
        True,
        refused=["yes"],
        beside={"version": "3", "start": "1s"},
        default=False,
        strict=True,
    )
    resume_ahead: PositiveDuration | None = about(
        "How long before `start` the first connections of a flow with `zero_rtt` begin; default: 1 s.",
        "500ms",
        refused=["0s"],
        beside={"version": "3", "start": "1s", "zero_rtt": True},
        default=None,
    )

    def problems(self) -> Iterator[tuple[str, str]]:
        """Check what versions have, and that a rate is given."""
        yield from super().problems()
        yield from self._without_effect()
        if self.arrivals is not None and self.arrivals.process == "poisson" and self.arrivals.interval_ns is None:
            yield "arrivals", 'has no rate; write one, such as "poisson 2/s"'
        if self.arrivals is not None and self.think.mean:
            yield "think", "pages begin when `arrivals` says; leave one of the two out"
        yield from unused_ahead(self)
        if not self.has_own_control and self.zero_rtt:
            yield "zero_rtt", 'only HTTP/3 resumes connections here; write version = "3", or leave `zero_rtt` out'
        elif ahead := ahead_ns(self):
            yield from self.too_early("zero_rtt", ahead, "fetches its session tickets", "resume_ahead")

    def _without_effect(self) -> Iterator[tuple[str, str]]:
        """Fields that this version, or so few objects, would ignore."""
        has = f"{self.objects} object{'s' * (self.objects != 1)}"
        if self.connections is not None and self.version != "1.1":
            yield (
                "connections",
                f"a page has one connection of HTTP/{self.version}; leave `connections` out, or write version = "
                '"1.1" (to compare versions, write `cases`)',
            )
        if self.urgent and self.version != "3":
            yield (
                "urgent",
                f"the server of HTTP/{self.version} takes no notice of urgency; leave `urgent` out, or write version "
                '= "3" (to compare versions, write `cases`)',
            )
        elif self.urgent > self.objects:
            yield "urgent", f"a page has {has} beside its document; lower `urgent`, or raise `objects`"
        if "object_size" in self.model_fields_set and not self.objects:
            yield "object_size", "a page has no objects beside its document; leave it out, or raise `objects`"
        if self.depth > max(self.objects, 1):
            yield (
                "depth",
                f"there are not {self.depth} levels of {has}; lower `depth`, or raise `objects`",
            )

    def lab_fields(self, path: FlowPath) -> HttpFields:
        """What is loaded and when, with the size of HTTP/3's datagrams."""
        when = self.arrivals
        return HttpFields(
            **self.web_fields(path),
            most_connections=(self.connections or _BROWSERS) if self.version == "1.1" else 1,
            document_bytes=self.document,
            objects=self.objects,
            depth=self.depth,
            urgent=self.urgent,
            size_distribution=self.object_size.distribution,
            size_bytes=self.object_size.mean,
            size_shape=self.object_size.shape,
            cdf_bytes=self.object_size.cdf_bytes,
            cdf_shares=self.object_size.cdf_shares,
            pages=self.pages,
            closed=when is None,
            think_ns=self.think.mean,
            think_distribution=self.think.distribution,
            poisson=when is not None and when.process == "poisson",
            interval_ns=None if when is None else when.interval_ns,
            times_ns=() if when is None else when.times_ns,
            resume_ahead_ns=ahead_ns(self),
        )

    def offered_bytes(self, path: FlowPath, active_ns: int) -> float | None:
        """The payload of the pages that begin; None if they follow each other without a pause."""
        size = self.document + self.objects * self.object_size.mean
        if self.arrivals is not None:
            begun = expected_arrivals(self.arrivals.interval_ns, self.arrivals.times_ns, active_ns)
        elif self.think.mean:
            begun = active_ns / self.think.mean + 1
        else:
            begun = float("inf")
        pages = min(begun, self.pages or begun)
        return None if pages == float("inf") else size * pages


class _HttpKind(WebKind):
    """A kind whose connections are those of pages."""

    def connections_of(self, lab_fields: OwnFields) -> int:
        """Those of one page, or more if several pages may be under way."""
        own: Any = lab_fields.get("most_connections")
        return int(own or 1) if lab_fields.get("closed") else _OPEN


KIND = _HttpKind(
    "http",
    HttpFlow,
    HttpFields,
    transport="tcp",
    reverse=True,
    built_in=True,
    pages=True,
    connects=True,
    ports=(False, True),
)
