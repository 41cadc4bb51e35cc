"""`make release` on a repository in miniature: what it refuses, what it changes, and that a failure changes nothing."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.release import ROOT, SOURCE, STATED, ReleaseError, Repository, preview, refuse, release

pytestmark = pytest.mark.slow  # a repository for each test

DAY = "2026-05-01"
CHANGES = "### Added\n- A thing.\n"
CHANGELOG = f"# Changelog\n\n## [Unreleased]\n\n{CHANGES}\n## [0.1.0] - 2026-01-01\n\n- The first.\n"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """The files of this repository that state its version, committed on main, with the tag of a release."""
    made = Repository(tmp_path / "netwarp")
    made.root.mkdir()
    made.git("init", "--quiet", "--initial-branch=main")
    for name, value in (("user.name", "A"), ("user.email", "a@example.org"), ("core.hooksPath", "/dev/null")):
        made.git("config", name, value)
    for name, text in Repository(ROOT).with_version("0.1.0").items():
        (made.root / name).parent.mkdir(parents=True, exist_ok=True)
        (made.root / name).write_text(text)
    (made.root / "CHANGELOG.md").write_text(CHANGELOG)
    (made.root / ".gitignore").write_text("dist\n")
    commit(made, "Begin")
    made.git("tag", "v0.1.0")
    return made


def commit(repository: Repository, subject: str) -> None:
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "--message", subject)


def builds(repository: Repository, works: bool = True) -> Callable[[], bool]:
    """Stands for `make dist`, which takes an hour: it leaves a wheel and a source that say which commit they are of."""

    def build() -> bool:
        out = repository.root / "dist"
        (out / "sources").mkdir(parents=True)
        (out / "netwarp.whl").write_text(repository.git("show", "HEAD:Cargo.toml"))
        (out / "sources/libmnl.tar").write_text("source")
        return works

    return build


def test_a_release_is_one_commit_with_one_version_a_section_and_a_tag_with_the_notes(repository: Repository) -> None:
    said = release(repository, "0.2.0", builds(repository), DAY)
    assert {version for _, version in repository.stated()} == {"0.2.0"}
    assert (repository.root / "CHANGELOG.md").read_text() == CHANGELOG.replace(
        "## [Unreleased]\n", f"## [Unreleased]\n\n## [0.2.0] - {DAY}\n"
    )
    assert repository.git("log", "-1", "--format=%s") == "Release 0.2.0"
    assert repository.git("status", "--porcelain") == ""
    assert repository.git("cat-file", "-t", "v0.2.0") == "tag", "an annotated one"
    notes = (repository.root / "dist/NOTES.md").read_text()
    assert CHANGES.strip() in notes and "The first." not in notes and "pip install netwarp==0.2.0" in notes
    assert repository.git("tag", "--list", "--format=%(contents)", "v0.2.0") == notes.strip()
    assert 'version = "0.2.0"' in (repository.root / "dist/netwarp.whl").read_text(), "built of the new commit"
    sums = dict(line.split()[::-1] for line in (repository.root / "dist/SHA256SUMS").read_text().splitlines())
    assert sums["sources/libmnl.tar"] == hashlib.sha256(b"source").hexdigest()
    assert set(sums) == {"NOTES.md", "netwarp.whl", "sources/libmnl.tar"}
    checking = ["sha256sum", "--check", "--quiet", "SHA256SUMS"]
    checked = subprocess.run(checking, cwd=repository.root / "dist", check=False)
    assert checked.returncode == 0
    assert "git push origin main v0.2.0" in said and "twine upload dist/*.whl" in said
    with pytest.raises(ReleaseError, match="nothing to release"):
        refuse(repository, "0.3.0")


@pytest.mark.parametrize("works", [False, None])
def test_if_the_wheels_cannot_be_made_the_repository_is_as_before(repository: Repository, works: bool | None) -> None:
    before = repository.git("rev-parse", "HEAD")

    def interrupted() -> bool:
        raise KeyboardInterrupt

    with pytest.raises(ReleaseError if works is False else KeyboardInterrupt):
        release(repository, "0.2.0", builds(repository, False) if works is False else interrupted, DAY)
    assert repository.git("rev-parse", "HEAD") == before
    assert repository.git("status", "--porcelain") == ""
    assert repository.git("tag") == "v0.1.0"
    assert {version for _, version in repository.stated()} == {"0.1.0"}


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("two", "is not a version; expected x.y.z"),
        ("0.1", "is not a version"),
        ("0.1.0", "The tag v0.1.0 exists already"),
        ("0.0.9", "is older than 0.1.0, which"),
        ("0.1.0rc1", "is older than 0.1.0"),
    ],
)
def test_a_version_that_cannot_be_is_refused(repository: Repository, version: str, reason: str) -> None:
    with pytest.raises(ReleaseError, match=reason):
        preview(repository, version, DAY)


def test_a_tree_that_is_not_the_last_commit_of_main_is_refused(repository: Repository) -> None:
    refuse(repository, "0.2.0rc1")
    (repository.root / "new").touch()
    with pytest.raises(ReleaseError, match=r"not committed:\n\?\? new"):
        refuse(repository, "0.2.0")
    commit(repository, "Add")
    repository.git("switch", "--quiet", "--create", "other")
    with pytest.raises(ReleaseError, match="The branch is other"):
        refuse(repository, "0.2.0")


def test_files_that_disagree_or_state_no_version_are_refused(repository: Repository) -> None:
    (repository.root / "CITATION.cff").write_text("version: 0.0.1\n")
    commit(repository, "Forget")
    with pytest.raises(ReleaseError, match=r"several versions: 0\.1\.0, 0\.0\.1"):
        refuse(repository, "0.2.0")
    (repository.root / "CITATION.cff").write_text("title: x\n")
    commit(repository, "Forget more")
    with pytest.raises(ReleaseError, match=r"CITATION\.cff does not state the version"):
        refuse(repository, "0.2.0")


def test_a_preview_changes_nothing(repository: Repository) -> None:
    before = repository.git("rev-parse", "HEAD")
    said = preview(repository, "0.2.0", DAY)
    assert all(name in said for name in STATED) and "- A thing." in said and SOURCE in said
    assert (repository.git("rev-parse", "HEAD"), repository.git("status", "--porcelain")) == (before, "")
