"""The host's programs in a lab are part of a result's identity."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from netwarp.engines import EngineError, differing, identity_of
from netwarp.engines import programs as programs_
from netwarp.engines.programs import find_program, libraries_digest, program_digests, program_names
from netwarp.engines.tools import find_tools, tools_digest
from netwarp.engines.uml import UmlEngine
from netwarp.plan import make_plan
from netwarp.scenario import parse_scenario
from netwarp.scenario.model import Scenario
from netwarp.values.constants import SEARCH_PATH
from scenario_texts import replaced


class Engine(UmlEngine):
    """The engine without a kernel or an agent: only its programs."""

    def __init__(self, kernel_digest: str = "k") -> None:
        object.__setattr__(self, "kernel_digest", kernel_digest)

    @property
    def own_identity(self) -> dict[str, str]:
        return {"kernel": str(vars(self)["kernel_digest"])}


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is the whole search path."""
    monkeypatch.setattr("netwarp.engines.programs.SEARCH_PATH", str(tmp_path))
    (tmp_path / "ldd").symlink_to("/usr/bin/ldd")
    for name in ("curl", "httpd", "other"):
        write(tmp_path / name, "1")
    return tmp_path


def write(path: Path, version: str) -> None:
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)


def scenario(tool: str, tail: str = "") -> Scenario:
    return parse_scenario(replaced(('tool = "bulk"', tool), tail=tail))


def names(of: Scenario) -> set[str]:
    return {name.removeprefix("program ") for name in program_digests(of)}


def test_a_scenario_of_built_in_flows_starts_no_program(programs: Path) -> None:
    assert program_digests(scenario('tool = "bulk"')) == {}


def test_programs_of_all_points_are_found(programs: Path) -> None:
    script = programs / "script.py"
    script.write_text("print()")
    tool = f'tool = "command"\nclient = ["curl", "-o", "{script}", "/no/such/file"]\nserver = ["httpd"]\n'
    swept = '[sweep]\n"flows.bulk.client" = [["curl"], ["other", "curl"], ["missing"]]\n'
    assert names(scenario(tool)) == {"curl", "httpd", str(script), "/bin/sh"}
    assert names(scenario(tool, swept)) == {"curl", "httpd", "other", str(script), "/bin/sh"}
    case = '[[cases]]\nname = "real"\nset = { "flows.bulk.client" = ["other"] }\n'
    assert names(scenario(tool, case)) == {"curl", "httpd", "other", str(script), "/bin/sh"}


def test_what_interprets_a_script_counts(programs: Path) -> None:
    script = programs / "gen"
    script.write_text("#!/usr/bin/env -S other -x\n")
    script.chmod(0o755)
    tool = 'tool = "command"\nclient = ["gen"]\n'
    assert names(scenario(tool)) == {"gen", "/usr/bin/env", "other"}
    before = program_digests(scenario(tool))
    write(programs / "other", "22")
    assert program_digests(scenario(tool))["program other"] != before["program other"]


def test_files_that_iperf3_is_given_count(programs: Path) -> None:
    """The program itself is netwarp's own, whatever the host has."""
    payload = programs / "payload"
    payload.write_text("x")
    given = scenario(f'tool = "iperf3"\nargs = ["-F", "{payload}"]')
    assert names(given) == {str(payload)}
    assert program_names(given) == ["iperf3"], "on machines of an inventory it is theirs"


def test_the_compiler_of_a_filter_is_named_where_there_is_one() -> None:
    capture = '[record]\ncaptures = [{{ at = "access:h1"{} }}]\n'
    assert program_names(scenario('tool = "bulk"', capture.format(""))) == []
    filtered = scenario('tool = "bulk"', capture.format(', filter = "icmp"'))
    assert program_names(filtered) == ["tcpdump"] and program_digests(filtered) == {}
    swept = '[sweep]\n"record.captures" = [[], [{ at = "access:h1", filter = "icmp" }]]\n'
    assert program_names(scenario('tool = "bulk"', swept)) == ["tcpdump"]


def test_another_program_is_another_run(programs: Path) -> None:
    real, engine = scenario('tool = "command"\nclient = ["curl"]'), Engine()
    before = identity_of(engine, real)
    assert set(before) == {"kernel", "netwarp", "program curl", "program /bin/sh"}
    assert differing(engine, before) == []
    first = make_plan(real, identity=before)
    write(programs / "curl", "22")
    assert differing(engine, before) == ["curl"]
    second = make_plan(real, identity=identity_of(engine, real))
    assert first.id != second.id
    assert first.runs[0].id != second.runs[0].id
    (programs / "curl").unlink()
    assert differing(engine, before) == ["curl"]
    assert program_digests(real) == {}
    assert differing(Engine("l"), before) == ["curl", "kernel"]


def test_the_environment_of_the_caller_decides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a lab there are no LD_PRELOAD, no LD_LIBRARY_PATH and no PATH but its own."""
    real = scenario('tool = "command"\nclient = ["iperf3", "-v"]')
    before = (program_digests(real), tools_digest(), libraries_digest(Path("/bin/sh")))
    assert set(before[0]) == {"program iperf3"}
    for name in ("tc", "iperf3", "tcpdump", "ldd"):
        write(tmp_path / name, "other")
    (library,) = Path("/usr/lib/x86_64-linux-gnu").glob("libiperf.so.0")
    (tmp_path / library.name).write_bytes(library.read_bytes() + b"\n")
    for path in ("/nonexistent", str(tmp_path)):
        monkeypatch.setenv("PATH", path)
        monkeypatch.setenv("LD_PRELOAD", str(tmp_path / library.name))
        monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
        monkeypatch.setenv("TC_LIB_DIR", str(tmp_path))
        _forget()
        assert (program_digests(real), tools_digest(), libraries_digest(Path("/bin/sh"))) == before


def test_netwarps_own_programs_are_all_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_tools().joinpath("tc/normal.dist").is_file()
    monkeypatch.setattr("netwarp.engines.tools.find_tools", lambda: tmp_path)
    found = set()
    for name, text in {"tc/normal.dist": "1 2 3", "lib/libc.so.6": "1 2 3", "programs/tc": "4"}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
        found.add(tools_digest())
    assert len(found) == 3
    (tmp_path / "tc" / "normal.dist").write_text("1 2 3 4")
    assert tools_digest() not in found


def test_missing_programs_of_netwarps_own_are_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netwarp.engines.tools.find_spec", lambda name: None)
    find_tools.cache_clear()
    with pytest.raises(EngineError, match="are missing: in a checkout `make setup` installs them; elsewhere"):
        find_tools()


@pytest.mark.parametrize("name", ["tc", "iperf3", "tcpdump"])
def test_netwarps_own_programs_start_with_their_own_libraries_alone(name: str) -> None:
    place = find_tools()
    words: list[str | Path] = [
        place / "bin" / name,
        "--inhibit-cache",
        "--library-path",
        place / "lib",
        "--argv0",
        name,
    ]
    answer = subprocess.run(
        [*words, place / "programs" / name, "-V"], capture_output=True, text=True, check=False, env={}
    )
    assert name in answer.stdout + answer.stderr or "iperf 3." in answer.stdout
    answer = subprocess.run(
        [*words[:4], "--list", place / "programs" / name], capture_output=True, text=True, check=True, env={}
    )
    loaded = re.findall(r"=> (/\S+)", answer.stdout)
    assert loaded and all(Path(path).is_relative_to(place) for path in loaded if "ld-linux" not in path), answer.stdout


def test_the_libraries_of_a_program_count() -> None:
    """iperf3's own file hardly changes from version to version: most of it is in libiperf."""
    from netwarp.engines.programs import _libraries

    iperf3 = find_program("iperf3")
    assert iperf3 is not None and str(iperf3.parent) in SEARCH_PATH.split(":")
    found = {library.name for library in _libraries(iperf3)}
    assert {"libiperf.so.0", "libc.so.6", "ld-linux-x86-64.so.2"} <= found


@pytest.mark.parametrize("name", ["tc", "iperf3", "tcpdump", "sh", "python3", "ldconfig", "ldd"])
def test_libraries_are_those_that_ldd_names(name: str) -> None:
    """Programs with libraries, one without (ldconfig), and a script, which the loader does not load."""
    program = find_program(name)
    assert program is not None
    answer = subprocess.run(["ldd", program], capture_output=True, text=True, check=False, env={"PATH": SEARCH_PATH})
    named = [word for word in answer.stdout.split() if word.startswith("/")] if answer.returncode == 0 else []
    assert [str(path) for path in programs_._libraries(program)] == named


def _forget() -> None:
    """Earlier findings must not replace present ones."""
    programs_._loaded.cache_clear()
    programs_._content.cache_clear()
