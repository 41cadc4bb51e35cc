"""Unpacking archives, by Pythons with and without filters for it."""

import io
import os
import tarfile
from pathlib import Path

import pytest
from netwarp.common.archives import unpack


@pytest.fixture(params=["with filters", "without"], autouse=True)
def filters(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "without":
        monkeypatch.delattr(tarfile, "data_filter", raising=False)


def _archive(*members: tuple[str, bytes, str]) -> tarfile.TarFile:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, kind, link in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.uid, info.gid = kind, link, 12345, 12345
            info.size = 4 if kind == tarfile.REGTYPE else 0
            info.mode = 0o755
            archive.addfile(info, io.BytesIO(b"text"))
    data.seek(0)
    return tarfile.open(fileobj=data, mode="r|")


def test_files_directories_and_links_are_unpacked_as_own_ones(tmp_path: Path) -> None:
    unpack(
        _archive(
            ("a", tarfile.DIRTYPE, ""),
            ("a/one", tarfile.REGTYPE, ""),
            ("a/link", tarfile.SYMTYPE, "one"),
            ("a/hard", tarfile.LNKTYPE, "a/one"),
        ),
        tmp_path,
    )
    assert [(tmp_path / "a" / name).read_text() for name in ("one", "link", "hard")] == ["text"] * 3
    assert (tmp_path / "a/one").stat().st_uid == os.getuid()
    assert (tmp_path / "a/one").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "a/link").is_symlink()


@pytest.mark.parametrize(
    "member",
    [
        ("../one", tarfile.REGTYPE, ""),
        ("link", tarfile.SYMTYPE, "../../one"),
        ("link", tarfile.SYMTYPE, "/etc/passwd"),
        ("hard", tarfile.LNKTYPE, "../one"),
        ("device", tarfile.CHRTYPE, ""),
    ],
)
def test_what_would_be_elsewhere_is_refused(tmp_path: Path, member: tuple[str, bytes, str]) -> None:
    place = tmp_path / "place"
    place.mkdir()
    with pytest.raises(tarfile.TarError):
        unpack(_archive(member), place)
    assert not (tmp_path / "one").exists()
    assert not list(place.iterdir())
