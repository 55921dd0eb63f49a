"""Families of learning curves: one file per form."""

from collections.abc import Mapping

from howsure.errors import OptionError
from howsure.horizon.learning_curves.families.approach import Exponential, Power3, to_base_rate
from howsure.horizon.learning_curves.families.base import CurveFamily, Fit
from howsure.horizon.learning_curves.families.isotonic import Isotonic
from howsure.horizon.learning_curves.families.logistic4 import Logistic4
from howsure.horizon.learning_curves.families.two_parameter import LogitLog, PowerLaw

__all__ = ["CONTEST", "FAMILIES", "CurveFamily", "Fit", "family_of", "to_base_rate"]

CONTEST = ("power", "logit-log", "exponential", "power3", "logistic4")
"""Those that compete by AIC, the quickest to fit first. The isotonic curve does not: how many parameters it has depends on the data, and it says nothing beyond them."""

FAMILIES: Mapping[str, CurveFamily] = {
    family.name: family for family in (Exponential(), PowerLaw(), Power3(), LogitLog(), Logistic4(), Isotonic())
}


def family_of(name: str) -> CurveFamily:
    """The family called `name`."""
    if name not in FAMILIES:
        raise OptionError.unknown("curve", name, FAMILIES)
    return FAMILIES[name]
