"""Models of the JSON files of a result, which check the type of every field that is read.

A document that does not fit is refused with a sentence that names the field; fields that are not read are not checked.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    TypeAdapter,
    ValidationError,
    with_config,
)
from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypedDict

from netwarp.energy.model import Model, NodeModel, Port, read_model
from netwarp.lab_format.model import Lab, read_lab
from netwarp.lab_format.quantities import Int64, Label, Text, Time
from netwarp.store.errors import StoreError
from netwarp.store.run_status import WRITTEN, RunStatus
from netwarp.values.keep import Keep
from netwarp.values.units import parse_duration


def _status(value: str) -> RunStatus:
    # A function, since the signature of an enumeration differs between versions of Python.
    return RunStatus(value)


if TYPE_CHECKING:
    from netwarp.values.json_values import Json

    Written = RunStatus
else:
    Json = Any  # has been read from JSON
    Written = Annotated[Literal[tuple(map(str, WRITTEN))], AfterValidator(_status)]


class Loaded:
    """Marks a field that a function of the field's own package loads.

    pydantic's PlainValidator would also make a schema for writing the field, which no result needs; a lab's takes a
    tenth of a second, with each start.
    """

    def __init__(self, read: Callable[[Any], Any]) -> None:
        self.read = read

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)


RunId = Annotated[str, Field(pattern=r"^[0-9a-zA-Z_-]{1,64}$")]
"""A run's id, which is the name of a directory and never a path."""
_READ = ConfigDict(extra="allow", strict=True)
"""Only declared fields are checked."""


@with_config(_READ)
class PlannedRunJson(TypedDict):
    """A run of `plan.json`."""

    id: RunId
    seed: Int64
    point: NotRequired[dict[str, Json]]
    case: NotRequired[Label | None]


@with_config(_READ)
class BaselineJson(TypedDict):
    """The case with which others are compared, and the scenario's values of the paths that cases set, as written."""

    case: Label
    usual: NotRequired[dict[str, Json]]


@with_config(_READ)
class AskedJson(TypedDict, total=False):
    """Settings of the command line that are not in the scenario's file."""

    settings: list[Text]
    seeds: list[Int64] | None
    cases: list[Text] | None


class CasesJson(TypedDict):
    """The cases of a plan: the settings of each, by path, and the case with which others are compared."""

    cases: NotRequired[dict[str, dict[str, Json]]]
    baseline: NotRequired[BaselineJson | None]


@with_config(_READ)
class PlanJson(CasesJson):
    """`plan.json`; `axes` are paths, in order."""

    name: NotRequired[Text]
    engine: NotRequired[Text]
    identity: NotRequired[dict[str, Text]]
    asked: NotRequired[AskedJson | None]
    axes: NotRequired[list[Text]]
    runs: list[PlannedRunJson]


@with_config(_READ)
class StatusJson(TypedDict):
    """`status.json`."""

    status: Written
    reason: NotRequired[Text | None]
    end: NotRequired[Text]
    real_s: NotRequired[float | int | None]
    cpu_s: NotRequired[float | int | None]
    guard_cpu_s: NotRequired[float | int | None]
    by_host: NotRequired[bool]
    notes: NotRequired[list[Text]]
    keep: NotRequired[Keep]
    before_the_fault: NotRequired["StatusJson | None"]
    exit_code: NotRequired[Int64 | None]
    by_exit_code: NotRequired[bool]
    duration_ns: NotRequired[Int64]
    tests: NotRequired[dict[str, Int64]]
    package_j: NotRequired[dict[str, float]]
    charged: NotRequired[list[dict[str, str | int]]]
    confinement: NotRequired[dict[str, Any]]


@with_config(_READ)
class HostJson(TypedDict, total=False):
    """The machine that made a result."""

    name: str
    system: str
    machine: str
    processors: int | None


@with_config(_READ)
class InvocationJson(TypedDict, total=False):
    """A command that continued a result."""

    created: Text | None
    argv: list[Text] | None
    netwarp: Text | None


@with_config(_READ)
class ManifestJson(TypedDict, total=False):
    """`manifest.json`."""

    netwarp: Text | None
    engine: Text | None
    identity: dict[str, Text]
    argv: list[Text]
    created: Text | None
    python: str
    libraries: dict[str, Text]
    host: HostJson
    executable: str
    resumed: list[InvocationJson]


class Document(BaseModel):
    """An object of which only declared fields are checked."""

    model_config = _READ


class KernelDocument(Document):
    """Facts about the kernel of a run that readers need."""

    version: Text = ""
    drop_reasons: list[Text] = []
    build: Text = ""


class ScenarioDocument(Document):
    """A run's facts about its scenario; in older results these include the warm-up, in words."""

    name: Text = ""
    warmup: Annotated[int, BeforeValidator(parse_duration)] = 0


def _model(value: Any) -> Model:
    return read_model(value if isinstance(value, dict) else {})


def _port(value: Any) -> Port:
    if not isinstance(model := _model(value), Port):
        raise ValueError(f"expected the model of a port, not of a {model.kind}")
    return model


def _node_model(value: Any) -> NodeModel:
    if isinstance(model := _model(value), Port):
        raise ValueError("expected the model of a node, not of a port")
    return model


class EnergyDocument(Document):
    """The models of energy of links and nodes that have one."""

    links: dict[str, Annotated[Port, Loaded(_port)]] = {}
    nodes: dict[str, Annotated[NodeModel, Loaded(_node_model)]] = {}


class RunDocument(Document):
    """`run.json`, with the lab in it or beside it."""

    id: RunId
    seed: Int64 | None = None
    point: dict[str, Json] = {}
    given_sysctl: dict[str, list[Text]] = {}
    warmup_ns: Time = 0
    scenario: ScenarioDocument | Text = ""
    kernel: KernelDocument = KernelDocument()
    kernel_name: Text | None = None
    identity: dict[str, Text] = {}
    energy: EnergyDocument = EnergyDocument()
    lab: Annotated[Lab, Loaded(read_lab)]

    @property
    def measured_from_ns(self) -> int:
        """The end of its warm-up."""
        of_scenario = 0 if isinstance(self.scenario, str) else self.scenario.warmup
        return self.warmup_ns or self.lab.warmup_ns or of_scenario

    @property
    def scenario_name(self) -> str:
        """The name of its scenario; empty if unknown."""
        return self.scenario if isinstance(self.scenario, str) else self.scenario.name


_Read = TypeVar("_Read")


_READERS: dict[type, TypeAdapter[Any]] = {}


def checked(value: object, document: type[_Read], where: object) -> _Read:
    """Validate a JSON value as a document. Raises StoreError naming the first field that does not fit."""
    try:
        if document not in _READERS:
            _READERS[document] = TypeAdapter(document)
        found: _Read = _READERS[document].validate_python(value)
        return found
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"])) or "it"
        raise StoreError(f"cannot read {where}: {field}: {first['msg'][:200]}") from None
