"""Errors about kernels, with sentences for the user."""

from __future__ import annotations


class KernelError(Exception):
    """A kernel could not be found, built or removed; the message says what, where, why and what to do."""


class KernelMissing(KernelError):
    """No kernel that fits this netwarp has been built yet."""


class SourceMissing(KernelError):
    """The kernel source package is not on this machine."""


class CannotBuild(KernelError):
    """This machine cannot build kernels: a program or room is missing."""


class BuildFailed(KernelError):
    """A step of the build failed; the message ends with the last errors and the path of the log."""
