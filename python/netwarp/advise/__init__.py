"""Advice for an environment: candidates are run in it, judged, and compared with the present configuration."""

from netwarp.advise.advice import Advice, advise
from netwarp.advise.errors import AdviceError, NoCandidateError
from netwarp.advise.question import Question

__all__ = ["Advice", "AdviceError", "NoCandidateError", "Question", "advise"]
