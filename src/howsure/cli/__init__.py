"""The command line: parse, call, print. Everything else is in the library."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command `howsure`."""
    from howsure.cli.app import app

    app()
