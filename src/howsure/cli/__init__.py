"""The command line: parse, call, print. Everything else is in the library."""

from __future__ import annotations

__all__ = ["AFTER_A_STOP", "main"]

AFTER_A_STOP = "The files named as written are complete. No other table, chart or report was written."
_STOPPED = f"The command was stopped by Ctrl-C. {AFTER_A_STOP}"


def main() -> None:
    """Run the command `howsure`.

    The exit code is 0, 2 for errors that the user can fix (also when standard output could not be written), 70 after an unexpected error (with
    its traceback), 130 or 143 after Ctrl-C or SIGTERM; `howsure gate` ends with 1 for block and 3 for cannot tell. A reader that left early, as
    `head` does, is no error.
    """
    import sys

    try:
        _run()
    except KeyboardInterrupt:  # while the first modules were imported
        sys.stderr.write(f"howsure: {_STOPPED}\n")
        raise SystemExit(130) from None


def _run() -> None:
    import errno
    import sys

    from howsure.cli import output

    printed = output.guard_streams()
    from howsure.cli.app import app

    try:
        app()
    except Exception:  # noqa: BLE001
        import traceback

        traceback.print_exc()  # Python itself would end with 1, which reads as a verdict
        raise SystemExit(70) from None
    except SystemExit as end:
        if end.code == 130 and not output.has_told_error:  # while the verb was imported: typer ends without a word
            output.print_error(_STOPPED)
        sys.stdout.flush()
        failure = printed.failure if printed else None
        if printed and printed.is_closed and printed.has_output:
            failure = OSError(errno.EBADF, "it is closed")
        if end.code or failure is None or isinstance(failure, BrokenPipeError):
            raise
        if printed and printed.is_closed and output.has_written:
            raise
        output.print_error(
            f"standard output could not be written ({failure.strerror}); files that were reported as written are complete."
        )
        raise SystemExit(2) from None
