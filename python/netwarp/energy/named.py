"""Models of energy by name: shipped ones, and the user's files."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from pathlib import Path

from netwarp.common.words import nearest
from netwarp.energy.model import KINDS, Host, Model, NodeModel, Port, Radio, Switch, read_model
from netwarp.values.files import find_file, read_file

MAX_BYTES = 2**16


def shipped_models() -> dict[str, Path]:
    """The models that come with netwarp: name → file."""
    folder = Path(str(resources.files("netwarp") / "energy" / "models"))
    return {file.stem: file for file in sorted(folder.glob("*.toml"), key=lambda file: file.stem)}


@cache
def shipped_model(name: str) -> Model:
    """A shipped model. Raises KeyError for an unknown name."""
    return _read(shipped_models()[name], name)


def load_port(value: object, folder: Path) -> Port:
    """Load the model of a link's ports by name. Raises ValueError with a sentence."""
    model = _load(value, folder, ("port",))
    assert isinstance(model, Port)
    return model


def load_node_model(value: object, folder: Path) -> NodeModel:
    """Load the model of a node by name. Raises ValueError with a sentence."""
    model = _load(value, folder, tuple(kind for kind in KINDS if kind != "port"))
    assert not isinstance(model, Port)
    return model


def _load(value: object, folder: Path, kinds: tuple[str, ...]) -> Model:
    if isinstance(value, (Port, Switch, Host, Radio)):
        return value
    fitting = [name for name in shipped_models() if shipped_model(name).kind in kinds]
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError(f"a model of energy is a shipped one ({', '.join(fitting)}) or the name of a file")
    path = find_file(value, folder)
    if path.is_file():
        model = _read(path, Path(value).stem)
    elif value in shipped_models():
        model = shipped_model(value)
    else:
        raise ValueError(
            f'there is no file and no shipped model of energy called "{value[:200]}"{nearest(value, fitting)}; '
            f"shipped ones that fit here are {', '.join(fitting)}"
        )
    if model.kind not in kinds:
        raise ValueError(
            f'"{value[:200]}" is the model of a {model.kind}; expected that of a {" or ".join(kinds)}, such as '
            f"{', '.join(fitting)}"
        )
    return model


def _read(path: Path, name: str) -> Model:
    """Read the file of a model, called `name`. Raises ValueError with a sentence."""
    try:
        content = read_file(path, MAX_BYTES)
        if len(content) > MAX_BYTES:
            raise ValueError(f"it is larger than {MAX_BYTES // 2**10} KiB")
        data = tomllib.loads(content.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError(f'the model of energy "{path.name}" cannot be read: it is nested too deeply') from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ValueError(f'the model of energy "{path.name}" cannot be read: {why}') from None
    try:
        return read_model({**data, "name": name})
    except ValueError as error:
        raise ValueError(f'the model of energy "{path.name}": {error}') from None
