"""Errors of advice."""

from netwarp.store.errors import SelectionError


class AdviceError(SelectionError):
    """A question that cannot be answered; the message is a sentence on the missing or contradictory part."""


class NoCandidateError(AdviceError):
    """No candidate meets the limits; the sentence names the one that comes nearest."""
