"""Runs a program as a script, from its first line to what an interpreter does at its end.

Contests feed a program on its standard input and read its standard output, so what a script finds
here is what ``python solution.py`` gives it: its own file name, the names of ``site``, the devices
of its streams, and an end at which threads are waited for and buffers are flushed.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import gc
import io
import os
import sys
import types
from collections.abc import Callable
from typing import Any

from .records import FILE, Records, execute, module

#: The streams by the names that the kernel gives them; there is no /proc to look them up in.
_STREAMS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2,
            "/dev/fd/0": 0, "/dev/fd/1": 1, "/dev/fd/2": 2}  # fmt: skip


def main(job: dict[str, Any], records: Records, peer: int) -> None:
    """The program as a script: stdin and stdout are files of the caller's."""
    source = job["program"]
    os.chdir(_folder())
    write_files(job.get("files", {}))
    if "/dev/" in source:
        _open_streams()
    names = module("__main__")
    sys.argv = [FILE, *job.get("arguments", ())]
    names["__file__"] = _own_file(source)
    names["__builtins__"] = builtins  # of a script, and of no other module, that is the module

    ended = [1]

    def script() -> None:
        try:
            execute(source, names)
            ended[0] = 0
        except SystemExit as end:
            ended[0] = _status(end.code)
            if ended[0]:
                raise
        finally:
            finish(source, names)

    records.attempt(-1, script)
    os._exit(ended[0])


def _status(code: Any) -> int:
    """Return the exit status that ``sys.exit(code)`` gives an interpreter."""
    if code is None or isinstance(code, int):
        return int(code or 0) & 0xFF
    return 1


def write_files(files: dict[str, str]) -> None:
    """Write files that a program finds in its folder, which is the current one."""
    for name, text in files.items():
        with open(name, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
            file.write(text)


def _folder() -> str:
    """Return the one folder that a program may write to."""
    return os.environ.get("TMPDIR", "/tmp")


def _own_file(source: str) -> str:
    """Return the path of the script; it is there for those that ask for it."""
    path = os.path.join(_folder(), FILE)
    if "__file__" in source:
        with contextlib.suppress(OSError), open(path, "w", errors="surrogatepass") as file:
            file.write(source)
    return path


def _open_streams() -> None:
    """Let ``open`` and ``os.open`` find the streams by the names of their devices."""
    open_file, open_number = io.open, os.open

    def opened(file: Any, *arguments: Any, **options: Any) -> Any:
        number = _stream_number(file)
        return open_file(file if number is None else os.dup(number), *arguments, **options)

    def opened_number(path: Any, *arguments: Any, **options: Any) -> int:
        number = _stream_number(path)
        return open_number(path, *arguments, **options) if number is None else os.dup(number)

    builtins.open = io.open = opened
    os.open = opened_number


def _stream_number(path: Any) -> int | None:
    return _STREAMS.get(os.fspath(path)) if isinstance(path, str | os.PathLike) else None


def finish(source: str, names: dict[str, Any]) -> None:
    """Do what an interpreter does at its end, which ``os._exit`` would leave out."""
    if threads := sys.modules.get("threading"):  # not imported here: it makes every fork dearer
        threads._shutdown()
    atexit._run_exitfuncs()
    if "__del__" in source or "yield" in source:
        _flush(sys.stdout)
        _let_go(names)
    for stream in (sys.stdout, sys.__stdout__):
        _flush(stream)
    if any(word in source for word in ("open", "Writer", "Wrapper", "IOBase")):
        _flush_all()


def _let_go(names: dict[str, Any]) -> None:
    """Let a script's objects go: ``__del__`` and ``finally`` may use its modules and functions."""
    kept = (types.ModuleType, types.FunctionType, type)
    for name in [name for name, value in names.items() if not isinstance(value, kept)]:
        if name != "__builtins__":
            names[name] = None


def _flush_all() -> None:
    """Flush every stream there is: what one of the first flushes, one of the later may hold."""
    streams = [thing for thing in gc.get_objects() if isinstance(thing, io.IOBase)]
    for kind in (io.IOBase, io.TextIOWrapper, io.BufferedWriter):
        for stream in streams:
            if type(stream) is kind or (kind is io.IOBase and _of_the_script(stream)):
                _flush(stream)


def _of_the_script(stream: Any) -> bool:
    return type(stream).__module__ == "__main__"


def _flush(stream: Any) -> None:
    with contextlib.suppress(Exception):
        if not stream.closed:
            stream.flush()


def add_site() -> None:
    """Add the names that ``site`` gives an interpreter, which starts here without it."""
    import _sitebuiltins

    made: dict[str, Callable[..., Any]] = {
        "exit": _sitebuiltins.Quitter("exit", "Ctrl-D (i.e. EOF)"),
        "quit": _sitebuiltins.Quitter("quit", "Ctrl-D (i.e. EOF)"),
        "help": _sitebuiltins._Helper(),
    }
    for name, value in made.items():
        setattr(builtins, name, value)
    for name in ("copyright", "credits", "license"):
        setattr(builtins, name, _sitebuiltins._Printer(name, "See https://docs.python.org/license"))
