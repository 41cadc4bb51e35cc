"""Kernels are built once, completely or not at all; a fake `make` replaces the compiler."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from kernel_workshop import PATCH, Workshop, open_workshop, wait_for
from netwarp import kernels
from netwarp.common.scratch import held
from netwarp.kernels import (
    BuildFailed,
    CannotBuild,
    KernelError,
    KernelMissing,
    SourceMissing,
    find_kernel,
    list_kernels,
)
from netwarp.kernels import cache as cache_module
from netwarp.kernels.recipe import Recipe, options_of, patches_of, tree_digest, unmet_options
from netwarp.kernels.source import find_source, read_source


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    return open_workshop(tmp_path, monkeypatch)


def test_a_built_kernel_is_changed_configured_and_kept(workshop: Workshop) -> None:
    kernel = workshop.build()
    assert kernel.path == workshop.cache / kernel.key / "linux"
    assert kernel.path.read_text() == "hello, world\nadded\nCONFIG_TINY=y\n\nCONFIG_A=y\n# CONFIG_B is not set\n"
    assert kernel.version == "6.12.0-netwarp"
    assert kernel.digest == cache_module.digest_of(kernel.path)
    assert "CONFIG_A=y" in kernel.config.read_text()
    assert workshop.leftovers() == []
    assert not list(workshop.cache.glob("*.log"))
    assert "Compiling the kernel (-j2)" in workshop.output()


def test_a_built_kernel_describes_what_was_compiled(workshop: Workshop) -> None:
    known = workshop.build().description
    assert known.version == "6.12.0-netwarp"
    assert known.drop_reasons == ("not_dropped", "consumed", "not_specified", "qdisc_drop")
    assert known.qdiscs == ("fast", "red"), "not what is not registered, nor what was not compiled"
    assert known.congestion_controls == ("mine",)
    layout = [(field.name, field.type, field.offset_bytes, field.bits) for field in known.tcp_info]
    assert layout == [
        ("state", "u8", 0, None),
        ("snd_wscale", "u8", 1, 4),
        ("rcv_wscale", "u8", 1, 4),
        ("rto", "u32", 4, None),
        ("pacing_rate", "u64", 8, None),
        ("total_rto", "u16", 16, None),
    ]


def test_a_kernel_without_its_description_says_what_to_do(workshop: Workshop) -> None:
    kernel = workshop.build()
    (kernel.directory / "description.json").write_text("{}")
    with pytest.raises(KernelError, match=r"does not describe the kernel.*`netwarp kernel remove"):
        _ = find_kernel(kernel.key, cache=workshop.cache).description


def test_a_second_build_takes_the_first_from_the_cache(workshop: Workshop) -> None:
    assert workshop.build() == workshop.build()
    assert workshop.builds() == 1


def test_a_damaged_kernel_is_built_again(workshop: Workshop) -> None:
    kernel = workshop.build()
    content = kernel.path.read_bytes()
    os.truncate(kernel.path, 3)
    assert workshop.build() == kernel
    assert kernel.path.read_bytes() == content
    assert workshop.count.read_text().count("run") == 2


@pytest.mark.slow
def test_the_same_recipe_gives_the_same_bytes(workshop: Workshop) -> None:
    first = workshop.build()
    kernels.remove(first.key, cache=workshop.cache)
    assert workshop.build().digest == first.digest
    assert workshop.builds() == 2


def test_the_key_follows_every_input(workshop: Workshop) -> None:
    def key() -> str:
        source = read_source(workshop.archive, workshop.cache)
        return Recipe(source.digest, tree_digest(workshop.tree), "gcc 12").key

    keys = [key()]
    workshop.pack("other\n")
    keys.append(key())
    (workshop.tree / "netwarp.config").write_text("CONFIG_A=y\n")
    keys.append(key())
    (workshop.tree / "6.12" / "patches" / "0001-hello.patch").write_text(PATCH + "\n")
    keys.append(key())
    (workshop.tree / "6.12" / "patches" / "0002-more.patch").write_text(PATCH)
    keys.append(key())
    for folder in ("upstream", "common", "6.12/upstream"):
        (workshop.tree / folder).mkdir()
        (workshop.tree / folder / f"{len(keys)}-more.patch").write_text(PATCH)
        keys.append(key())
    (workshop.tree / "files" / "added.txt").write_text("changed\n")
    keys.append(key())
    (workshop.tree / "files" / "added.txt").rename(workshop.tree / "files" / "renamed.txt")
    keys.append(key())
    assert len(set(keys)) == len(keys)
    assert Recipe("s", "t", "gcc 12").key != Recipe("s", "t", "gcc 13").key


def test_the_digest_of_a_source_is_remembered_until_it_changes(workshop: Workshop) -> None:
    first = read_source(workshop.archive, workshop.cache)
    status = workshop.archive.stat()
    content = workshop.archive.read_bytes()
    workshop.archive.write_bytes(b"x" * len(content))
    os.utime(workshop.archive, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert read_source(workshop.archive, workshop.cache) == first
    os.utime(workshop.archive, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert read_source(workshop.archive, workshop.cache) != first


def test_the_newest_packaged_source_of_the_series_is_found(tmp_path: Path) -> None:
    for version in ("6.1", "6.12", "6.12.9", "6.12.10", "6.13"):
        (tmp_path / f"linux-source-{version}.tar.xz").touch()
    assert find_source(environ={}, packaged=tmp_path).name == "linux-source-6.12.10.tar.xz"
    named = tmp_path / "linux-source-6.1.tar.xz"
    assert find_source(environ={"NETWARP_KERNEL_SOURCE": str(named)}, packaged=tmp_path) == named
    with pytest.raises(SourceMissing, match="by NETWARP_KERNEL_SOURCE, is not a file"):
        find_source(environ={"NETWARP_KERNEL_SOURCE": "/nowhere"}, packaged=tmp_path)
    with pytest.raises(SourceMissing, match=r"apt-get install linux-source-6\.12"):
        find_source(environ={}, packaged=tmp_path / "empty")
    newer = r"install linux-source-7\.2` \(docs/kernels\.md says where an older Debian finds it\), or name a source"
    with pytest.raises(SourceMissing, match=newer):
        find_source(series="7.2", environ={}, packaged=tmp_path)


def test_a_failed_build_names_the_error_and_leaves_only_its_log(workshop: Workshop) -> None:
    (workshop.state / "fail").touch()
    with pytest.raises(BuildFailed, match=r"compiling the kernel(?s:.)*a\.c:1: error: no such thing") as failure:
        workshop.build()
    log = next(workshop.cache.glob("build-*.log"))
    assert str(log) in str(failure.value)
    assert "  CC      a.o" in log.read_text()
    assert workshop.leftovers() == []
    assert list_kernels(workshop.cache) == []
    (workshop.state / "fail").unlink()
    workshop.build()
    assert not log.exists()


def test_an_option_that_is_not_honoured_stops_the_build_by_name(workshop: Workshop) -> None:
    (workshop.tree / "netwarp.config").write_text("CONFIG_A=y\nCONFIG_UNKNOWN=y\n")
    with pytest.raises(BuildFailed, match=r"does not honour.*: CONFIG_UNKNOWN=y\. Fix .*netwarp\.config"):
        workshop.build()
    assert workshop.leftovers() == []


def test_a_tree_that_changes_under_the_build_stops_it(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = iter(["before", "after"])
    monkeypatch.setattr("netwarp.kernels.recipe.tree_digest", lambda tree, series="6.12": next(digests))
    with pytest.raises(BuildFailed, match=r"changed while the kernel was being built from them\. Build again\."):
        workshop.build()
    assert workshop.leftovers() == []


def test_a_patch_that_does_not_apply_stops_the_build_by_name(workshop: Workshop) -> None:
    workshop.pack("something else\n")
    with pytest.raises(BuildFailed, match=r"applying 0001-hello\.patch(?s:.)*FAILED"):
        workshop.build()
    assert workshop.leftovers() == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_leaves_nothing_and_nothing_running(workshop: Workshop, number: signal.Signals) -> None:
    (workshop.state / "hang").touch()
    code = (
        "import sys, pathlib; from netwarp.kernels.build import build; p = pathlib.Path\n"
        "from netwarp.kernels import commands; from kernel_workshop import walls_of\n"
        "commands.confined = walls_of(p(sys.argv[2]).parents[2])\n"
        "build(p(sys.argv[1]), cache=p(sys.argv[2]), tree=p(sys.argv[3]))"
    )
    arguments = [str(workshop.archive), str(workshop.cache), str(workshop.tree)]
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stderr=subprocess.DEVNULL, env=env)
    wait_for(workshop.state / "hanging")
    process.send_signal(number)
    assert process.wait(timeout=20) != 0
    assert workshop.leftovers() == []
    assert not list(workshop.cache.glob("*.log"))
    # A kill takes effect when the killed process next runs: on a busy machine a system call in progress ends late.
    time.sleep(0.5)
    (workshop.state / "hanging").unlink()
    time.sleep(0.1)
    assert not (workshop.state / "hanging").exists(), "the compiler went on"


def test_what_a_killed_build_left_goes_at_the_next(workshop: Workshop) -> None:
    (workshop.cache / ".build-0123").mkdir(parents=True)
    (workshop.root / "tmp" / "netwarp-kernel-xyz" / "tree").mkdir(parents=True)
    workshop.build()
    assert workshop.leftovers() == []


def test_what_another_build_holds_stays(workshop: Workshop) -> None:
    place = workshop.root / "tmp" / "netwarp-kernel-held"
    place.mkdir()
    with held(place):
        workshop.build()
        assert place.exists()
    assert not place.exists()


def test_of_two_builds_at_once_the_second_waits_and_takes_the_result(workshop: Workshop) -> None:
    (workshop.state / "hang").touch()
    built: list[kernels.Kernel] = []
    threads = [threading.Thread(target=lambda: built.append(workshop.build())) for _ in range(2)]
    threads[0].start()
    wait_for(workshop.state / "hanging")
    threads[1].start()
    deadline = time.monotonic() + 20
    while "waiting for it to end" not in workshop.output() and time.monotonic() < deadline:
        time.sleep(0.01)
    (workshop.state / "hang").unlink()
    for thread in threads:
        thread.join(timeout=20)
    assert "Another kernel build is running" in workshop.output()
    assert built[0] == built[1]
    assert workshop.builds() == 1


def test_without_room_the_build_says_how_much_it_wants(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(workshop.root)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(CannotBuild, match=r"takes 1\.2 GB of room, and there is 0\.0 GB in .* set TMPDIR"):
        workshop.build()
    assert workshop.leftovers() == []


def test_a_cache_whose_path_has_a_space_builds_elsewhere(workshop: Workshop) -> None:
    workshop.cache = workshop.root / "a cache" / "netwarp" / "kernels"
    assert workshop.build().path.is_file()
    assert workshop.leftovers() == []


def test_a_missing_program_is_named(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(workshop.bin))
    with pytest.raises(CannotBuild, match=r"`gcc --version` does not run"):
        workshop.build()


def test_a_shared_kernel_can_be_read_by_all(workshop: Workshop) -> None:
    before = os.umask(0o077)
    try:
        kernel = workshop.build(share=True)
    finally:
        os.umask(before)
    assert stat.S_IMODE(kernel.path.stat().st_mode) == 0o755
    assert stat.S_IMODE(kernel.config.stat().st_mode) == 0o644
    for directory in (kernel.directory, workshop.cache, workshop.cache.parent):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o755
    assert f"chmod a+x {workshop.root / 'cache'}" in workshop.output()


def test_no_kernel_names_the_command_that_builds_one(workshop: Workshop) -> None:
    with pytest.raises(KernelMissing, match=r"none has been built yet.*`netwarp kernel build`"):
        find_kernel(cache=workshop.cache, tree=workshop.tree)
    workshop.build()
    (workshop.tree / "netwarp.config").write_text("CONFIG_C=y\n")
    with pytest.raises(KernelMissing, match=r"built with other options or changes.*`netwarp kernel build`"):
        find_kernel(cache=workshop.cache, tree=workshop.tree)


def test_the_kernel_that_fits_is_found_even_without_its_source(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETWARP_KERNEL_SOURCE", str(workshop.archive))
    first = workshop.build()
    workshop.program("gcc", "#!/bin/sh\necho gcc 99\n")
    second = workshop.build()
    assert first.key != second.key
    assert find_kernel(cache=workshop.cache, tree=workshop.tree) == second
    (workshop.bin / "gcc").unlink()
    assert find_kernel(cache=workshop.cache, tree=workshop.tree) == first
    workshop.archive.unlink()
    assert find_kernel(cache=workshop.cache, tree=workshop.tree) == second, "the newest"
    assert list_kernels(workshop.cache) == [second, first]


def test_kernels_are_named_by_key_its_beginning_or_path(workshop: Workshop) -> None:
    kernel = workshop.build()
    for name in (kernel.key, kernel.key[:5], str(kernel.path), str(kernel.directory)):
        assert find_kernel(name, cache=workshop.cache) == kernel
    with pytest.raises(KernelMissing, match="There is no kernel zzz"):
        find_kernel("zzz", cache=workshop.cache)
    assert kernels.remove(kernel.key, cache=workshop.cache) == [str(kernel.directory)]
    assert list_kernels(workshop.cache) == []
    with pytest.raises(KernelMissing):
        kernels.remove(kernel.key, cache=workshop.cache)


def test_a_kernel_outside_the_cache_is_not_removed(workshop: Workshop) -> None:
    kernel = workshop.build()
    with pytest.raises(KernelError, match="netwarp removes only kernels there"):
        kernels.remove(str(kernel.path), cache=workshop.root / "other")
    assert kernel.path.exists()


def test_the_packaged_tree_reads(tmp_path: Path) -> None:
    options = options_of(kernels.recipe.TREE / "netwarp.config")
    assert "CONFIG_UML_TIME_TRAVEL_SUPPORT=y" in options
    assert [patch.name for patch in patches_of(kernels.recipe.TREE)][:2] == [
        "0001-um-missing-page-table.patch",
        "0002-um-partly-copied-mm.patch",
    ]
    names = [option.replace("# ", "").partition("=")[0].partition(" ")[0] for option in options]
    assert len(set(names)) == len(names), "an option is given twice"
    bad = tmp_path / "bad.config"
    bad.write_text("CONFIG_A=y\nCONFIG B=y\n")
    with pytest.raises(KernelError, match=r"bad\.config:2: `CONFIG B=y` is not an option"):
        options_of(bad)


def test_an_absent_option_counts_as_not_set() -> None:
    assert unmet_options(["# CONFIG_A is not set"], "") == []
    assert unmet_options(["# CONFIG_A is not set"], "CONFIG_A=m\n") == ["# CONFIG_A is not set"]
    assert unmet_options(["CONFIG_A=y"], "CONFIG_A=m\n") == ["CONFIG_A=y"]
