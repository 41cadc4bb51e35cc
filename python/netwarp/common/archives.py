"""Unpacking archives in one directory, and nowhere else.

Python has filters for this since 3.11.4 (PEP 706), and Debian 12 has 3.11.2.
"""

import os
import tarfile
from pathlib import Path


def unpack(archive: tarfile.TarFile, place: Path) -> None:
    """Unpack all that the archive holds in the directory `place`, as this process's own files.

    Raises OSError, and tarfile.TarError for a file that would be elsewhere, a link to one, and a device.
    """
    if hasattr(tarfile, "data_filter"):
        archive.extractall(place, filter="data")
        return
    for member in archive:
        _require_inside(member, place)
        member.uid, member.gid, member.uname, member.gname = os.getuid(), os.getgid(), "", ""
        archive.extract(member, place)


def _require_inside(member: tarfile.TarInfo, place: Path) -> None:
    if not (member.isfile() or member.isdir() or member.issym() or member.islnk()):
        raise tarfile.ExtractError(f"{member.name} is neither a file, nor a directory, nor a link")
    path = place / member.name
    named = [path]
    if member.issym():
        named.append(path.parent / member.linkname)
    elif member.islnk():
        named.append(place / member.linkname)
    if not all(one.resolve().is_relative_to(place.resolve()) for one in named):
        raise tarfile.ExtractError(f"{member.name} would be outside of {place}")
