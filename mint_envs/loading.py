"""From a name to what it names: ``module:object``, ``path/to/file.py:object``, ``module:id``.

A module is looked for where Python looks, and then in the working folder; a file is found by its
path. The folder goes to the end of ``sys.path``, so that nothing is shadowed by a file and worker
processes find the module under the same name. Whatever is named twice is loaded once.
"""

from __future__ import annotations

import importlib
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from .errors import MintEnvsError, SettingError, did_you_mean, require

#: The id of an environment that a function or a task class makes by itself: ``locate`` writes it,
#: ``registration`` registers it when it is asked for.
FUNCTIONS = re.compile(r"functions/([\w.]+)\.(\w+)-v0")


class Loaded:
    """For tasks of a user's code, which may not pickle: they are loaded again instead.

    ``source`` is (a function, its one argument), by which the other process makes the task.
    """

    source: tuple[Callable[[Any], Any], Any] | None = None

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.source is None:
            return super().__reduce_ex__(protocol)
        load, name = self.source
        return load, (name,)


def imported(name: str) -> Any:
    """Return what ``module:name`` or ``file.py:name`` names; dots in the name reach inside.

    Raises:
        SettingError: there is no such module, file or name; says what there is.
    """
    module, _, path = name.rpartition(":")
    require(bool(module and path), f"{name!r} must look like 'module:name' or 'file.py:name'")
    found: Any = load_module(module, repr(name))
    for part in path.split("."):
        if not hasattr(found, part):
            raise SettingError(
                f"{module} has no {part!r}. {did_you_mean(part, _callables_in(found))}"
            )
        found = getattr(found, part)
    return found


def locate(id: str) -> str:
    """Import the module of ``"module:id"``, and return the id as ``gym.make`` takes it.

    ``"echo:my/Echo-v0"`` looks for ``echo`` in the working folder too, which a command does not
    do by itself; ``"path/to/echo.py:my/Echo-v0"`` names the file. ``"rewards.py:exact"`` is no id
    but a reward function, or a task class: it gets one.

    Raises:
        SettingError: there is no such module or file, or the file's name is another module's.
    """
    module, colon, name = id.rpartition(":")
    if not colon:
        return id
    loaded = load_module(module, id)
    home = Path(module).stem if is_file(module) else module
    if name.isidentifier():  # an id has a version
        if not callable(getattr(loaded, name, None)):
            meant = did_you_mean(name, _callables_in(loaded))
            raise SettingError(f"{id}: {module} has no function {name!r}. {meant}")
        return f"functions/{home}.{name}-v0"
    return f"{home}:{name}"


def is_file(name: str) -> bool:
    """Return whether the name, or what stands before its colon, is that of a Python file."""
    return (name.rpartition(":")[0] or name).endswith(".py")


def load_module(module: str, asked: str) -> ModuleType:
    """Return a module by its name or the path of its file; ``asked`` stands in the errors.

    Raises:
        SettingError: there is no such module or file, it needs another that is not there, or the
            file's name is another module's.
    """
    if is_file(module):
        return _from_file(Path(module), asked)
    named = all(part.isidentifier() for part in module.split("."))
    require(named, f"{asked}: {module!r} is no name of a module; a file's name ends in .py")
    return _import(module, [Path.cwd()], asked)


def _from_file(file: Path, asked: str) -> ModuleType:
    require(file.is_file(), f"{asked}: there is no file {file} (looked from {Path.cwd()})")
    require("." not in file.stem, f"{asked}: a module has no dot in its name; rename {file}")
    found = _import(file.stem, [file.resolve().parent, Path.cwd()], asked)
    home = getattr(found, "__file__", None)
    mine = home is not None and Path(home).resolve() == file.resolve()
    require(mine, f"{asked}: the name {file.stem} is taken by {home or found}; rename {file}")
    return found


def _import(module: str, folders: Sequence[Path], asked: str) -> ModuleType:
    """Import ``module``, with one folder more each time that something is not found."""
    more = [str(folder) for folder in folders if str(folder) not in sys.path]
    while True:
        if (
            module not in sys.modules
        ):  # its file may be younger than what Python knows of the folder
            importlib.invalidate_caches()
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            if not more:
                raise SettingError(_missing(module, folders[0], asked, error)) from error
        except MintEnvsError:
            raise  # it says what to do
        except (Exception, SystemExit) as error:
            raise SettingError(f"{asked}: {_raised(error)}") from error
        sys.path.append(more.pop(0))


def _missing(module: str, folder: Path, asked: str, error: ModuleNotFoundError) -> str:
    own = error.name == module
    where = f" in {folder}, nor installed" if own else f", which {module} needs"
    return f"{asked}: there is no module {error.name}{where}"


def _raised(error: BaseException) -> str:
    """Return what a module raised when it was imported, and in which line."""
    if isinstance(error, SyntaxError):
        return f"{Path(error.filename or '').name}, line {error.lineno}: {error.msg}. Mend it"
    if isinstance(error, ImportError):
        return f"{error} (looked from {Path.cwd()})"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(frame.filename).name}, line {frame.lineno}"
    if isinstance(error, SystemExit):
        return f"{where}, ends the process on import. Put it below: if __name__ == '__main__':"
    said = " ".join(str(error).split())
    return f"{where}, raises {type(error).__name__}: {said} when it is imported. Mend it"


def _callables_in(found: Any) -> list[str]:
    """Return what a module, or a class, defines and does not import, if it can be called."""
    home = getattr(found, "__name__", "")
    return [
        name
        for name, value in getattr(found, "__dict__", {}).items()
        if callable(value) and not name.startswith("_")
        and getattr(value, "__module__", home) in (home, getattr(found, "__module__", home))
    ]  # fmt: skip
