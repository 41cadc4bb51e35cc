"""The inventory: the machine of each node, how to log in there, and which of its interfaces is on which link."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError
from pydantic_core import ErrorDetails

from netwarp.common.words import did_you_mean
from netwarp.engines.base import EngineError
from netwarp.scenario.model import Scenario
from netwarp.scenario.source import Keys
from netwarp.scenario.toml import TomlError, parse_toml
from netwarp.values.fields import Model, about
from netwarp.values.files import read_file
from netwarp.values.units import parse_duration

_MAX_BYTES = 1 << 20
_SENTENCES = {
    "missing": "is missing",
    "extra_forbidden": "is not a field of an inventory",
    "string_type": "must be text in quotes",
    "int_type": "must be a whole number",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "dict_type": "must be a table",
    "literal_error": 'must be "none" or "sudo"',
    "string_pattern_mismatch": "has a character that is not allowed here",
    "greater_than_equal": "must be a port, 1 to 65535",
    "less_than_equal": "must be a port, 1 to 65535",
}


def _duration(value: object) -> int:
    return parse_duration(value)


def _absolute(value: str) -> str:
    if not value.startswith("/"):
        raise ValueError("must be an absolute path")
    return value


InterfaceName = Annotated[str, Field(pattern=r"^[^\s/-][^\s/]{0,14}$")]


class Machine(Model):
    """A machine, and its interfaces for a lab."""

    host: str = about(
        "The argument of `ssh`: a name, an address, or a `Host` of your own configuration.",
        "192.168.122.11",
        pattern=r"^[^\s-]\S*$",
    )
    user: str | None = about(
        "The user to log in as; default: as in your configuration.", "root", default=None, pattern=r"^[^\s-]\S*$"
    )
    port: int | None = about(
        "The port of its sshd; default: as in your configuration.", 22, default=None, ge=1, le=65535
    )
    root: Literal["none", "sudo"] = about(
        'How to become root: `"none"` if the user is root, `"sudo"` for `sudo -n`, which asks for no password.',
        "sudo",
        default="none",
    )
    directory: Annotated[str, AfterValidator(_absolute)] = about(
        "Where the agent and the records are kept during a run.", "/var/tmp", default="/tmp"
    )
    interfaces: dict[str, InterfaceName] = about(
        "The machine's interface at each link that ends there.", {"near": "enp0s3"}
    )


class Inventory(Model):
    """The machines of a lab by the names of its nodes."""

    ssh_config: str | None = about(
        "A configuration file for `ssh -F`, beside the inventory, in place of your own.", "ssh_config", default=None
    )
    clock_limit: Annotated[int, BeforeValidator(_duration)] = about(
        "How accurately the machines' clocks must be known; a run that exceeds it is suspect.", "1ms", default=1_000_000
    )
    nodes: dict[str, Machine] = about("A table for each node.")


def read_inventory(path: Path) -> Inventory:
    """Read the inventory from a file. Raises EngineError with everything that is wrong with it."""
    try:
        text = read_file(path, _MAX_BYTES).decode()
        if len(text) > _MAX_BYTES:
            raise ValueError("it is larger than 1 MB")
        inventory = Inventory.model_validate(parse_toml(text), strict=False)
    except ValidationError as error:
        found = "; ".join(_sentence(details) for details in error.errors())
        raise EngineError(f"The inventory {path} cannot be used: {found}. docs/ssh.md describes it.") from None
    except (OSError, ValueError, TomlError) as error:
        raise EngineError(f"The inventory {path} cannot be read: {error}") from None
    if inventory.ssh_config is None:
        return inventory
    config = path.parent.absolute() / Path(inventory.ssh_config).expanduser()
    if not config.is_file():
        raise EngineError(f"The inventory {path} names an ssh_config that does not exist: {config}")
    return inventory.model_copy(update={"ssh_config": str(config)})


def _sentence(details: ErrorDetails) -> str:
    place = ".".join(str(part) for part in details["loc"]) or "it"
    return f"{place} {_SENTENCES.get(details['type'], details['msg'].removeprefix('Value error, '))}"


def disagreements(inventory: Inventory, scenario: Scenario) -> Iterator[tuple[Keys, str]]:
    """Find entries that an inventory lacks for a scenario: the place in the scenario, and a sentence."""
    for node in scenario.nodes:
        if node not in inventory.nodes:
            near = did_you_mean(node, inventory.nodes)
            yield ("nodes", node), f"the inventory has no machine for the node {node}{near}: add [nodes.{node}]"
    for name, link in scenario.links.items():
        for node in link.ends:
            machine = inventory.nodes.get(node)
            if machine is not None and name not in machine.interfaces:
                yield (
                    ("links", name),
                    f"the inventory does not say which interface of {node} the link {name} ends at: add {name} = "
                    f'"INTERFACE" in [nodes.{node}.interfaces]',
                )
    for node, machine in inventory.nodes.items():
        if node not in scenario.nodes:
            continue
        theirs = [name for name, link in scenario.links.items() if node in link.ends]
        for name in machine.interfaces:
            if name not in theirs:
                near = did_you_mean(name, theirs)
                yield ("nodes", node), f"the inventory names a link {name} of {node}, which has none of that name{near}"
        twice = {name for name in machine.interfaces.values() if list(machine.interfaces.values()).count(name) > 1}
        for interface in sorted(twice):
            yield ("nodes", node), f"the inventory has {interface} of {node} at two links; each link needs its own"
