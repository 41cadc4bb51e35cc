"""Places of the host that are private, and those that a lab has itself."""

import pwd
import stat
from functools import cache
from pathlib import Path


def is_private(folder: Path) -> bool:
    """Whether a directory holds more than a scenario: a home directory, one above it, or one that all users share."""
    path = folder.resolve()
    try:
        if path.stat().st_mode & stat.S_IWOTH:
            return True
    except OSError:
        return True
    return any(home.is_relative_to(path) for home in homes())


@cache
def homes() -> tuple[Path, ...]:
    """Every user's home directory; those of system users are in the system's directories."""
    found = {Path.home(), *(Path(user.pw_dir) for user in pwd.getpwall())}
    return tuple(home.resolve() for home in found if home.is_absolute() and not guests_own(home))


def guests_own(path: Path) -> bool:
    """Whether a path refers to the guest's own file in a lab, whatever the host has there."""
    return path.is_relative_to("/proc") or any(path.is_relative_to(place) for place in ("/sys", "/dev", "/run"))
