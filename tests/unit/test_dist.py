"""The wheels of a release, without building one: the same bytes twice, and the checks before a release."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from netwarp.engines.tools import PACKAGE
from netwarp.kernels.development import KERNEL_PACKAGE, PACKED
from netwarp.kernels.development import PACKAGE as DEVELOPMENT_PACKAGE

from tools.dist.check import NAMES, problems
from tools.dist.kernel import kernel_wheels
from tools.dist.programs import DistError, Pin, SourceFile, read_pins, tools_wheel, unpacked
from tools.dist.sources import collect_packages
from tools.dist.wheels import LINUX, File, Wheel, for_every_libc, netwarp_version

STATIC = "netwarp-0.data/scripts/netwarp-agent"


def a_wheel(name: str, files: dict[str, File]) -> Wheel:
    return Wheel(name, "Files", "MIT", files, {"MIT": b"text"})


def a_package(files: dict[str, bytes], links: dict[str, str] | None = None) -> bytes:
    """A .deb as dpkg-deb makes it, without its control archive."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:xz") as archive:
        for path, content in files.items():
            info = tarfile.TarInfo(f"./{path}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for path, target in (links or {}).items():
            info = tarfile.TarInfo(f"./{path}")
            info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info)
    members = {"debian-binary": b"2.0", "data.tar.xz": data.getvalue()}
    return b"!<arch>\n" + b"".join(
        f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode() + content + b"\n" * (len(content) % 2)
        for name, content in members.items()
    )


@pytest.mark.slow
def test_the_same_files_are_the_same_wheel_which_pip_installs_with_their_modes(tmp_path: Path) -> None:
    files = {"an_example/__init__.py": File(b""), "an_example/run": File(b"#!/bin/sh\necho works\n", True)}
    wheel = a_wheel("an-example", files)
    one, other = wheel.write(tmp_path / "one"), wheel.write(tmp_path / "other")
    assert one.name == other.name and one.read_bytes() == other.read_bytes()
    place = tmp_path / "installed"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--target",
        str(place),
        str(one),
    ]
    subprocess.run(pip, check=True)
    done = subprocess.run([place / "an_example/run"], capture_output=True, text=True, check=True)
    assert done.stdout == "works\n"
    metadata = (place / f"an_example-{netwarp_version()}.dist-info/METADATA").read_text()
    assert "License-Expression: MIT" in metadata and "License-File: MIT" in metadata


@pytest.mark.slow
def test_a_wheel_of_static_programs_installs_with_any_libc(tmp_path: Path) -> None:
    """pip checks the digests in RECORD as it installs, and the tags in WHEEL agree with the name."""
    wheel = a_wheel("an-example", {"an_example/__init__.py": File(b""), "an_example/run": File(b"#!/bin/sh\n", True)})
    written = wheel.write(tmp_path)
    built = written.rename(tmp_path / written.name.replace(LINUX, "manylinux_2_5_x86_64"))
    new = for_every_libc(built)
    assert [path.name for path in tmp_path.iterdir()] == [new.name] == [written.name]
    for platform in ("manylinux_2_17_x86_64", "musllinux_1_1_x86_64"):
        place = tmp_path / platform
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*pip, f"--platform={platform}", f"--target={place}", new], check=True)
        said = (place / f"an_example-{netwarp_version()}.dist-info/WHEEL").read_text()
        assert f"Tag: py3-none-{platform}\n" in said
        assert os.access(place / "an_example/run", os.X_OK)


def test_the_files_of_a_package_are_found_by_path_or_as_another_version_of_a_library() -> None:
    files = {"usr/lib/libx.so.1.2": b"library", "sbin/tc": b"program", "usr/share/doc/x/copyright": b"licence"}
    package = a_package(files, {"usr/lib/libx.so.1": "libx.so.1.2"})
    pin = Pin("x", "1", "", "x=1", {"lib/libx.so.1": "usr/lib/libx.so.1.1", "programs/tc": "sbin/tc"})
    wheel = tools_wheel({"x": package}, [pin])
    assert wheel.files[f"{PACKAGE}/lib/libx.so.1"].content == b"library"
    assert wheel.files[f"{PACKAGE}/programs/tc"] == File(b"program", program=True)
    assert wheel.licences == {"x": b"licence"}
    assert wheel.parts == (("x", "1", hashlib.sha256(package).hexdigest()),), "what the version really is"
    with pytest.raises(DistError, match=r"The package x has no sbin/ip: correct programs\.toml"):
        tools_wheel({"x": package}, [Pin("x", "1", "", "x=1", {"programs/ip": "sbin/ip"})])
    with pytest.raises(DistError, match="does not begin as one"):
        unpacked(b"<html>")


def test_each_library_of_the_programs_is_pinned_with_its_source() -> None:
    pins = read_pins()
    places = [place for pin in pins for place in pin.files]
    assert len(places) == len(set(places))
    for name in ("tc", "iperf3", "tcpdump"):
        assert {f"bin/{name}", f"programs/{name}"} <= set(places)
    assert all(len(pin.sha256) == 64 and "=" in pin.source for pin in pins)


def test_a_kernels_wheels_are_where_netwarp_looks_for_them(tmp_path: Path) -> None:
    for name in ("linux", "config", "description.json", PACKED):
        (tmp_path / name).write_text(name)
    facts = {"version": "6.12.1-netwarp", "key": "k", "source_digest": "s", "tree_digest": "t", "compiler": "gcc"}
    (tmp_path / "kernel.json").write_text(str(facts).replace("'", '"'))
    kernel, development = kernel_wheels(tmp_path)
    assert kernel.files[f"{KERNEL_PACKAGE}/linux"].program
    assert set(development.files) == {f"{DEVELOPMENT_PACKAGE}/__init__.py", f"{DEVELOPMENT_PACKAGE}/{PACKED}"}
    assert development.requires == (f"netwarp-kernel=={netwarp_version()}",)
    assert "GPL-2" in kernel.licences


def test_what_must_not_be_released_is_named(tmp_path: Path) -> None:
    for name in NAMES:
        a_wheel(name.replace("_", "-"), {"file": File(b"x")}).write(tmp_path)
    assert list(problems(tmp_path, {})) == []
    dynamic = Path("/bin/sh").read_bytes()
    bad = {STATIC: File(dynamic, True), "x/y.so": File(dynamic), "z": File(b"at /home/me")}
    Wheel("netwarp", "", "MIT", bad).write(tmp_path)
    found = "\n".join(problems(tmp_path, {"/home/me": "a path"}))
    assert f"{STATIC} loads libraries of the machine" in found
    assert "x/y.so is a program that is not expected there" in found
    assert "z has a path in it: /home/me" in found
    assert "it has no licence" in found
    (wheel,) = tmp_path.glob("netwarp_tools-*.whl")
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("large", b"x" * 9_000_000)
    assert f"{wheel.name} has 9.0 MB, more than 8" in "\n".join(problems(tmp_path, {}))
    wheel.unlink()
    assert "there is no wheel of netwarp_tools" in list(problems(tmp_path, {}))


class PoorMirror:
    """A mirror of Debian whose index lists files that it does not all have."""

    def __init__(self, has: dict[str, bytes], lists: dict[str, dict[str, bytes]]) -> None:
        self.has, self.lists, self.fetched = has, lists, list[str]()

    def source_files(self, source: str) -> list[SourceFile]:
        if source not in self.lists:
            raise DistError(f"E: Unable to find a source package for {source}")
        digest = {name: hashlib.sha256(content).hexdigest() for name, content in self.lists[source].items()}
        return [SourceFile(f"https://mirror/{name}", name, digest[name]) for name in self.lists[source]]

    def fetch(self, file: SourceFile, place: Path) -> None:
        self.fetched.append(file.name)
        if file.name not in self.has:
            raise DistError(f"E: Failed to fetch {file.address}  404  Not Found")
        place.write_bytes(self.has[file.name])


def test_a_source_that_the_mirror_has_lost_is_named_and_taken_from_elsewhere_if_it_is_the_same(tmp_path: Path) -> None:
    pins = [Pin(name, "1", "", source, {}) for name, source in (("tc", "iproute2=6"), ("libmnl0", "libmnl=1:1.0"))]
    mirror = PoorMirror(
        {"iproute2_6.tar.xz": b"tc", "libmnl_1.0.dsc": b"dsc"},
        {"iproute2=6": {"iproute2_6.tar.xz": b"tc"}, "libmnl=1:1.0": {"libmnl_1.0.dsc": b"dsc", "libmnl.tar": b"mnl"}},
    )
    kept, out = tmp_path / "kept", tmp_path / "sources"
    out.mkdir()
    (missing,) = collect_packages(pins, mirror, out, kept)
    assert missing.startswith("libmnl=1:1.0: https://mirror/libmnl.tar cannot be fetched. Put libmnl.tar with")
    assert hashlib.sha256(b"mnl").hexdigest() in missing and str(kept) in missing

    (kept / "libmnl.tar").write_bytes(b"something else")
    assert len(list(collect_packages(pins, mirror, out, kept))) == 1
    (kept / "libmnl.tar").write_bytes(b"mnl")
    mirror.fetched.clear()
    assert list(collect_packages(pins, mirror, out, kept)) == []
    assert mirror.fetched == [], "what was fetched once is kept"
    there = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert there == {
        "iproute2_6/iproute2_6.tar.xz": b"tc",
        "libmnl_1%3a1.0/libmnl.tar": b"mnl",
        "libmnl_1%3a1.0/libmnl_1.0.dsc": b"dsc",
    }


def test_a_source_with_other_bytes_or_without_files_is_not_taken(tmp_path: Path) -> None:
    pins = [Pin(name, "1", "", f"{name}=1", {}) for name in ("other", "empty", "unknown")]
    mirror = PoorMirror({"other.tar": b"changed"}, {"other=1": {"other.tar": b"as listed"}, "empty=1": {}})
    empty, other, unknown = collect_packages(pins, mirror, tmp_path, tmp_path / "kept")
    assert "lists no file" in empty and "another SHA-256" in other and "Unable to find" in unknown
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
