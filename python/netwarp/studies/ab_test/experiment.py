"""The file of an experiment: its two arms, its unit, its metric, and its baseline."""

from __future__ import annotations

import ipaddress
import re
from math import inf
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from netwarp.scenario.toml import TomlError, parse_toml
from netwarp.store.errors import SelectionError
from netwarp.studies.ab_test.metrics import METRICS, Metric
from netwarp.values.fields import Model
from netwarp.values.files import read_file

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_MAX_BYTES = 1 << 20
_SENTENCES = {
    "missing": "is missing",
    "extra_forbidden": "is not a field of an experiment",
    "string_type": "must be text in quotes",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "list_type": "must be a list",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "dict_type": "must be a table",
    "literal_error": 'must be "host" or "route"',
}
_PERCENT = re.compile(r"[0-9]+(?:\.[0-9]+)?%")
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
"""A finite number, and not `true`, which pydantic would take for 1."""


def network_of(route: str) -> Network:
    """The addresses of a route's destination, as `ip route` writes it. Raises ValueError if it is not one."""
    if "%" in route:  # Python takes any text after it for the zone of an IPv6 address
        raise ValueError("a destination has no zone")
    return ipaddress.ip_network("0.0.0.0/0" if route == "default" else route)


def _route(value: str) -> str:
    try:
        network_of(value)
    except ValueError:
        raise ValueError(f'has "{value}", which is not a destination: "default", "10.0.0.0/8" or "::/0"') from None
    return value


def _metric(value: str) -> str:
    if value not in METRICS:
        raise ValueError(f"must be one of {', '.join(METRICS)}")
    return value


def _effect(value: object) -> object:
    percent = isinstance(value, str) and _PERCENT.fullmatch(value)
    if not percent and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ValueError(
            "must be a percentage of the baseline's mean, such as \"5%\", or a number in the metric's unit"
        )
    if not 0 < float(str(value).removesuffix("%")) < inf:
        raise ValueError("must be more than 0, and finite")
    return value


def _host(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]+", value):
        raise ValueError(f'has "{value}", which is not the name of a host: letters, digits, ".", "_" and "-"')
    return value


def checked_host(name: str) -> str:
    """The name, if it may be a host's. Raises SelectionError."""
    try:
        return _host(name)
    except ValueError as error:
        raise SelectionError(f"the command line {error}") from None


HostName = Annotated[str, AfterValidator(_host)]


class Arm(Model):
    """A congestion control, and the share of the units that get it, in percent."""

    cc: str = Field(pattern=r"^[a-z0-9_]+$")
    share: Number = Field(ge=0.001, le=100)


class Baseline(Model):
    """Knowledge of the metric before the experiment: recordings, or four numbers.

    `sd` is the standard deviation of single connections, `icc` the share of their variance that is between hosts,
    `connections` their number on each host while the experiment lasts; if hosts differ, the harmonic mean.
    """

    recordings: list[str] = Field(default=[])
    mean: Number | None = Field(default=None, gt=0)
    sd: Number | None = Field(default=None, gt=0)
    icc: Number | None = Field(default=None, ge=0, le=1)
    connections: Number | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _either(self) -> Baseline:
        given = [value is not None for value in (self.mean, self.sd, self.icc, self.connections)]
        if any(given) if self.recordings else not all(given):
            raise ValueError("needs either recordings, or all of mean, sd, icc and connections")
        return self


class Experiment(Model):
    """An experiment. `effect` is the smallest that matters, `looks` how often its data will probably be looked at."""

    name: str = Field(pattern=r"^[A-Za-z0-9._-]+$")
    salt: str = Field(min_length=1)
    unit: Literal["host", "route"] = "host"
    metric: Annotated[str, AfterValidator(_metric)]
    effect: Annotated[float | str, BeforeValidator(_effect)]
    alpha: Number = Field(default=0.05, ge=1e-9, lt=0.5)
    power: Number = Field(default=0.8, gt=0.5, le=1 - 1e-9)
    looks: int = Field(default=5, ge=1, le=50, strict=True)
    filter: str = ""
    hosts: list[HostName] = Field(default=[])
    routes: list[Annotated[str, AfterValidator(_route)]] = Field(default=[])
    arms: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")], Arm]
    baseline: Baseline

    @model_validator(mode="after")
    def _agrees(self) -> Experiment:
        if len(self.arms) != 2:
            raise ValueError(f"needs two tables [arms.NAME], the control first; it has {len(self.arms)}")
        if (total := sum(arm.share for arm in self.arms.values())) > 100:
            raise ValueError(f"gives its arms {total:g} % of the units together; at most 100 %")
        if self.unit == "route" and not self.routes:
            raise ValueError('has unit = "route" and needs routes')
        for kind, names in (("hosts", self.hosts), ("routes", self.routes)):
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise ValueError(f"has {', '.join(twice)} more than once in {kind}")
        return self

    @property
    def units(self) -> list[str]:
        """The units that the file lists."""
        return self.hosts if self.unit == "host" else self.routes

    @property
    def control(self) -> str:
        """The arm that the other is compared with: the first."""
        return next(iter(self.arms))

    @property
    def treatment(self) -> str:
        """The other arm."""
        return list(self.arms)[1]

    @property
    def measured(self) -> Metric:
        """The metric."""
        return METRICS[self.metric]

    def effect_size(self, mean: float) -> float:
        """The smallest effect that matters in the metric's unit, if the baseline's mean is `mean`."""
        if isinstance(self.effect, str):
            return float(self.effect.removesuffix("%")) / 100 * mean
        return self.effect


def read_experiment(path: Path) -> Experiment:
    """Read the experiment from a file. Raises SelectionError with everything that is wrong with it."""
    try:
        text = read_file(path, _MAX_BYTES).decode()
        if len(text) > _MAX_BYTES:
            raise ValueError("it is larger than 1 MB")
        return Experiment.model_validate(parse_toml(text))
    except ValidationError as error:
        found = "; ".join(_sentence(details) for details in error.errors())
        raise SelectionError(f"the experiment {path} cannot be used: {found}; docs/ab.md describes it") from None
    except OSError as error:
        raise SelectionError(f"the experiment {path} cannot be read: {error.strerror}; name a file") from None
    except (ValueError, TomlError) as error:
        raise SelectionError(f"the experiment {path} cannot be read: {error}") from None


def _sentence(details: ErrorDetails) -> str:
    # A union's members and the step of a validator are not a part of the place in the file.
    parts = [str(part) for part in details["loc"] if part not in ("float", "str") and "[" not in str(part)]
    return f"{'.'.join(parts) or 'it'} {_SENTENCES.get(details['type'], _message(details['msg']))}"


def _message(text: str) -> str:
    return text.removeprefix("Value error, ").replace("Input should", "should").replace("String should", "should")
