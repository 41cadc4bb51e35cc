"""Errors of advice."""

from netwarp.store.errors import SelectionError


class AdviceError(SelectionError):
    """A question that cannot be answered: what is missing or contradictory, in a sentence."""


class NoCandidateError(AdviceError):
    """No candidate meets the limits; the sentence names the one that comes nearest."""
