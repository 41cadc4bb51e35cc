"""The model of a lab: built labs fit it, its example has all of it, and readers use only its fields."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest
from netwarp.flows import KINDS
from netwarp.lab import build_lab
from netwarp.lab_format import model
from netwarp.lab_format.model import LabFlow, read_lab
from netwarp.lab_format.objects import is_found, is_spread, spelt
from netwarp.plan import make_plan
from netwarp.scenario import parse_scenario, shipped_scenarios
from netwarp.scenario.load.loader import load_scenario
from netwarp.store.rundir import RunDir
from pydantic import TypeAdapter, ValidationError
from test_load import EVERYTHING

from tools.lab_page import example, schema

SHIPPED = sorted(shipped_scenarios())


def fits(lab: Any) -> bool:
    """Whether a lab has all fields of the model, no others, and each of its type."""
    try:
        return bool(read_lab(lab).as_json() == lab)
    except ValidationError:
        return False


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.slow
def test_the_labs_of_shipped_scenarios_fit(name: str) -> None:
    lab = build_lab(make_plan(load_scenario(name)).runs[0])
    assert read_lab(json.loads(json.dumps(lab.as_json()))) == lab
    for flow in lab.flows:
        # The agent's structs are generated from these classes, with types that hold their quantities.
        fields_of_its_kind = TypeAdapter(KINDS[flow.tool].lab).validate_python(flow.own)
        assert fields_of_its_kind.as_json() == dict(flow.own)


def test_the_lab_of_everything_fits() -> None:
    for run in make_plan(parse_scenario(EVERYTHING)).runs:
        assert fits(build_lab(run).as_json())


def objects(value: Any, keys: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Every object of a lab whose fields the model names, with the keys that lead to it."""
    if isinstance(value, dict):
        yield keys, value
        for key, child in value.items():
            if key not in ("sysctl", "flows", "env", "files", "parameters"):
                yield from objects(child, (*keys, key))
    elif isinstance(value, list):
        for number, child in enumerate(value):
            yield from objects(child, (*keys, number))


def changed(lab: Any, keys: tuple[Any, ...]) -> tuple[Any, Any]:
    """A copy of the lab, and the object in it."""
    whole = copy.deepcopy(lab)
    found = whole
    for key in keys:
        found = found[key]
    return whole, found


@pytest.mark.slow
def test_no_field_is_added_or_left_out() -> None:
    lab = json.loads(json.dumps(example().as_json()))
    assert fits(lab)
    places = list(objects(lab))
    assert len(places) > 30
    for keys, value in places:
        before = dict(value)
        value["unheard_of"] = None
        assert not fits(lab), keys
        for field in before:
            value.clear()
            value.update({key: content for key, content in before.items() if key != field})
            assert not fits(lab), (keys, field)
        value.clear()
        value.update(before)
    assert fits(lab)


@pytest.mark.slow
def test_the_example_has_every_form_of_every_field() -> None:
    """The agent's test, which reads and writes the example, then covers all of the model."""
    seen: dict[str, set[str]] = {}
    definitions = schema()["$defs"]
    lab: dict[str, Any] = example().as_json()
    _see(lab, schema(), definitions, seen, "Lab")
    for change in (change for flow in lab["flows"] for change in flow["changes"]):
        _see(change, definitions["LabFlowChange"], definitions, seen, "LabFlowChange")
    for option in (option for flow in lab["flows"] for option in flow["sockets"]):
        _see(option, definitions["LabSocketOption"], definitions, seen, "LabSocketOption")
    _see({**lab, "exec": None, "parts": None}, schema(), definitions, seen, "Lab")
    unlimited = {**lab["exec"], **dict.fromkeys(("rate_bps", "node", "input", "pace"))}
    _see({**lab, "exec": unlimited}, schema(), definitions, seen, "Lab")
    for name, definition in {"Lab": schema(), **definitions}.items():
        for field, about in definition["properties"].items():
            if name != "LabFlow":
                wanted = {one.get("$ref", one.get("type")) for one in about.get("anyOf", [about])}
                assert wanted - seen.get(f"{name}.{field}", set()) == set(), (name, field)


def _see(value: Any, about: dict[str, Any], definitions: dict[str, Any], seen: dict[str, set[str]], name: str) -> None:
    """Notes the forms that each field has, by object and field."""
    for field, its in about["properties"].items():
        forms = its.get("anyOf", [its])
        form = next(form for form in forms if _is(value[field], form, definitions))
        seen.setdefault(f"{name}.{field}", set()).add(form.get("$ref", form.get("type")))
        items = form.get("items", form)
        for child in value[field] if isinstance(value[field], list) else [value[field]]:
            if "$ref" in items and (kind := items["$ref"].rpartition("/")[2]) != "LabFlow":
                _see(child, definitions[kind], definitions, seen, kind)


def _is(value: Any, form: dict[str, Any], definitions: dict[str, Any]) -> bool:
    if "$ref" in form:
        fields = definitions[form["$ref"].rpartition("/")[2]]["properties"]
        return isinstance(value, dict) and value.keys() == fields.keys()
    kinds: dict[str, type] = {"null": type(None), "string": str, "integer": int, "number": float, "boolean": bool}
    return isinstance(value, (kinds | {"array": list, "object": dict})[form["type"]])


def test_flows_have_their_head() -> None:
    names = {spelt(one.name) for one in fields(LabFlow) if not (is_found(one) or is_spread(one))}
    for flow in example().flows:
        assert names <= flow.as_json().keys()


def test_a_lab_goes_to_workers_and_stays_as_it_is() -> None:
    lab = example()
    assert pickle.loads(pickle.dumps(lab)) == lab
    for one in (lab, lab.links[0].ends[0].wire, lab.flows[0]):
        with pytest.raises(FrozenInstanceError):
            one.seed = 7  # type: ignore[misc]


def test_a_lab_of_an_older_version_has_what_was_so_then() -> None:
    ends = [{"node": node, "index": index} for index, node in enumerate("ab")]
    flow = {"id": 0, "name": "f", "group": "f", "tool": "later", "source": "::1", "destination": "::2", "start_ns": 0}
    lab = read_lab({"duration_ns": 1, "flows": [{**flow, "unheard_of": ["a"]}], "links": [{"name": "l", "ends": ends}]})
    assert (lab.links[0].mtu, lab.links[0].ends[0].wire.rate_bps, lab.exec, lab.nodes) == (1500, None, None, ())
    assert lab.flows[0].own == {"unheard_of": ["a"]}


@pytest.mark.parametrize(
    ("loss", "fits_"),
    [
        ({"model": "random", "p": 0.5}, True),
        ({"model": "random"}, False),
        ({"model": "random", "p": 2}, False),
        ({"model": "gemodel", "p": 0.1, "r": 0.1, "one_minus_h": 1.0, "one_minus_k": 0.0}, True),
        ({"model": "unheard of"}, False),
    ],
)
def test_a_loss_is_one_that_netem_has(loss: dict[str, Any], fits_: bool) -> None:
    lab = example().as_json()
    _, wire = changed(lab, ("links", 0, "ends", 0, "wire"))
    wire["loss"] = loss
    whole, found = changed(lab, ("links", 0, "ends", 0))
    found["wire"] = wire
    try:
        read_lab(whole)
    except ValidationError:
        assert not fits_
    else:
        assert fits_


def test_a_lab_that_has_just_been_written_is_not_loaded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = build_lab(make_plan(parse_scenario(EVERYTHING)).runs[0])
    (tmp_path / "run.json").write_text(json.dumps({"id": "r", "lab": lab.as_json()}))
    loaded = RunDir(tmp_path)
    assert loaded.lab == lab
    monkeypatch.setattr(model, "lab_reader", lambda: pytest.fail("loaded"))
    written = RunDir(tmp_path, lab)
    assert written.lab is lab
    assert (written.description, written.network) == (loaded.description, loaded.network)
    assert (written, hash(written)) == (loaded, hash(loaded))
