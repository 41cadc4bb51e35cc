"""The archive for a classroom: its requirements of each Python, its content, and its script's refusals."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tools.dist.check import NAMES
from tools.dist.classroom import FILES, PYTHONS, pack, requirements
from tools.dist.programs import DistError
from tools.dist.wheels import ROOT, netwarp_version

LOCK = """\
# written by uv
maturin==1.7 \\
    --hash=sha256:cc
numpy==2.4.6 ; python_full_version < '3.12' \\
    --hash=sha256:aa \\
    --hash=sha256:bb
    # via matplotlib
numpy==2.5.5 ; python_full_version >= '3.12' \\
    --hash=sha256:dd
rich==15.0
"""


def test_each_python_gets_the_versions_that_the_lock_has_for_it() -> None:
    assert list(requirements(LOCK, "3.11")) == ["numpy==2.4.6 --hash=sha256:aa --hash=sha256:bb", "rich==15.0"]
    assert list(requirements(LOCK, "3.14")) == ["numpy==2.5.5 --hash=sha256:dd", "rich==15.0"]
    for python in PYTHONS:
        asked = list(requirements((ROOT / "requirements.lock").read_text(), python))
        names = [one.partition("==")[0] for one in asked]
        assert len(names) == len(set(names)) and {"numpy", "polars", "pydantic"} <= set(names)
        assert all(" --hash=sha256:" in one for one in asked)


@pytest.fixture
def wheels(tmp_path: Path) -> list[Path]:
    made = [tmp_path / f"{name}-{netwarp_version()}-py3-none-any.whl" for name in NAMES]
    for path in made:
        path.write_text(path.name)
    return made


def test_the_same_wheels_are_the_same_archive_with_the_script_and_what_it_reads(
    wheels: list[Path], tmp_path: Path
) -> None:
    other = tmp_path / "numpy-2.whl"
    other.touch()
    one, again = (pack(wheels, [other], ("3.11", "3.12"), tmp_path / place) for place in ("a", "b"))
    assert one.read_bytes() == again.read_bytes()
    with tarfile.open(one) as archive:
        names = archive.getnames()
        root = f"netwarp-classroom-{netwarp_version()}"
        pythons = archive.extractfile(f"{root}/pythons.txt")
        assert pythons is not None and pythons.read() == b"3.11\n3.12\n"
    wanted = [
        *(path.name for path in FILES.iterdir()),
        "pythons.txt",
        *(f"wheels/{path.name}" for path in [*wheels, other]),
    ]
    assert names == sorted(f"{root}/{name}" for name in wanted)
    with pytest.raises(DistError, match="There is no wheel of netwarp_tools"):
        pack([path for path in wheels if "tools" not in path.name], [], ("3.11",), tmp_path)


def test_another_python_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / "pythons.txt").write_text("3.98\n3.99\n")
    script = tmp_path / "install.sh"
    script.write_bytes((FILES / "install.sh").read_bytes())
    done = subprocess.run(
        ["sh", script, tmp_path / "netwarp"],
        env={"PATH": "/usr/bin:/bin", "PYTHON": sys.executable, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    here = ".".join(map(str, sys.version_info[:2]))
    assert f"is Python {here}, and there are wheels for 3.98 3.99 here" in done.stderr
    assert not (tmp_path / "netwarp").exists()
