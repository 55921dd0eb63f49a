"""`make bench`: every module here that has `measure()` is run, and its figures are printed.

`python -m benchmarks reading startup` runs only those two.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks


def main() -> None:
    """Run the named benchmarks, or all."""
    names = [module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.name.startswith("_")]
    for name in sys.argv[1:] or names:
        module = importlib.import_module(f"benchmarks.{name}")
        print(f"\n{name}: {(module.__doc__ or '').strip().splitlines()[0]}", flush=True)
        for figure, value in module.measure().items():
            print(f"  {figure:<44} {value:>14,.4g}", flush=True)


if __name__ == "__main__":
    main()
