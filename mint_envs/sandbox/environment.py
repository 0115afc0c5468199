"""A virtual environment for the sandbox: its interpreter, and packages that programs may import.

Only the folders of its packages are shown to programs, never the environment itself: no script of
it, no ``.pth`` file is run, and nothing of it can be written to. Standard library only: also used
in containers.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
from dataclasses import dataclass

_ASK = (
    "import json, os, sys, sysconfig; path = sysconfig.get_path; print(json.dumps(dict("
    "version=sys.version_info[:2], "
    "executable=os.path.realpath(getattr(sys, '_base_executable', '') or sys.executable), "
    "standard=sorted({path('stdlib'), path('platstdlib')}), "
    "site=sorted({os.path.realpath(path(name)) for name in ('purelib', 'platlib')}), "
    "libraries=sysconfig.get_config_var('LIBDIR') or '')))"
)
_OLDEST = (3, 11)
_PATIENCE_S = 60.0
#: Dear to import: a zygote that has them is kept for programs that name one.
HEAVY = (
    "numpy",
    "scipy",
    "pandas",
    "sklearn",
    "sympy",
    "networkx",
    "matplotlib",
    "sortedcontainers",
)


@dataclass(frozen=True, slots=True)
class PythonEnvironment:
    """What the sandbox needs to know of an interpreter and its packages.

    Args:
        executable: the interpreter, without its virtual environment.
        standard: folders of its standard library.
        site: folders of its packages.
        libraries: folder of its shared libraries, or ``""``.
    """

    executable: str
    standard: tuple[str, ...]
    site: tuple[str, ...]
    libraries: str

    def has(self, package: str) -> bool:
        """Return whether a package can be imported, by the looks of its folder."""
        return any(
            os.path.isdir(f"{folder}/{package}") or os.path.isfile(f"{folder}/{package}.py")
            for folder in self.site
        )

    def heavy(self) -> tuple[str, ...]:
        """Return those of its packages that are dear to import."""
        return tuple(name for name in HEAVY if self.has(name))


@functools.cache
def environment_of(python: str) -> PythonEnvironment:
    """Return the environment that a setting names: an interpreter, or the folder of one.

    Raises:
        ValueError: there is no interpreter, or it is too old.
        OSError: the interpreter does not answer.
    """
    path = os.path.expanduser(python)
    if os.path.isdir(path):
        path = os.path.join(path, "bin", "python")
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        raise ValueError(
            f"python={python!r}: there is no interpreter {path!r}. Give a virtual environment's "
            "folder, or its bin/python"
        )
    try:
        done = subprocess.run([os.path.abspath(path), "-I", "-c", _ASK], capture_output=True,
                              text=True, timeout=_PATIENCE_S, check=True)  # fmt: skip
        told = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise OSError(f"python={python!r} does not run: {error}") from None
    if tuple(told["version"]) < _OLDEST:
        raise ValueError(
            f"python={python!r} is Python {'.'.join(map(str, told['version']))}; the sandbox needs "
            f"{'.'.join(map(str, _OLDEST))} or newer"
        )
    return PythonEnvironment(
        told["executable"], tuple(told["standard"]), tuple(told["site"]), told["libraries"]
    )
