"""What is wrong with an answer that is not one of AWS, or not what we need."""

from __future__ import annotations


class BrokenAnswerError(Exception):
    """What came back cannot be an answer of AWS. A write may have taken effect."""


class MalformedAnswerError(BrokenAnswerError):
    """An answer of AWS that lacks what we need of it."""
