"""Python programs in processes of their own that do not import for seconds: they are forked from a process that has.

``run(arguments, …)`` is ``subprocess.run([sys.executable, *arguments], …)``, for ``-m module``, ``-c code`` and a file. A program has its own
streams, folder, environment and exit code; only modules are there before it asks for them: Howsure's, what these import, and Inspect where it is
named. A test about the start itself starts a real process; so does ``run`` where a variable differs that is read at imports.
"""

import atexit
import contextlib
import gc
import importlib
import importlib.metadata
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
import types
import warnings
from pathlib import Path

READ_AT_IMPORTS = ("PYTHON", "NUMBA_", "POLARS_", "OMP_", "OPENBLAS_", "LC_", "LANG", "HOWSURE_")
_servers = {}


def _at_imports(env):
    return {name: value for name, value in env.items() if name.startswith(READ_AT_IMPORTS)}


AT_OUR_START = _at_imports(os.environ)


def run(arguments, *, inspect=False, cwd=None, env=None, timeout=None, **options):
    """What a program came to: its exit code and what it printed, as texts."""
    line = [sys.executable, *map(str, arguments)]
    env = dict(os.environ if env is None else env)
    typed = options.pop("input", None)
    if options or _at_imports(env) != AT_OUR_START:
        options = {"capture_output": True, "text": True, "check": False} | options
        return subprocess.run(line, cwd=cwd, env=env, input=typed, timeout=timeout, **options)
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        given.write((typed or "").encode())
        given.seek(0)
        asked = json.dumps([line[1:], str(cwd or Path.cwd()), env]).encode()
        server = _server(inspect)
        socket.send_fds(server, [asked], [given.fileno(), out.fileno(), errors.fileno()])
        pid = int(server.recv(100))
        if not select.select([server], [], [], timeout)[0]:
            os.kill(pid, signal.SIGKILL)
            server.recv(100)
            raise subprocess.TimeoutExpired(line, timeout)
        code = int(server.recv(100))
        texts = []
        for file in (out, errors):
            file.seek(0)
            texts.append(file.read().decode())
    return subprocess.CompletedProcess(line, code, *texts)


def _server(inspect):
    """The connection to a process that has the modules, which starts when it is first needed and ends with ours."""
    if inspect not in _servers:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        line = [sys.executable, __file__, str(theirs.fileno()), *(["inspect"] if inspect else [])]
        process = subprocess.Popen(line, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
        theirs.close()
        _servers[inspect] = ours
        atexit.register(process.wait)
        atexit.register(ours.close)  # runs first, and ends the process
    return _servers[inspect]


def _serve(connection, inspect):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.path[0] = ""  # what `python -m` puts there; this folder is none of a program's business
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _import_all(inspect)
    while True:
        asked, streams, _, _ = socket.recv_fds(connection, 1 << 20, 3)
        if not asked:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # no thread of ours holds a lock
            pid = os.fork()
        if pid == 0:
            connection.close()
            _become(streams, *json.loads(asked))
        for stream in streams:
            os.close(stream)
        connection.send(str(pid).encode())
        connection.send(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())


def _import_all(inspect):
    package = Path(importlib.import_module("howsure").__file__).parent
    for file in sorted(package.rglob("*.py")):
        needs_inspect = file.stem == "registry" or "\nfrom inspect_ai" in file.read_text("utf-8")
        if file.stem not in ("__main__", "pytest_plugin") and (inspect or not needs_inspect):
            parts = file.relative_to(package.parent).with_suffix("").parts
            importlib.import_module(".".join(parts).removesuffix(".__init__"))
    for name in ("numba", "pandas", "vl_convert", "altair"):
        importlib.import_module(name)
    sys.modules["numba"].njit(lambda x: x + 1.0)(1.0)  # its registries are filled when something is compiled
    if inspect:
        _prepare_inspect()
    gc.freeze()  # a collection in a fork would touch, and so copy, everything
    assert inspect or "inspect_ai" not in sys.modules


def _prepare_inspect():
    """What Inspect imports, parses and looks up anew in every process that runs an eval; it took most of a short one's time."""
    from inspect_ai.model import get_model_info

    modules = (
        "_cli.main _control.server _control.current_server agent._acp.server agent._acp.transport_live hooks._startup"
    )
    modules += " model._providers.openai model._providers.openai_compatible model._providers.none"
    more = ("openai.resources.responses.responses", "openai.resources.chat.completions", "rich.markdown", "httpcore2")
    for name in (*(f"inspect_ai.{one}" for one in modules.split()), *more):
        with contextlib.suppress(ImportError):  # where this version has them
            importlib.import_module(name)
    get_model_info("openai/gpt-5")
    known = importlib.metadata.packages_distributions()
    sys.modules["inspect_ai._util.package"].packages_distributions = lambda: known


def _become(streams, arguments, folder, env):
    """Be the program that Python would run for these arguments, and end as it would."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    os.environ.setdefault("INSPECT_EVAL_CTL_SERVER", "false")  # a quarter of a short run's time; real processes have it
    code = 0
    try:
        _execute(arguments)
    except SystemExit as end:
        code = end.code
        if not isinstance(code, int | None):
            sys.stderr.write(f"{code}\n")
            code = 1
    except BaseException:  # noqa: BLE001  as Python does
        traceback.print_exc()
        code = 1
    finally:
        threading._shutdown()
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code or 0)


def _execute(arguments):
    kind, *rest = arguments
    if kind == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.argv = ["-c", *rest[1:]]
        sys.modules["__main__"] = program = types.ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), program.__dict__)
    else:
        sys.argv, sys.path[0] = arguments, str(Path(kind).resolve().parent)
        runpy.run_path(kind, run_name="__main__")


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:] == ["inspect"])
