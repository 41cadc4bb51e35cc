"""The wheels of a release: `make dist` builds them in a root of Debian 12, twice, compares the bytes, and checks them.

`python -m tools.dist` takes the last commit of this checkout. The root has the packages in packaging/root.txt and this
machine's Rust. In dist/ it leaves the wheels, SHA256SUMS, and the sources that licences ask for. Exit code 0: a release
can be made of them; 1: not, and why.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tools.dist.check import problems
from tools.dist.programs import MIRROR, DistError, debian_mirror, packages_cache, read_pins
from tools.dist.root import Root, make_root
from tools.dist.sources import collect
from tools.dist.wheels import ROOT

PACKAGES = (
    *("python3", "python3-venv", "gcc", "libc6-dev", "make", "flex", "bison", "bc", "libelf-dev", "libssl-dev"),
    *("xz-utils", "patch", "linux-source-6.12"),
)
PINNED = ROOT / "packaging/root.txt"
"""The packages of the root: `NAME VERSION`, a line each."""

_RUST = "/opt/rust"
_PLACE = "/home/user/netwarp"
_PREPARE = """
python3 -m venv .venv
.venv/bin/pip install --quiet --require-hashes -r requirements.lock
.venv/bin/python -m venv ../checks
../checks/bin/pip install --quiet twine
"""
_BUILD = """
rm -rf target dist ../cache
export PATH="$PWD/.venv/bin:$PATH"
RUSTFLAGS='-C target-feature=+crt-static' maturin build --quiet --release --locked --strip \
  --target x86_64-unknown-linux-gnu --out dist
python -m tools.dist.wheels dist/netwarp-*.whl
pip install --quiet --no-deps --force-reinstall dist/netwarp-*.whl
python -m tools.dist.programs --out dist
XDG_CACHE_HOME=$HOME/cache netwarp kernel build
python -m tools.dist.kernel --kernel "$(dirname "$HOME"/cache/netwarp/kernels/*/kernel.json)" --out dist
"""

_TRY = """
.venv/bin/pip install --quiet --no-index --no-deps --force-reinstall dist/*.whl
.venv/bin/netwarp self-test | tee ../self-test.txt
grep -q "bytes that they should have" ../self-test.txt
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, compare, check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="directory of the wheels")
    parser.add_argument("--once", action="store_true", help="do not build a second time")
    parser.add_argument("--pin", action="store_true", help=f"write the root's packages into {PINNED.name}")
    given = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory(prefix="netwarp-dist-") as place:
            found = [*_release(Path(place) / "root", given.out, once=given.once, pin=given.pin)]
    except DistError as error:
        found = [str(error)]
    for what in found:
        print(f"✗ {what}", file=sys.stderr)
    return 1 if found else 0


def _release(place: Path, out: Path, *, once: bool, pin: bool) -> list[str]:
    root = _made(place, pin=pin)
    rust = Path(_output("rustc", "--print", "sysroot"))
    environment = {
        "PATH": f"{_RUST}/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        MIRROR: debian_mirror(),
        "CARGO_HTTP_CAINFO": "/etc/machine-certificates.crt",
        "SOURCE_DATE_EPOCH": _output("git", "-C", str(ROOT), "log", "-1", "--format=%ct"),
    }

    def step(name: str, script: str) -> None:
        begin = time.monotonic()
        words = ("bash", "-euo", "pipefail", "-c", script)
        done = root.run(*words, directory=_PLACE, environment=environment, binds={rust: _RUST})
        if done.returncode != 0:
            raise DistError(f"{name} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        print(f"{name}: {time.monotonic() - begin:.0f} s", flush=True)

    step("Python packages", _PREPARE)
    built = []
    for number in (1,) if once else (1, 2):
        step(f"build {number}", _BUILD)
        built.append(digests(root.home / "netwarp/dist"))
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(root.home / "netwarp/dist", out)
    (out / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in built[0].items()))
    found = [f"two builds differ: {name}" for name in built[0] if built[0][name] != built[-1].get(name)]
    found += problems(out, {"/home/user": "a path of the build", str(ROOT): "a path of this machine"})
    step("twine check", "../checks/bin/twine check --strict dist/*.whl")
    step("netwarp self-test", _TRY)
    source = next((root.path / "usr/src").glob("linux-source-*.tar.xz"))
    found += [f"no source of {what}" for what in collect(read_pins(), source, out / "sources", packages_cache())]
    for path in sorted(out.glob("*.whl")):
        print(f"{path.stat().st_size / 1e6:6.2f} MB  {built[0][path.name][:16]}  {path.name}")
    return found


def _made(place: Path, *, pin: bool) -> Root:
    """The root with the last commit in it. Raises DistError if its packages are not those that are pinned."""
    begin = time.monotonic()
    root = make_root(place, "bookworm", PACKAGES)
    listed = root.run(
        "dpkg-query", "--show", "--showformat", "${Package} ${Version}\\n", root=True, directory="/"
    ).stdout
    if pin:
        PINNED.write_text(listed)
    elif listed != PINNED.read_text():
        changed = sorted(set(listed.splitlines()) ^ set(PINNED.read_text().splitlines()))
        raise DistError(f"The root has other packages than {PINNED.name}, so other bytes: {', '.join(changed)} (--pin)")
    with tempfile.NamedTemporaryFile(suffix=".tar") as archive:
        _output("git", "-C", str(ROOT), "archive", "-o", archive.name, "HEAD")
        checkout = root.home / "netwarp"
        checkout.mkdir()
        _output("tar", "-xf", archive.name, "-C", str(checkout))
    _output("chown", "-R", "1000:1000", str(root.home))
    print(f"root of Debian 12: {time.monotonic() - begin:.0f} s", flush=True)
    return root


def digests(directory: Path) -> dict[str, str]:
    """SHA-256 (hex) of each wheel in a directory, by its name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(directory.glob("*.whl"))}


def _output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DistError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
