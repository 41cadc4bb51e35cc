"""Modules that a scenario names: their sources, what they register, and their part of a run's id."""

from __future__ import annotations

import pickle
import time
from pathlib import Path

import pytest
from netwarp.modules.c_source import CONGESTION_CONTROL, QDISC, registered
from netwarp.modules.named import (
    Control,
    in_gallery,
    load_control,
    load_module,
    module_files,
    module_of,
    shipped_modules,
)
from netwarp.plan import make_plan
from netwarp.scenario import ScenarioError, load_scenario, parse_scenario
from netwarp.values.files import Places
from netwarp.values.json_values import JsonObject
from scenario_texts import DUMBBELL

MINE = """
static struct tcp_congestion_ops tcp_mine __read_mostly = {
	.owner = THIS_MODULE,
	.name = "mine",
};
	return tcp_register_congestion_control(&tcp_mine);
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tcp_mine.c").write_text(f'#include "mine.h"\n#include <net/tcp.h>\n{MINE}')
    (tmp_path / "mine.h").write_text("#define W 50\n")
    return tmp_path


def run_id(folder: Path, *settings: str) -> str:
    return make_plan(parse_scenario(DUMBBELL, settings=settings, folder=folder)).runs[0].id


def test_a_file_comes_with_the_headers_beside_it(folder: Path) -> None:
    control = load_control("file:./tcp_mine.c window=50 beta=717", folder)
    assert control == "mine"
    module = module_of(control)
    assert module is not None
    assert set(module.files) == {"tcp_mine.c", "mine.h"}
    assert module.parameters == {"window": "50", "beta": "717"}


def test_a_control_keeps_its_module_where_it_is_sent(folder: Path) -> None:
    control = load_control("file:tcp_mine.c", folder)
    sent = pickle.loads(pickle.dumps(control))
    assert isinstance(sent, Control)
    assert sent == "mine"
    assert sent.module == control.module


def test_a_module_counts_by_what_its_files_say(folder: Path) -> None:
    first = run_id(folder, "flows.bulk.cc=file:tcp_mine.c")
    assert run_id(folder, "flows.bulk.cc=file:./tcp_mine.c") == first, "where it lies is nothing to a run"
    assert run_id(folder, "flows.bulk.cc=file:tcp_mine.c window=9") != first
    (folder / "mine.h").write_text("#define W 60\n")
    assert run_id(folder, "flows.bulk.cc=file:tcp_mine.c") != first


def test_a_result_keeps_the_sources_of_every_point(folder: Path) -> None:
    data: JsonObject = {
        "flows": {"bulk": {"cc": "cubic"}},
        "sweep": {"flows.bulk.cc": ["bbr", "file:tcp_mine.c window=9"]},
    }
    kept = module_files(data, Places(lambda _: folder))
    assert sorted(Path(name).name for name in kept) == ["mine.h", "tcp_mine.c"]
    other = folder / "result"
    for name, content in kept.items():
        path = other / "modules" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    assert load_module("tcp_mine.c", {}, other) == load_module("tcp_mine.c", {}, folder)


def test_what_comes_with_netwarp_is_found_by_its_name(tmp_path: Path) -> None:
    assert "tcp_template.c" in shipped_modules()
    assert load_control("file:tcp_template.c", tmp_path) == "template"


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("tcp_mien.c", 'cannot be read: No such file or directory (did you mean "tcp_mine.c"?)'),
        ("mine.h", "neither a C file"),
        ("empty", "has no Kbuild"),
        ("tcp_mine.c window", '"window" is not a parameter of a module, such as window=50'),
        ("other.ko", "for the kernel 6.1.0-18-amd64, which other kernels refuse; give its source"),
        ("nothing.c", "netwarp finds none"),
    ],
)
def test_what_is_no_module_is_refused(folder: Path, place: str, words: str) -> None:
    (folder / "empty").mkdir()
    (folder / "other.ko").write_bytes(b"\x7fELF\0vermagic=6.1.0-18-amd64 SMP mod_unload\0")
    (folder / "nothing.c").write_text("int x;\n")
    with pytest.raises(ScenarioError) as caught:
        run_id(folder, f"flows.bulk.cc=file:{place}")
    assert words in str(caught.value)


def test_two_modules_of_one_name_are_refused(folder: Path) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "tcp_mine.c").write_text(MINE)
    with pytest.raises(ScenarioError, match="are both called tcp_mine"):
        run_id(folder, "flows.bulk.cc=file:tcp_mine.c", 'modules=["other/tcp_mine.c"]')


def test_one_module_has_one_value_of_each_parameter(folder: Path) -> None:
    with pytest.raises(ScenarioError, match="with other parameters already"):
        run_id(folder, "flows.bulk.cc=file:tcp_mine.c window=9", 'modules=["tcp_mine.c"]')


REGISTERS = "	return tcp_register_congestion_control(&x);"


@pytest.mark.parametrize(
    "definition",
    [
        'static struct tcp_congestion_ops x __read_mostly = { .owner = THIS_MODULE, .name = "mine" };',
        'static struct tcp_congestion_ops x __read_mostly = {\n\t.init = f, /* } */\n\t.name\t= "mine"\n\t};',
        'struct tcp_congestion_ops x __attribute__((aligned(64))) =\n{\n\t.name="mine", // }\n};',
        'static const struct tcp_congestion_ops __read_mostly x = {\n\t.name = "mine",\n};',
        '#define NAME "mine"\nstatic struct tcp_congestion_ops x = {\n\t.name = NAME,\n};',
    ],
)
@pytest.mark.parametrize("call", [REGISTERS, "	if (tcp_register_congestion_control( & x ) < 0)"])
def test_a_control_is_found_however_it_is_written(definition: str, call: str) -> None:
    assert registered([f"{definition}\n{call}\n"], CONGESTION_CONTROL) == ("mine",)


@pytest.mark.parametrize(
    "text",
    [
        'static struct tcp_congestion_ops x = {\n\t.name = "mine",\n};',
        'static struct tcp_congestion_ops y = {\n\t.name = "mine",\n};\n' + REGISTERS,
        f'/* static struct tcp_congestion_ops x = {{ .name = "mine" }}; */\n{REGISTERS}',
        f'static struct tcp_congestion_ops x = {{ .name = NAMED("mine") }};\n{REGISTERS}',
    ],
)
def test_what_a_text_does_not_say_is_not_guessed(text: str) -> None:
    assert registered([text], CONGESTION_CONTROL) == ()


def test_every_module_that_comes_with_netwarp_says_what_it_registers() -> None:
    for name, path in shipped_modules().items():
        what = QDISC if name.startswith("sch_") else CONGESTION_CONTROL
        assert registered([path.read_text()], what), name


def test_what_the_gallery_registers_is_named_where_the_kernel_lacks_it() -> None:
    control = "congestion control"
    assert 'cc = "file:tcp_copa.c"' in in_gallery(control, "copa")
    assert in_gallery("queue discipline", "copa") == ""
    assert in_gallery(control, "bbr2").startswith("; BBRv2 was replaced by BBRv3")
    assert 'cc = "program:vivace.py"' in in_gallery(control, "vivace")
    assert in_gallery(control, "allegro").startswith("; PCC Allegro is not shipped")
    assert 'modules = ["sch_dualpi2.c"]' in in_gallery("queue discipline", "dualpi2")
    assert '"prague"' in in_gallery(control, "prague")
    (own,) = (name for name in shipped_modules() if name.startswith("tcp_bbr"))
    for name in ("bbr3", "bbrv3", "bbr_v3", "bbr2"):
        assert f'cc = "file:{own}"' in in_gallery(control, name), name
    assert in_gallery(control, "cubik") == ""


def test_a_file_that_the_command_line_names_is_in_the_current_directory(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is searched where a shell would, and not in netwarp's package; then beside the scenario."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "scenario.toml").write_text(DUMBBELL)
    (elsewhere / "only.c").write_text(MINE.replace('"mine"', '"only"'))
    (elsewhere / "tcp_mine.c").write_text(MINE.replace('"mine"', '"beside"'))
    monkeypatch.chdir(folder)
    for source in ("bufferbloat", elsewhere / "scenario.toml"):
        for given in ("flows.bulk.cc=file:./tcp_mine.c", 'flows.bulk.cc="file:./tcp_mine.c window=5"'):
            assert getattr(load_scenario(source, [given]).flows["bulk"], "cc", None) in ("mine", "cubic")
        scenario = load_scenario(source, ['sweep.flows.bulk.cc=["file:tcp_mine.c", "reno"]', 'modules=["tcp_mine.c"]'])
        assert scenario.modules[0].congestion_controls == ("mine",)
        kept = module_files(scenario.source.data, scenario.source.places)
        assert b'"mine"' in b"".join(kept.values())
        assert b'"beside"' not in b"".join(kept.values())
    beside = load_scenario(elsewhere / "scenario.toml", ["flows.bulk.cc=file:only.c"])
    assert getattr(beside.flows["bulk"], "cc", None) == "only"


@pytest.mark.parametrize(
    "text",
    [
        "struct tcp_congestion_ops x ",
        "struct tcp_congestion_ops x = { ",
        'struct tcp_congestion_ops x = { "',
        "struct tcp_congestion_ops __a ",
        "/*",
        '"\\',
        "tcp_register_congestion_control (& ",
    ],
)
@pytest.mark.slow
def test_no_text_takes_more_than_its_length(text: str) -> None:
    """Its author may be hostile. If time grows with the square of the length, these take minutes."""
    cpu_s = time.process_time()
    assert registered([text * (1_000_000 // len(text))], CONGESTION_CONTROL) == ()
    assert time.process_time() - cpu_s < 10
