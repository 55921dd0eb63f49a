"""Success rates at which horizons are read: shares between 0 and 1, everywhere."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.errors import OptionError

__all__ = ["check_success_rates"]


def check_success_rates(rates: Sequence[float]) -> None:
    """Refuse an empty list, and a rate that is not a share between 0 and 1."""
    if not rates:
        raise OptionError("No success rate is given. 0.5 asks for what is done half of the time.")
    for rate in rates:
        if not 0 < rate < 1:
            raise OptionError(f"Success rate {rate:g} is not between 0 and 1. Write 0.5 for 50 %.")
