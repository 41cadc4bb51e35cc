"""The user's kernels: a name, a source, patches, options, and a tree whose objects are kept."""

import os
import re
import shutil
import subprocess
import tarfile
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from kernel_workshop import Workshop, open_workshop, wait_for
from netwarp import kernels
from netwarp.kernels import BuildFailed, KernelError, KernelMissing, SourceMissing, find_kernel, list_kernels
from netwarp.kernels.build import build
from netwarp.kernels.names import NamedKernel, Request, read_name, write_name
from netwarp.kernels.recipe import (
    TREE,
    Options,
    fragments_of,
    given_options,
    known_series,
    nearest_series,
    patches_of,
    patches_of_presets,
    presets,
    tree_digest,
    without,
)

pytestmark = pytest.mark.slow  # many builds, of a small tree and with a stand-in for the compiler


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    return open_workshop(tmp_path, monkeypatch)


def test_a_users_patch_is_applied_after_netwarps_own(workshop: Workshop) -> None:
    stock = workshop.build()
    mine = workshop.named("mine", workshop.patch("mine.patch", "hello.txt", "hello, world", "hello, kernel"))
    assert mine.path.read_text().startswith("hello, kernel\nadded\n")
    assert mine.key != stock.key
    assert find_kernel("mine", cache=workshop.cache) == mine
    assert find_kernel(cache=workshop.cache, tree=workshop.tree) == stock, "a user's kernel is never the default"
    assert find_kernel("stock", cache=workshop.cache, tree=workshop.tree) == stock
    assert workshop.leftovers() == []


def test_what_a_change_does_not_touch_is_not_compiled_again(workshop: Workshop) -> None:
    first = workshop.named("mine", workshop.patch("a.patch", "added.txt", "added", "one"))
    assert workshop.compiled() == ["hello.txt", "added.txt"]
    second = workshop.named("mine", workshop.patch("a.patch", "added.txt", "added", "two"))
    assert workshop.compiled() == ["added.txt"]
    assert "two" in second.path.read_text()
    assert find_kernel("mine", cache=workshop.cache) == second
    assert find_kernel(first.key, cache=workshop.cache) == first, "results of before can be made again"
    without = workshop.named("mine", workshop.patch("b.patch", "hello.txt", "hello, world", "hi"))
    assert workshop.compiled() == ["hello.txt", "added.txt"]
    assert without.path.read_text().startswith("hi\nadded\n"), "what no patch changes any more is as before"


def test_an_object_is_compiled_again_when_its_profile_changes(workshop: Workshop) -> None:
    profile = workshop.tree / "6.12" / "files" / "hello.txt.gcda"
    profile.parent.mkdir()
    workshop.named("mine")
    for content in (b"one", b"two"):
        workshop.compiled()
        profile.write_bytes(content)
        workshop.named("mine")
        assert workshop.compiled() == ["hello.txt"]


def test_a_kept_tree_gives_what_a_fresh_one_gives(workshop: Workshop) -> None:
    patch = workshop.patch("a.patch", "hello.txt", "hello, world", "one")
    workshop.named("mine", patch)
    workshop.patch("a.patch", "hello.txt", "hello, world", "two")
    kept = workshop.named("mine", patch).path.read_bytes()
    kernels.remove("mine", cache=workshop.cache)
    fresh = workshop.named("mine", patch)
    assert fresh.path.read_bytes() == kept


def test_a_second_name_begins_with_the_objects_of_the_first(workshop: Workshop) -> None:
    workshop.named("one", workshop.patch("a.patch", "hello.txt", "hello, world", "one"))
    workshop.compiled()
    workshop.named("two", workshop.patch("b.patch", "hello.txt", "hello, world", "two"))
    assert workshop.compiled() == ["hello.txt"]
    assert "Copying the objects of one" in workshop.output()


def test_a_directory_begins_with_the_objects_of_whatever_there_is(workshop: Workshop) -> None:
    workshop.named("packaged")
    source = workshop.unpacked()
    (source / "arch/um/kept.c").unlink()
    (source / "more.txt").write_text("more\n")
    workshop.compiled()
    kernel = workshop.named("mine", workshop.patch("a.patch", "added.txt", "added", "one"), source=source)
    assert workshop.compiled() == ["added.txt"]
    assert kernel.path.read_text().startswith("hello, world\none\n")
    tree = workshop.cache / "trees" / "mine" / "tree"
    assert not (tree / "arch/um/kept.c").exists(), "what the directory does not have"
    assert (tree / "more.txt").exists()
    assert (workshop.cache / "trees" / "packaged" / "tree" / "arch/um/kept.c").exists()


def test_a_name_may_go_from_one_directory_to_another(workshop: Workshop) -> None:
    source = workshop.unpacked()
    workshop.named("mine", source=source)
    workshop.compiled()
    moved = source.rename(source.with_name("moved"))
    (moved / "hello.txt").write_text("hello\n")
    (moved / "arch/um/kept.c").unlink()
    (moved / "more.txt").write_text("more\n")
    workshop.named("mine", source=moved)
    assert workshop.compiled() == []
    assert not (workshop.cache / "trees" / "mine" / "tree" / "arch/um/kept.c").exists()
    assert "Copying" not in workshop.output()


def test_a_name_alone_builds_as_before(workshop: Workshop) -> None:
    patch = Path(workshop.patch("a.patch", "hello.txt", "hello, world", "one"))
    workshop.named("mine", str(patch), config=("C=y",))
    patch.write_text(patch.read_text().replace("+one", "+two"))
    again = build(name="mine", cache=workshop.cache, tree=workshop.tree, console=workshop.console)
    assert again.path.read_text().startswith("two\n")
    assert "CONFIG_C=y" in again.config.read_text()
    named = read_name(workshop.cache, "mine")
    assert named is not None
    assert named.command == (
        f"netwarp kernel build --name mine --source {workshop.archive} --patch {patch} --config C=y"
    )


def test_a_directory_is_read_again_only_where_it_changed(workshop: Workshop) -> None:
    source = workshop.unpacked()
    first = workshop.named("mine", source=source)
    workshop.compiled()
    assert first.path.read_text() == workshop.build().path.read_text(), "the same files give the same kernel"
    workshop.compiled()
    (source / "hello.txt").write_text("hello\n")
    os.utime(source / "hello.txt")
    assert workshop.named("mine", source=source) == first, "another time is not a change"
    (source / "other.txt").write_text("new\n")
    (source / "arch/um/kept.c").unlink()
    second = workshop.named("mine", source=source)
    assert second.key != first.key
    assert workshop.compiled() == []
    tree = workshop.cache / "trees" / "mine" / "tree"
    assert (tree / "other.txt").read_text() == "new\n"
    assert not (tree / "arch/um/kept.c").exists()
    assert not (tree / "arch/arm/left_out.c").exists()
    assert (tree / "hello.txt").read_text() == "hello, world\n", "with netwarp's changes"
    assert (source / "hello.txt").read_text() == "hello\n", "the user's directory is left alone"


def test_of_a_git_tree_counts_what_git_tracks(workshop: Workshop) -> None:
    source = workshop.unpacked()
    (source / ".gitignore").write_text("*.o\n")
    for command in ("init -q", "add -A", "-c user.name=a -c user.email=a@b commit -qm x"):
        subprocess.run(["git", *command.split()], cwd=source, check=True)
    first = workshop.named("mine", source=source)
    (source / "hello.o").write_text("built")
    assert workshop.named("mine", source=source) == first
    (source / "hello.txt").write_text("changed\n")
    with pytest.raises(BuildFailed, match=r"applying 0001-hello\.patch(?s:.)*netwarp's own change for Linux 6\.12"):
        workshop.named("mine", source=source)
    subprocess.run(["git", "checkout", "-q", "hello.txt"], cwd=source, check=True)
    assert workshop.named("mine", source=source) == first


def test_a_users_patch_that_does_not_apply_is_named_with_the_words_of_patch(workshop: Workshop) -> None:
    kernel = workshop.named("mine")
    with pytest.raises(BuildFailed, match=r"applying bad\.patch(?s:.)*Hunk #1 FAILED(?s:.)*Your patch does not apply"):
        workshop.named("mine", workshop.patch("bad.patch", "hello.txt", "something else", "two"))
    with pytest.raises(BuildFailed, match=r"no\.patch is not a patch"):
        workshop.named(
            "mine", str(workshop.archive.with_name("no.patch").write_text("words\n") and workshop.root / "no.patch")
        )
    with pytest.raises(BuildFailed, match=r"names the file a/\.\./\.\./x"):
        workshop.named("mine", workshop.patch("bad.patch", "../../x", "a", "b"))
    with pytest.raises(SourceMissing, match=r"There is no file missing.patch, and no shipped patch"):
        workshop.named("mine", "missing.patch")
    assert workshop.leftovers() == []
    assert find_kernel("mine", cache=workshop.cache) == kernel, "the name stays with the kernel that was built"


def test_a_build_that_fails_leaves_no_kernel_and_goes_on_from_its_objects(workshop: Workshop) -> None:
    (workshop.state / "fail").touch()
    with pytest.raises(BuildFailed, match=r"a.c:1: error"):
        workshop.named("mine")
    assert list_kernels(workshop.cache) == []
    assert workshop.leftovers() == []
    assert kernels.unfinished_names(workshop.cache) == ["mine"]
    with pytest.raises(KernelMissing, match=r"mine is not built, because its build failed.*kernel remove mine"):
        find_kernel("mine", cache=workshop.cache)
    assert kernels.remove("mine", cache=workshop.cache) == ["the tree of mine, which has no kernel"]
    assert kernels.unfinished_names(workshop.cache) == []
    (workshop.state / "fail").unlink()
    assert workshop.named("mine").path.is_file()


def test_a_new_name_begins_with_the_tree_whose_options_are_nearest(workshop: Workshop) -> None:
    patch = workshop.patch("a.patch", "hello.txt", "hello, world", "one")
    workshop.named("checked", config=("C=y", "D=y"))
    workshop.named("plain")
    workshop.named("new", patch)
    workshop.named("newer", patch, config=("C=y", "D=y"))
    copied = re.findall(r"Copying the objects of (\w+)", workshop.output())
    assert copied == ["checked", "plain", "checked"], "there was no other for the first"


def test_a_tree_whose_build_was_killed_is_made_again(workshop: Workshop) -> None:
    workshop.named("mine")
    state = workshop.cache / "trees" / "mine" / "state.json"
    state.write_text(state.read_text().replace('"compiling": false', '"compiling": true'))
    (workshop.cache / "trees" / "mine" / "tree" / "hello.txt.o").write_text("half an object")
    workshop.compiled()
    workshop.named("mine", config=("C=y",))
    assert workshop.compiled() == ["hello.txt", "added.txt"]


def test_options_of_the_users_hold_and_must_be_honoured(workshop: Workshop) -> None:
    kernel = workshop.named("mine", config=("A=n", "CONFIG_C=m"))
    assert "# CONFIG_A is not set\n# CONFIG_B is not set\nCONFIG_C=m" in kernel.config.read_text()
    with pytest.raises(BuildFailed, match=r"does not honour.*: CONFIG_UNKNOWN=y\. Give the options that they depend"):
        workshop.named("mine", config=("UNKNOWN=y",))
    with pytest.raises(KernelError, match=r"--config A B is neither an option|There is no preset"):
        workshop.named("mine", config=("A B",))
    (workshop.tree / "presets").mkdir()
    (workshop.tree / "presets" / "debug.config").write_text("CONFIG_D=y\n# CONFIG_A is not set\n")
    assert given_options(("debug", "A=y"), workshop.tree) == ("CONFIG_D=y", "CONFIG_A=y")
    with pytest.raises(KernelError, match=r'no preset "debig" \(did you mean "debug"\?\)'):
        given_options(("debig",), workshop.tree)


def test_the_presets_that_come_with_netwarp(workshop: Workshop) -> None:
    assert presets() == ["debug", "interfaces", "kcov", "profile"]
    debug, interfaces, kcov, profile = (given_options((name,)) for name in presets())
    assert {"CONFIG_UML_NET_VECTOR=y", "# CONFIG_STATIC_LINK is not set"} <= set(interfaces)
    assert {"CONFIG_KASAN=y", "CONFIG_PROVE_LOCKING=y", "CONFIG_DEBUG_LIST=y"} <= set(debug)
    assert {"CONFIG_KCOV=y", "CONFIG_DEBUG_FS=y"} <= set(kcov)
    assert "CONFIG_GCOV=y" in profile
    assert [path.name for path in patches_of_presets(["debug", "HZ=100", "kcov"])] == ["kcov.patch"]
    assert "CONFIG_DEBUG_ATOMIC_SLEEP=y" in debug
    assert "# CONFIG_DEBUG_ATOMIC_SLEEP is not set" in given_options(("debug",), series="6.1")
    for series in known_series():
        lines = Options(tuple(fragments_of(TREE, series)), debug).lines
        assert "CONFIG_SLUB_DEBUG=y" in lines, "a preset holds over netwarp's own options"
        assert "# CONFIG_SLUB_DEBUG is not set" not in lines
        assert "CONFIG_INET=y" in lines
    before = tree_digest(workshop.tree)
    shutil.copytree(TREE / "presets", workshop.tree / "presets")
    assert tree_digest(workshop.tree) == before, "`stock` is not built again for a preset"
    kernel = workshop.named("checked", config=("debug", "KASAN_INLINE=n"))
    assert "# CONFIG_KASAN_INLINE is not set" in kernel.config.read_text().splitlines()
    assert kernel.command.endswith("--config debug --config KASAN_INLINE=n")


def test_names_are_checked_and_removed(workshop: Workshop) -> None:
    for bad in ("stock", "6.1", "a/b", "", "..", "-x"):
        with pytest.raises(KernelError, match=r"choose another name|is not a name"):
            workshop.named(bad)
    with pytest.raises(KernelError, match="needs a name, such as --name mine"):
        build(workshop.archive, config=("C=y",), cache=workshop.cache, tree=workshop.tree, console=workshop.console)
    kernel = workshop.named("one")
    assert workshop.named("two") == kernel
    assert kernels.remove("one", cache=workshop.cache)[0] == "the name one and its tree"
    assert find_kernel("two", cache=workshop.cache) == kernel
    with pytest.raises(KernelError, match=r"two refers to the kernel .*remove it by name"):
        kernels.remove(kernel.key, cache=workshop.cache)
    kernels.remove("two", cache=workshop.cache)
    assert list_kernels(workshop.cache) == []
    with pytest.raises(KernelMissing, match="kernel build --name two"):
        find_kernel("two", cache=workshop.cache)


def test_with_a_name_go_the_kernels_that_were_built_under_it_before(workshop: Workshop) -> None:
    """A bisection, for example, builds kernels one after another under one name."""
    first = workshop.named("bisect", config=("NEW=1",))
    second = workshop.named("bisect", config=("NEW=2",))
    kept = workshop.named("mine", config=("NEW=1",))
    assert kept == first
    third = workshop.named("bisect", config=("NEW=3",))
    assert {kernel.key for kernel in list_kernels(workshop.cache)} == {first.key, second.key, third.key}
    gone = kernels.remove("bisect", cache=workshop.cache)
    assert gone == ["the name bisect and its tree", str(third.directory), str(second.directory)]
    assert list_kernels(workshop.cache) == [first]
    assert find_kernel("mine", cache=workshop.cache) == first


def test_a_build_in_progress_is_known(workshop: Workshop) -> None:
    assert kernels.build_in_progress(workshop.cache) is None
    (workshop.state / "hang").touch()
    building = threading.Thread(target=lambda: workshop.named("mine", config=("NEW=1",)))
    building.start()
    wait_for(workshop.state / "hanging")
    underway = kernels.build_in_progress(workshop.cache)
    assert underway is not None
    assert (underway.name, underway.process) == ("mine", os.getpid())
    assert underway.command.endswith("--config NEW=1")
    assert kernels.unfinished_names(workshop.cache) == []
    with pytest.raises(KernelMissing, match=r"mine is being built since .* by process"):
        find_kernel("mine", cache=workshop.cache)
    (workshop.state / "hang").unlink()
    building.join(timeout=20)
    assert kernels.build_in_progress(workshop.cache) is None
    assert find_kernel("mine", cache=workshop.cache).built_as == "mine"


def _name_often(cache: Path, key: str) -> None:
    for _ in range(300):
        write_name(cache, NamedKernel("mine", key, Request()))


def test_builds_of_one_name_that_end_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    with ProcessPoolExecutor(2) as pool:
        for written in [pool.submit(_name_often, tmp_path, key) for key in ("1" * 16, "2" * 16)]:
            written.result()
    found = read_name(tmp_path, "mine")
    assert found is not None
    assert found.key in ("1" * 16, "2" * 16)
    assert [path.name for path in (tmp_path / "names").iterdir()] == ["mine.json"]


def test_sources_that_are_none_say_what_to_take(workshop: Workshop) -> None:
    empty = workshop.root / "empty"
    empty.mkdir()
    with pytest.raises(BuildFailed, match="is not a kernel's source: Makefile cannot be read"):
        workshop.named("mine", source=empty)
    (empty / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 1\n")
    with pytest.raises(BuildFailed, match=r"has no User Mode Linux \(arch/um\)"):
        workshop.named("mine", source=empty)
    with tarfile.open(workshop.root / "cut.tar.gz", "w:gz") as archive:
        archive.add(empty / "Makefile", "linux/Makefile")
    with pytest.raises(BuildFailed, match=r"cut\.tar\.gz has no User Mode Linux"):
        workshop.named("mine", source=workshop.root / "cut.tar.gz")
    (workshop.root / "words.tar").write_text("words")
    with pytest.raises(BuildFailed, match=r"words\.tar is not an archive of a kernel's source(?s:.)*tar: "):
        workshop.named("mine", source=workshop.root / "words.tar")
    with pytest.raises(SourceMissing, match="neither a file nor a directory"):
        workshop.named("mine", source=workshop.root / "nowhere")


def test_a_series_without_changes_takes_the_nearest(workshop: Workshop) -> None:
    (workshop.tree / "6.1" / "patches").mkdir(parents=True)
    assert known_series(workshop.tree) == ["6.1", "6.12"]
    assert [nearest_series(one, workshop.tree) for one in ("6.1", "6.3", "6.9", "6.18", "7.0")] == [
        *("6.1", "6.1", "6.12", "6.12", "6.12"),
    ]
    newer = workshop.tree / "7.2" / "patches"
    newer.mkdir(parents=True)
    assert [nearest_series(one, workshop.tree) for one in ("6.12", "6.16", "6.17", "6.19", "7.0", "7.4", "8.1")] == [
        *("6.12", "6.12", "7.2", "7.2", "7.2", "7.2", "7.2"),
    ]
    newer.rmdir()
    source = workshop.unpacked()
    (source / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 14\nSUBLEVEL = 0\n")
    kernel = workshop.named("new", source=source)
    assert kernel.series == "6.12"
    assert "no changes for Linux 6.14, and uses those for 6.12" in workshop.output()
    (workshop.tree / "6.1" / "netwarp.config").write_text("# CONFIG_A is not set\n")
    (workshop.tree / "6.1" / "files").mkdir()
    (workshop.tree / "6.1" / "files" / "added.txt").write_text("of 6.1\n")
    (source / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 0\n")
    old = workshop.named("old", source=source)
    assert old.path.read_text().startswith("hello\nof 6.1\n"), "a series has its own files and options"
    assert "# CONFIG_A is not set" in old.config.read_text()


def test_a_series_patch_takes_the_place_of_the_one_for_all(workshop: Workshop) -> None:
    common, own = workshop.tree / "common", workshop.tree / "6.12" / "patches"
    common.mkdir()
    for name in ("0001-hello.patch", "0000-first.patch", "0002-last.patch"):
        (common / name).write_text("of all series")
    assert patches_of(workshop.tree, "6.1") == sorted(common.glob("*.patch"))
    assert patches_of(workshop.tree, "6.12") == [
        *(common / "0000-first.patch", own / "0001-hello.patch", common / "0002-last.patch"),
    ]
    (workshop.tree / "7.2").mkdir()
    (workshop.tree / "7.2" / "without.txt").write_text("# Why\n0000-first.patch: it is there: since 6.16\n")
    assert without(workshop.tree, "7.2") == {"0000-first.patch": "it is there: since 6.16"}
    assert patches_of(workshop.tree, "7.2") == [common / "0001-hello.patch", common / "0002-last.patch"]
