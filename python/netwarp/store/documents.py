"""The JSON files of a result as what they must be: whoever sent it, a field that is read has the type it is read as.

A document that does not fit is refused with a sentence that names the field; fields that nobody reads may be anything.
"""

from ipaddress import ip_address
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from netwarp.store.errors import StoreError

_MAX_TEXT = 10_000
Int64 = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Text = Annotated[str, Field(max_length=_MAX_TEXT)]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^/\x00]+$")]
"""A name that may become a part of a file's name."""
RunId = Annotated[str, Field(pattern=r"^[0-9a-zA-Z_-]{1,64}$")]
"""A run's id is the name of a directory: never a path."""


def _address(text: str) -> str:
    ip_address(text)
    return text


Address = Annotated[Text, AfterValidator(_address)]
Port = Annotated[int, Field(ge=0, lt=2**16)]


class Document(BaseModel):
    """An object of which only what is declared is checked."""

    model_config = ConfigDict(extra="allow", strict=True)


class PlannedRunDocument(Document):
    """A run of `plan.json`."""

    id: RunId
    seed: Int64
    point: dict[str, Any] = {}
    case: Text | None = None


class BaselineDocument(Document):
    """The case that others are compared with."""

    case: Text
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

    status: Text
    reason: Text | None = None
    real_s: float | int | None = None


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


class WireDocument(Document):
    """What a wire does to packets, as far as it is read."""

    rate_bps: Int64 | None = None
    delay_ns: Int64 | None = None
    jitter_ns: Int64 | None = None
    loss: dict[str, Any] | None = None
    duplicate: float | int | None = None
    corrupt: float | int | None = None
    reorder: float | int | None = None


class QueueDocument(Document):
    """A queueing discipline."""

    kind: Text
    options: list[Text]


class EndDocument(Document):
    """One end of a link."""

    node: Name
    interface: Text = ""
    index: Int64
    queue: QueueDocument | None = None
    wire: WireDocument | None = None


class LinkDocument(Document):
    """A link of the lab."""

    name: Name
    mtu: Int64 = 1500
    offload: bool = False
    ends: Annotated[list[EndDocument], Field(min_length=2, max_length=2)]


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
    start_ns: Int64
    duration_ns: Int64 | None = None
    args: list[Text] | None = None
    source_ports: list[Port] | None = None
    protocol: Text | None = None
    cc: Text | None = None


class ChangeDocument(Document):
    """A change of the lab."""

    at_ns: Int64
    index: Int64
    queue: QueueDocument | None = None
    wire: WireDocument | None = None


class RecordDocument(Document):
    """What is recorded."""

    sample_ns: Int64 | None = None


class NodeDocument(Document):
    """A node of the lab."""

    name: Name
    forward: bool = False


class LabDocument(Document):
    """The lab of `run.json`."""

    seed: Int64 = 0
    duration_ns: Int64
    nodes: list[NodeDocument] = []
    links: list[LinkDocument] = []
    flows: list[FlowDocument]
    changes: list[ChangeDocument] = []
    record: RecordDocument = RecordDocument()


class RunDocument(Document):
    """`run.json`, with the lab in it or beside it."""

    id: RunId
    seed: Int64 | None = None
    point: dict[str, Any] = {}
    given_sysctl: dict[str, Any] = {}
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
