"""Models of the JSON files of a result: wherever it comes from, a field that is read has the expected type.

A document that does not fit is refused with a sentence that names the field; fields that nobody reads may be anything.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from netwarp.lab_format.quantities import (
    MAX_DELAY_NS,
    MAX_RUN_NS,
    Address,
    Int64,
    Label,
    Name,
    Port,
    Rate,
    Text,
    Time,
)
from netwarp.lab_format.wires import PROPERTIES
from netwarp.store.errors import StoreError

RunId = Annotated[str, Field(pattern=r"^[0-9a-zA-Z_-]{1,64}$")]
"""A run's id is the name of a directory: never a path."""


class Document(BaseModel):
    """An object of which only what is declared is checked."""

    model_config = ConfigDict(extra="allow", strict=True)


class PlannedRunDocument(Document):
    """A run of `plan.json`."""

    id: RunId
    seed: Int64
    point: dict[str, Any] = {}
    case: Label | None = None


class BaselineDocument(Document):
    """The case that others are compared with."""

    case: Label
    usual: dict[str, Any] = {}


class AskedDocument(Document):
    """What was asked for beyond the scenario's file."""

    settings: list[Text] = []
    seeds: list[Int64] | None = None
    cases: list[Text] | None = None


class PlanDocument(Document):
    """`plan.json`."""

    name: Text = ""
    engine: Text = ""
    identity: dict[str, Text] = {}
    asked: AskedDocument | None = None
    axes: list[Text] = []
    cases: dict[str, dict[str, Any]] = {}
    baseline: BaselineDocument | None = None
    runs: list[PlannedRunDocument]


class StatusDocument(Document):
    """`status.json`."""

    status: Literal["ok", "suspect", "failed"]
    reason: Text | None = None
    real_s: float | int | None = None
    by_host: bool = False
    notes: list[Text] = []
    before_the_fault: "StatusDocument | None" = None


class ManifestDocument(Document):
    """`manifest.json`."""

    netwarp: Text | None = None
    engine: Text | None = None
    identity: dict[str, Text] = {}
    argv: list[Text] = []
    created: Text | None = None
    libraries: dict[str, Text] = {}
    host: dict[str, Any] = {}
    resumed: list[dict[str, Any]] = []


class OpportunitiesDocument(Document):
    """When a wire lets packets through instead of having a rate."""

    bytes: Annotated[int, Field(ge=1, lt=2**31)]
    overhead_bytes: Annotated[int, Field(gt=-(2**31), lt=2**31)]
    period_ms: Annotated[int, Field(ge=1, le=MAX_DELAY_NS // 10**6)]
    mean_rate_bps: Rate
    trace: Annotated[str, Field(pattern=r"^[0-9]{1,12}(x[0-9]{1,9})?( [0-9]{1,12}(x[0-9]{1,9})?)*$")]


class WireDocument(Document):
    """What a wire does to packets, as far as it is read."""

    rate_bps: Rate | None = None

    # As the record of each property says.
    __annotations__ |= {field.name: field.read for found in PROPERTIES for field in found.fields}
    vars().update({field.name: None for found in PROPERTIES for field in found.fields})


class QueueDocument(Document):
    """A queueing discipline."""

    kind: Text
    options: list[Text]


class EndDocument(Document):
    """One end of a link."""

    node: Name
    interface: Text = ""
    name: Name | None = None
    index: Int64
    found: bool = False
    queue: QueueDocument | None = None
    wire: WireDocument | None = None
    opportunities: OpportunitiesDocument | None = None


class LinkDocument(Document):
    """A link of the lab."""

    name: Name
    mtu: Int64 = 1500
    offload: bool = False
    ends: Annotated[list[EndDocument], Field(min_length=2, max_length=2)]


class InterfaceDocument(EndDocument):
    """An interface that was found and is no end of a link."""

    name: Name


class ConnectionDocument(Document):
    """A five-tuple of a flow's data, found after the run."""

    protocol: Annotated[int, Field(ge=0, lt=256)]
    source: Address
    source_port: Port
    destination: Address
    destination_port: Port


class FlowDocument(Document):
    """A flow of the lab."""

    id: Annotated[int, Field(ge=0, lt=2**32)]
    name: Name
    group: Name
    tool: Text
    source: Address
    source_port: Port | None = None
    destination: Address
    destination_port: Port | None = None
    start_ns: Time
    duration_ns: Time | None = None
    bytes: Int64 | None = None
    args: list[Text] | None = None
    source_ports: list[Port] | None = None
    connections: list[ConnectionDocument] | None = None
    protocol: Text | None = None
    cc: Text | None = None
    from_: Annotated[Text | None, Field(alias="from")] = None
    to: Text | None = None


class ChangeDocument(Document):
    """A change of the lab."""

    at_ns: Time
    index: Int64
    queue: QueueDocument | None = None
    wire: WireDocument | None = None


class RecordDocument(Document):
    """What is recorded."""

    sample_ns: Time | None = None


class NodeDocument(Document):
    """A node of the lab."""

    name: Name
    forward: bool = False
    copies: bool = False


class LabDocument(Document):
    """The lab of `run.json`."""

    seed: Int64 = 0
    duration_ns: Annotated[int, Field(ge=0, le=MAX_RUN_NS)]
    nodes: list[NodeDocument] = []
    links: list[LinkDocument] = []
    interfaces: list[InterfaceDocument] = []
    flows: list[FlowDocument]
    changes: list[ChangeDocument] = []
    record: RecordDocument = RecordDocument()


class KernelDocument(Document):
    """What readers need to know of the kernel that made a run."""

    version: Text = ""
    drop_reasons: list[Text] = []
    build: Text = ""


class RunDocument(Document):
    """`run.json`, with the lab in it or beside it."""

    id: RunId
    seed: Int64 | None = None
    point: dict[str, Any] = {}
    given_sysctl: dict[str, list[Text]] = {}
    warmup_ns: Time = 0
    scenario: dict[str, Any] | Text = {}
    kernel: KernelDocument = KernelDocument()
    kernel_name: Text | None = None
    identity: dict[str, Text] = {}
    lab: LabDocument


def checked(value: dict[str, Any], document: type[Document], where: object) -> dict[str, Any]:
    """The value itself, once it fits the document. Raises StoreError naming the first field that does not."""
    try:
        document.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"])) or "it"
        raise StoreError(f"cannot read {where}: {field}: {first['msg'][:200]}") from None
    return value
