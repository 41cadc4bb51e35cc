"""The kernel of the wheels: found without a build where it fits, and never changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from netwarp.kernels import KernelError, KernelMissing, find_kernel, list_kernels
from netwarp.kernels.cache import Kernel, digest_of, packaged_kernel, remove, write_facts
from netwarp.kernels.development import KERNEL_PACKAGE, PACKAGE, PACKED, pack, unpacked
from netwarp.kernels.recipe import tree_digest
from netwarp.steps import doctor


def a_kernel(directory: Path, key: str, tree: str) -> Kernel:
    directory.mkdir(parents=True)
    (directory / "linux").write_text("#!/bin/sh\n")
    kernel = Kernel(directory / "linux", digest_of(directory / "linux"), "6.12.1-netwarp", key, tree, "source", "gcc")
    write_facts(kernel, directory)
    return kernel


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory of installed packages."""
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    packaged_kernel.cache_clear()
    yield tmp_path / "site"
    packaged_kernel.cache_clear()


def test_it_is_found_where_nothing_was_built_if_its_changes_are_those_of_netwarp(site: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    kernel = a_kernel(site / KERNEL_PACKAGE, "0123456789abcdef", tree_digest())
    assert find_kernel(cache=cache) == find_kernel("0123", cache=cache) == kernel
    other = a_kernel(cache / "fedcba9876543210", "fedcba9876543210", "another tree")
    assert find_kernel(cache=cache) == kernel
    assert list_kernels(cache) == [kernel, other]
    with pytest.raises(KernelError, match="is not in the cache"):
        remove("0123456789abcdef", cache=cache)
    assert kernel.path.is_file()


def test_one_of_another_version_of_netwarp_is_not_used(site: Path, tmp_path: Path) -> None:
    a_kernel(site / KERNEL_PACKAGE, "0123456789abcdef", "another tree")
    with pytest.raises(KernelMissing, match="other options or changes"):
        find_kernel(cache=tmp_path / "cache")


def test_its_development_files_are_a_package_of_their_own(site: Path, tmp_path: Path) -> None:
    kernel = a_kernel(site / KERNEL_PACKAGE, "0123456789abcdef", tree_digest())
    place = tmp_path / "development"
    with pytest.raises(KernelError, match=r"Install them: `pip install netwarp\[modules\]`"):
        unpacked(kernel.directory, kernel.key, place)
    tree = tmp_path / "tree"
    (tree / "include").mkdir(parents=True)
    (tree / "include" / "x.h").write_text("int x;\n")
    (site / PACKAGE).mkdir()
    pack(tree, site / PACKAGE)
    assert (site / PACKAGE / PACKED).is_file()
    assert (unpacked(kernel.directory, kernel.key, place) / "include" / "x.h").read_text() == "int x;\n"


def test_with_it_no_compiler_is_asked_for(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_kernel(site / KERNEL_PACKAGE, "0123456789abcdef", tree_digest())
    monkeypatch.setattr(doctor, "_CHECKOUT", tmp_path)
    names = {entry.name for entry in doctor.diagnose(environ={"HOME": str(tmp_path)})}
    assert "kernel" in names and "tools" in names
    assert not names & {"gcc", "flex", "libelf.h", "kernel source", "cargo"}
