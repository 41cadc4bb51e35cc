"""Output: at any width and in any encoding, nothing is cut off and nothing raises."""

from __future__ import annotations

import io
import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from netwarp.cli.common import write_json
from netwarp.common.terminal import Terminal
from netwarp.common.words import tolerate
from rich.table import Table
from rich.text import Text

NETWARP = str(Path(sys.executable).parent / "netwarp")
NUMBERS = ("12345.678", "65.4321", "987654321", "[12.5, 99.75]")


def printed(width: int) -> str:
    table = Table(title=Text("a title"), caption=Text("a caption"))
    for heading in ("links bottleneck queue", "goodput\nMbit/s", "retrans-\nmits", "bytes", "interval"):
        table.add_column(heading)
    table.add_row(Text("pfifo limit 100 and more words"), *NUMBERS, style="red")
    table.add_row(Text("red"), "1", "2", "3", "4")
    out = io.StringIO()
    Terminal(file=out, force_terminal=True, width=width, color_system=None).print(table)
    return out.getvalue()


@pytest.mark.parametrize("width", [20, 30, 40, 50, 60, 70, 80, 100, 200])
def test_no_width_cuts_a_number(width: int) -> None:
    text = printed(width)
    assert "…" not in text
    for number in ("12345.678", "65.4321", "987654321", "12.5", "99.75"):
        assert number in text, (width, text)
    assert all(len(line) <= width for line in text.splitlines())
    assert "a title" in text
    assert "caption" in text


def test_a_narrow_table_is_printed_row_by_row() -> None:
    lines = [line.split() for line in printed(40).splitlines()]
    assert ["goodput", "Mbit/s", "12345.678"] in lines
    assert ["retransmits", "65.4321"] in lines


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8", "cp1252"])
def test_no_encoding_is_a_fault(encoding: str) -> None:
    held = io.BytesIO()
    stream = io.TextIOWrapper(held, encoding=encoding)
    tolerate(stream)
    Terminal(file=stream, width=200).print("✓ – … → 漢 \udcff")
    stream.flush()
    text = held.getvalue().decode(encoding)
    assert text.rstrip().endswith("\\xff"), "a byte of a path that is not text is shown as a byte"
    if encoding in ("latin-1", "ascii"):
        assert text.startswith("ok - ... -> \\u6f22")


def test_json_is_utf_8_everywhere(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    write_json(json.dumps({"a": "漢\udcff"}, ensure_ascii=False))
    out, _ = capfdbinary.readouterr()
    assert json.loads(out.decode("utf-8")) == {"a": "漢\udcff"}


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["list"], ["show", "bufferbloat"], ["--help"], ["run", "no such ✓"]])
def test_commands_print_in_latin_1(arguments: list[str]) -> None:
    environment = {"PYTHONIOENCODING": "latin-1", "PATH": "/usr/bin:/bin"}
    done = subprocess.run([NETWARP, *arguments], env=environment, capture_output=True, check=False, timeout=300)
    assert b"Traceback" not in done.stderr
    assert done.returncode == (2 if arguments[0] == "run" else 0)


@pytest.mark.parametrize("megabytes", [500, 1000, 2000])
@pytest.mark.slow
def test_too_little_address_space_is_a_sentence(megabytes: int) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    done = subprocess.run([NETWARP, "list"], preexec_fn=limit, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 4
    assert done.stderr.startswith("error: this shell limits processes to")
    assert "ulimit -v" in done.stderr
    assert "Traceback" not in done.stderr
