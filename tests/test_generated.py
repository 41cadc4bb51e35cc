"""Generated files: no copy is stale, a stale one is noticed, the C compiler agrees with the layout."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Set
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import pytest
from netwarp.flows import KINDS
from netwarp.lab_format import quantities
from netwarp.lab_format.model import LabFamily
from netwarp.lab_format.nodes import LabRoute
from netwarp.store.codes import Place
from netwarp.store.kernel_tables import ACKS
from netwarp.store.schemas import TABLES
from netwarp.store.table import Table
from netwarp.values import constants
from pydantic import Field

from tools import generate, recorder_layout, rust_lab

OF_TABLES = {"records/src/tables.rs", "docs/records.md"}


def only(names: Set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Generate no other files than these: to generate all takes a second."""
    monkeypatch.setattr(generate, "GENERATED", {name: generate.GENERATED[name] for name in sorted(names)})


@pytest.mark.slow
def test_no_generated_file_is_stale() -> None:
    texts = {name: make() for name, make in generate.GENERATED.items()}
    found = {name: (generate.ROOT / name).read_text() for name in texts}
    assert [name for name in texts if texts[name] != found[name]] == [], "run: make generate"


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "snd_cwnd_packets"},
        {"type": "u64"},
        {"type": "u32?"},
        {"unit": "bytes"},
        {"meaning": "something else"},
    ],
)
def test_a_changed_column_makes_every_copy_stale(changed: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    (at,) = (at for at, column in enumerate(ACKS.columns) if column.name == "snd_cwnd_pkts")
    columns = (*ACKS.columns[:at], replace(ACKS.columns[at], **changed), *ACKS.columns[at + 1 :])
    _with(replace(ACKS, columns=columns), monkeypatch)
    only(OF_TABLES, monkeypatch)
    assert set(generate.stale()) == OF_TABLES


@pytest.mark.slow
def test_an_added_column_makes_every_copy_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    added = replace(ACKS.columns[-1], name="bbr_state")
    _with(replace(ACKS, columns=(*ACKS.columns, added)), monkeypatch)
    assert set(generate.stale()) == OF_TABLES


def test_the_check_names_what_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {name: f"The text of {name}.\n" for name in generate.GENERATED}
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(generate, "GENERATED", {name: partial(str, text) for name, text in texts.items()})
    (tmp_path / "docs" / "records.md").write_text("old")
    (tmp_path / "docs" / "metrics.md").unlink()
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["generate", "--check"])
    assert generate.main() == 1
    output = capsys.readouterr().err.splitlines()
    assert output == [
        f"docs/{name}.md is not what its source makes of it; run: make generate" for name in ("metrics", "records")
    ]
    monkeypatch.setattr("sys.argv", ["generate"])
    assert generate.main() == 0 and generate.stale() == []


def _with(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TABLES, table.name, table)


def test_the_c_compiler_lays_records_out_alike(tmp_path: Path) -> None:
    """`struct netwarp_ack` and the rest: sizes and offsets of every field."""
    compiler = shutil.which("gcc")
    assert compiler is not None, "gcc is missing: make setup installs it"
    linux = tmp_path / "linux"
    linux.mkdir()
    (linux / "compiler.h").touch()
    (tmp_path / "uapi/linux").mkdir(parents=True)
    (tmp_path / "uapi/linux/rtnetlink.h").write_text("enum { RTNLGRP_TC = 4 };\n")
    kinds = {
        "__u8": "unsigned char",
        "__u16": "unsigned short",
        "__u32": "unsigned int",
        "__s32": "int",
        "__s64": "long long",
    }
    types = [f"typedef {c} {name};" for name, c in {**kinds, "__u64": "unsigned long long"}.items()]
    (linux / "types.h").write_text("\n".join([*types, "#include <stdbool.h>", ""]))
    text = f'#include <stddef.h>\n#include "{recorder_layout.HEADER}"\n'
    found = recorder_layout.structs()
    assert len(found) == recorder_layout.HEADER.read_text().count("\nstruct netwarp_") > 10
    for struct in found.values():
        text += f'_Static_assert(sizeof(struct {struct.name}) == {struct.size}, "{struct.name}");\n'
        for field in struct.fields:
            place = f"offsetof(struct {struct.name}, {field.name}) == {field.offset}"
            size = f"sizeof(((struct {struct.name} *)0)->{field.name}) == {field.size}"
            text += f'_Static_assert({place} && {size}, "{struct.name}.{field.name}");\n'
    (tmp_path / "layout.c").write_text(text)
    command = [compiler, "-fsyntax-only", "-w", f"-I{tmp_path}", str(tmp_path / "layout.c")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_datagram_holds_its_head() -> None:
    assert recorder_layout.structs()["payload"].size == constants.MIN_PAYLOAD_BYTES


@pytest.mark.slow
def test_a_changed_constant_makes_the_agents_copy_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ETHERNET_HEADER_BYTES", 18)
    assert generate.stale() == ["agent/src/constants.rs"]


@pytest.mark.slow
def test_a_changed_field_of_a_kind_makes_the_agents_copy_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class WithPauses(KINDS["ping"].lab):  # type: ignore[misc]
        """Echo requests with pauses."""

        pause_ns: quantities.Time

    monkeypatch.setitem(KINDS, "ping", replace(KINDS["ping"], lab=WithPauses))
    assert generate.stale() == ["agent/src/traffic/fields.rs", "docs/lab.md"]


def test_places_are_the_kernels() -> None:
    """All but one, which no record has: a settled packet is not dropped when it is freed."""
    places = recorder_layout.places()
    assert places.pop("SETTLED") == len(Place)
    assert places == {place.name: place.value for place in Place}


@pytest.mark.parametrize(
    ("hint", "wanted"),
    [
        (quantities.Port, "u16"),
        (quantities.Rate, "u64"),
        (quantities.Time, "i64"),
        (Annotated[quantities.Time, Field(ge=0)], "i64"),
        (Annotated[int, Field(ge=1, lt=2**31)], "u32"),
        (Annotated[int, Field(gt=-(2**31), lt=2**31)], "i32"),
        (quantities.Share, "f64"),
        (quantities.Address, "IpAddr"),
        (Annotated[quantities.Name | None, Field(description="a name")], "Option<String>"),
        (tuple[quantities.Port, ...], "Vec<u16>"),
        (Annotated[tuple[LabRoute, ...], Field(min_length=2, max_length=2)], "[Route; 2]"),
        (LabFamily, "Family"),
    ],
)
def test_the_agent_has_a_type_for_each_quantity_of_a_lab(hint: object, wanted: str) -> None:
    assert rust_lab.rust_type(hint) == wanted


def test_a_number_without_bounds_has_no_type_in_the_agent() -> None:
    with pytest.raises(ValueError, match="bounds"):
        rust_lab.rust_type(Annotated[int, Field(strict=True)])
    with pytest.raises(ValueError, match="bounds"):
        rust_lab.rust_type(int)
