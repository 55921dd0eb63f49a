"""Examples of results, by class."""

from collections.abc import Callable

from howsure.results import Result

EXAMPLES: dict[type[Result], Callable[[], Result]] = {}


def example(kind):
    """Make a function without arguments the example of a result class; it should take less than a second."""

    def keep(make):
        EXAMPLES[kind] = make
        return make

    return keep
