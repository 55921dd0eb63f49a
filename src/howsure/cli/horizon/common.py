"""What the verbs on attempts share."""

from __future__ import annotations

from howsure.errors import OptionError

__all__ = ["numbers"]


def numbers(option: str, text: str) -> list[float]:
    """A list of numbers with commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise OptionError(f"{option} {text}: write numbers with commas, as in {option} 0.5,0.8.") from None
