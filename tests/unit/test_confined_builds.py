"""A kernel's makefiles are programs from unknown authors of sources and patches: none of their steps leaves the
tree."""

import contextlib
import subprocess
import tarfile
import time
from pathlib import Path

import pytest
from kernel_workshop import FAKE_MAKE, Workshop, open_workshop
from netwarp.kernels import BuildFailed, KernelError
from netwarp.kernels.commands import collect, environment, read_built
from netwarp.kernels.links import refuse_link_out
from netwarp.steps import bisect
from netwarp.steps.bisect import Verdict, between_revisions

# Attempts of each step of a build, in addition to its work.
ATTEMPTS = r"""#!/bin/sh
for last in "$@"; do :; done
attempt() { what="$1"; shift; ( "$@" ) >/dev/null 2>&1 && echo "$last: $what" >> STATE/out; }
attempt read cat HOME/secret
attempt list ls HOME
attempt write sh -c 'echo x > HOME/new'
attempt append sh -c 'echo x >> HOME/secret'
attempt temporary sh -c 'echo x > HOME/../tmp/new'
attempt link ln -s HOME/secret stolen
attempt 'hard link' ln HOME/secret stolen
attempt pipe mkfifo pipe
attempt network bash -c 'exec 3<>/dev/udp/127.0.0.1/9'
attempt session setsid true
attempt environment test -n "$A_SECRET"
( exec >/dev/null 2>&1; sleep 1000 & echo $! >> STATE/left )
echo "$last" >> STATE/steps
"""


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    monkeypatch.setenv("A_SECRET", "a private key")
    return open_workshop(tmp_path, monkeypatch)


def wait_for_end(process: str) -> None:
    """Wait until a killed process is gone; its parent, which is not this one, may not have waited for it."""
    deadline = time.monotonic() + 60
    with contextlib.suppress(OSError):
        while Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
            assert time.monotonic() < deadline, f"the process {process} has outlived its step"
            time.sleep(0.02)


def test_no_step_of_a_build_leaves_its_tree(workshop: Workshop) -> None:
    home = workshop.root / "home"
    home.mkdir()
    (home / "secret").write_text("a private key\n")
    attempts = ATTEMPTS.replace("STATE", str(workshop.state)).replace("HOME", str(home))
    make = FAKE_MAKE.replace("$FAKE_COUNT", str(workshop.count)).replace("$FAKE_STATE", str(workshop.state))
    workshop.program("make", attempts + make.removeprefix("#!/bin/sh\n"))
    workshop.program("strip", attempts + 'cp "$3" "$2"\n')
    workshop.build()
    assert (workshop.state / "steps").read_text().split() == ["tinyconfig", "olddefconfig", "linux", "linux"]
    assert not (workshop.state / "out").exists(), (workshop.state / "out").read_text()
    assert [(path.name, path.read_text()) for path in home.iterdir()] == [("secret", "a private key\n")]
    left = (workshop.state / "left").read_text().split()
    assert len(left) == 4
    for process in left:
        wait_for_end(process)


@pytest.mark.parametrize(
    ("name", "target", "leads_out"),
    [
        ("a/b/link", "../../c", False),
        ("link", "a/b", False),
        ("link", "../c", True),
        ("a/link", "/etc/passwd", True),
        ("a/b/c/link", "x/../../y", True),
        ("a/b/link", "../../../c", True),
    ],
)
def test_a_link_leads_out_of_a_source(name: str, target: str, leads_out: bool) -> None:
    try:
        refuse_link_out(name, target, Path("source"))
    except BuildFailed as error:
        assert leads_out and f"{name} to {target}" in str(error)
    else:
        assert not leads_out


def test_a_source_whose_links_lead_out_is_not_built(workshop: Workshop) -> None:
    home = workshop.root / "home"
    home.mkdir()
    source = workshop.unpacked()
    with tarfile.open(workshop.archive, "w:xz") as archive:
        archive.add(source, "linux")
        link = tarfile.TarInfo("linux/.config")
        link.type, link.linkname = tarfile.SYMTYPE, str(home / "written")
        archive.addfile(link)
    with pytest.raises(BuildFailed, match=r"symbolic link \.config"):
        workshop.build()
    (source / "linked").symlink_to(home / "written")
    with pytest.raises(BuildFailed, match="symbolic link linked"):
        workshop.named("mine", source=source)
    assert list(home.iterdir()) == []


@pytest.fixture
def repository(workshop: Workshop) -> Path:
    """A git tree with the whole source."""
    source = workshop.unpacked()
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"]):
        run_git(source, *words)
    return source


def run_git(source: Path, *words: str) -> str:
    """Run git as its user does."""
    done = subprocess.run(["git", "-C", str(source), *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(repository: Path, name: str) -> None:
    run_git(repository, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qam", name, "--allow-empty")


def by_hello(tree: Path) -> bisect.Tested:
    text = (tree / "hello.txt").read_text()
    return bisect.Tested(Verdict.BAD if "again" in text else Verdict.GOOD, text)


def test_what_a_git_tree_says_lies_behind_a_link_is_not_its_own(workshop: Workshop, repository: Path) -> None:
    home = workshop.root / "home"
    home.mkdir()
    (home / "secret").write_text("a private key\n")
    entry = f"100644,{run_git(repository, 'hash-object', '-w', 'hello.txt')},behind/secret"
    run_git(repository, "update-index", "--add", "--cacheinfo", entry)
    (repository / "behind").symlink_to(home)
    with pytest.raises(BuildFailed, match="behind"):
        workshop.named("mine", source=repository)


@pytest.mark.slow
def test_what_the_configuration_of_a_git_tree_starts_leaves_nothing(workshop: Workshop, repository: Path) -> None:
    made = workshop.root / "made"
    hook = repository / ".git/hooks/post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {made} {workshop.state}/ran\n")
    hook.chmod(0o755)
    run_git(repository, "config", "core.fsmonitor", str(hook))
    run_git(repository, "config", "filter.evil.smudge", str(hook))
    (repository / ".git/info/attributes").write_text("*.txt filter=evil\n")
    workshop.named("mine", source=repository)
    first = run_git(repository, "rev-parse", "HEAD")
    (repository / "hello.txt").write_text("hello, again\n")
    commit(repository, "two")
    made.unlink(missing_ok=True)  # by the git of the test itself
    culprit = between_revisions(repository, first, "HEAD", by_hello, lambda line: None)
    assert culprit.description.partition(" (")[0].endswith("two")
    assert not made.exists()


@pytest.mark.slow
def test_a_linked_work_tree_is_a_source(workshop: Workshop, repository: Path) -> None:
    run_git(repository, "worktree", "add", "-q", str(workshop.root / "linked"))
    run_git(workshop.root, "clone", "-q", "--shared", str(repository), str(workshop.root / "borrowed"))
    kernels = [workshop.named("mine", source=workshop.root / name) for name in ("linked", "borrowed")]
    assert kernels[0].source_digest == kernels[1].source_digest


@pytest.mark.slow
def test_a_clone_that_borrows_of_one_that_borrows_is_bisected(workshop: Workshop, repository: Path) -> None:
    (repository / "hello.txt").write_text("hello, again\n")
    commit(repository, "two")
    last = repository
    for name in ("once", "twice", "thrice"):
        run_git(workshop.root, "clone", "-q", "--shared", str(last), str(workshop.root / name))
        last = workshop.root / name
    culprit = between_revisions(last, "HEAD~1", "HEAD", by_hello, lambda line: None)
    assert culprit.description.partition(" (")[0].endswith("two")


@pytest.mark.slow
def test_of_a_partial_clone_the_rest_has_to_be_fetched_before(workshop: Workshop, repository: Path) -> None:
    for name, text in (("one more", "hello once\n"), ("two", "hello, again\n")):
        (repository / "hello.txt").write_text(text)
        commit(repository, name)
    run_git(repository, "config", "uploadpack.allowFilter", "true")
    partial = workshop.root / "partial"
    run_git(workshop.root, "clone", "-q", "--filter=blob:none", repository.as_uri(), str(partial))
    with pytest.raises(KernelError, match="partial clone"):
        between_revisions(partial, "HEAD~1", "HEAD", by_hello, lambda line: None)
    run_git(partial, "-c", "gc.auto=0", "fetch", "-q", "--refetch", "--no-filter")
    culprit = between_revisions(partial, "HEAD~1", "HEAD", by_hello, lambda line: None)
    assert culprit.description.partition(" (")[0].endswith("two")


def test_a_filter_in_the_background_ends_with_git(workshop: Workshop, repository: Path) -> None:
    commit(repository, "two")
    # It holds git's output, whose end is awaited.
    run_git(repository, "config", "filter.evil.smudge", "sh -c 'sleep 1000 >&2 & echo $!; exec cat'")
    (repository / ".git/info/attributes").write_text("*.txt filter=evil\n")
    left = []

    def judge(tree: Path) -> bisect.Tested:
        left.append((tree / "hello.txt").read_text().split()[0])
        wait_for_end(left[-1])
        return bisect.Tested(Verdict.GOOD, "")

    with pytest.raises(KernelError, match="must be bad"):
        between_revisions(repository, "HEAD~1", "HEAD", judge, lambda line: None)
    assert left


def test_what_reads_a_build_leaves_nothing(workshop: Workshop, tmp_path: Path) -> None:
    built = tmp_path / "built"
    built.write_text("")
    words = ["sh", "-c", 'sleep 1000 & echo $!; echo complaint >&2; exit "$1"']
    wait_for_end(read_built(words, built, "0").strip())
    with pytest.raises(KernelError, match="complaint"):
        read_built(words, built, "1")


def test_what_runs_too_long_is_ended() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        collect(["sleep", "1000"], environment(), limit_s=0.05)
