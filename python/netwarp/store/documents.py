"""Models of the JSON files of a result: wherever it comes from, a field that is read has the expected type.

A document that does not fit is refused with a sentence that names the field; fields that nobody reads may be anything.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, ValidationError

from netwarp.lab_format.model import Lab, read_lab
from netwarp.lab_format.quantities import Int64, Label, Text, Time
from netwarp.store.errors import StoreError
from netwarp.units import parse_duration

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


class KernelDocument(Document):
    """What readers need to know of the kernel that made a run."""

    version: Text = ""
    drop_reasons: list[Text] = []
    build: Text = ""


class ScenarioDocument(Document):
    """What a run says of its scenario; older results say there, in words, until when it warmed up."""

    name: Text = ""
    warmup: Annotated[int, BeforeValidator(parse_duration)] = 0


class RunDocument(Document):
    """`run.json`, with the lab in it or beside it."""

    id: RunId
    seed: Int64 | None = None
    point: dict[str, Any] = {}
    given_sysctl: dict[str, list[Text]] = {}
    warmup_ns: Time = 0
    scenario: ScenarioDocument | Text = ""
    kernel: KernelDocument = KernelDocument()
    kernel_name: Text | None = None
    identity: dict[str, Text] = {}
    lab: Annotated[Lab, PlainValidator(read_lab)]

    @property
    def measured_from_ns(self) -> int:
        """Until when it warmed up."""
        of_scenario = 0 if isinstance(self.scenario, str) else self.scenario.warmup
        return self.warmup_ns or self.lab.warmup_ns or of_scenario

    @property
    def scenario_name(self) -> str:
        """The name of its scenario; empty if it is not known."""
        return self.scenario if isinstance(self.scenario, str) else self.scenario.name


_Read = TypeVar("_Read", bound=Document)


def checked(value: dict[str, Any], document: type[Document], where: object) -> dict[str, Any]:
    """The value itself, once it fits the document. Raises StoreError naming the first field that does not."""
    loaded(value, document, where)
    return value


def loaded(value: Mapping[str, object], document: type[_Read], where: object) -> _Read:
    """The document that a JSON object is. Raises StoreError naming the first field that does not fit."""
    try:
        return document.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"])) or "it"
        raise StoreError(f"cannot read {where}: {field}: {first['msg'][:200]}") from None
