"""A sandbox for programs that a model wrote.

    from mint_envs.sandbox import Sandbox
    with Sandbox() as sandbox:
        outcome = sandbox.run("def f(x): return x + 1", calls=["f(1)", "f('a')"])
        outcome.records[0]          # ("value", 2)

The default needs no daemon, no privileges and no package. See docs/sandbox.md for what it holds
off, and how.
"""

from __future__ import annotations

import functools
import os
import sys
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import SandboxUnavailable, SettingError, did_you_mean
from ..process_local import ProcessLocal
from .cache import Cache
from .environment import PythonEnvironment, environment_of
from .port import Backend, Job, Limits, Outcome
from .toolchains import ALIASES, TOOLCHAINS

__all__ = ["Backend", "Job", "Limits", "Outcome", "Sandbox", "SandboxUnavailable", "shared"]

_WAYS_OUT = (
    "Ways out: let this container or user open user namespaces (sysctl kernel.unprivileged_userns_"
    "clone=1, kernel.apparmor_restrict_unprivileged_userns=0, or docker's --security-opt "
    "seccomp=unconfined), use a kernel with Landlock (Linux 5.13 or later), sandbox='docker', "
    "sandbox='podman', or sandbox='remote' with a SandboxFusion server. `mint-envs doctor` shows "
    "what works here."
)
_UNSAFE = (
    "sandbox='unsafe' runs generated programs with nothing between them and this machine: they "
    "can read, delete and send whatever you can. Use it only for programs that you wrote."
)


class Sandbox:
    """Runs programs, each in a fresh process that sees nothing of this machine.

    Args:
        backend: ``"auto"``: namespaces, else Landlock, else an error; ``"namespaces"`` or
            ``"landlock"`` for that one alone; ``"docker"``, ``"podman"`` (or
            ``"docker:runsc"`` for another runtime); ``"remote:http://host:8080"``;
            ``"unsafe"``: no walls at all; or an object with the methods of ``Backend``.
        workers: programs at the same time; 0 means one for each CPU.
        options: of the backend: ``python`` (auto, namespaces, landlock, unsafe: the folder of a
            virtual environment whose packages programs may import), ``runtime``, ``image``
            (docker, podman), ``url`` (remote).

    Raises:
        SandboxUnavailable: the backend does not work here; says what is missing.
        SettingError: there is no such backend.
    """

    def __init__(self, backend: str | Backend = "auto", workers: int = 0, **options: Any) -> None:
        self._backend = _backend(backend, workers, options) if isinstance(backend, str) else backend
        self._cache = Cache()
        weakref.finalize(self, _close_own, self._backend, os.getpid())

    @property
    def tier(self) -> str:
        """How programs are walled off: ``"namespaces"``, ``"landlock"``, ``"docker"``, ..."""
        return self._backend.tier

    def run(self, program: str, calls: Sequence[str] = (), *, stdin: str | None = None,
            language: str = "python", limits: Limits | None = None) -> Outcome:  # fmt: skip
        """Run a program and return the values of ``calls``, or what it prints given ``stdin``."""
        job = Job(
            program,
            "values" if stdin is None else "main",
            tuple(calls),
            stdin or "",
            language=language_name(language),
            limits=limits or Limits(),
        )
        return self.run_jobs([job])[0]

    def run_jobs(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Run many jobs on all workers; outcomes keep the order.

        A job that was run lately is not run again: its outcome would be the same.

        Raises:
            SandboxUnavailable: the tool of a job's language is not installed.
        """
        for language in sorted({job.language for job in jobs} - {"python"}):
            _require_tool(language, self.tier)
        outcomes = self._cache.get_all(jobs)
        new = [job for job in dict.fromkeys(jobs) if job not in outcomes]
        for job, outcome in zip(new, self._backend.run(new) if new else [], strict=True):
            outcomes[job] = outcome
            self._cache.put(job, outcome)
        return [outcomes[job] for job in jobs]

    def close(self) -> None:
        """End every process of it."""
        self._backend.close()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _close_own(backend: Backend, owner: int) -> None:
    """Close a backend that nobody uses any more; a forked process leaves it to its owner."""
    if os.getpid() == owner:
        backend.close()


def language_name(language: str) -> str:
    """Return the name here of a language, for any of the usual ways to write it.

    Raises:
        SettingError: no such language is known.
    """
    name = ALIASES.get(language.lower(), language.lower())
    if name != "python" and name not in TOOLCHAINS:
        raise SettingError(f"language={language!r}. {did_you_mean(name, ['python', *TOOLCHAINS])}")
    return name


def _require_tool(language: str, tier: str) -> None:
    chain = TOOLCHAINS[language_name(language)]
    if tier.partition(":")[0] in ("landlock", "plain", "docker", "podman"):
        raise SandboxUnavailable(
            f"language={language!r} needs namespaces, and this sandbox is {tier!r}: a compiler "
            "starts processes, which only a pid namespace of the program's own is sure to end. Let "
            "this user open user namespaces (`mint-envs doctor` shows what works here), or use "
            "sandbox='remote' with a SandboxFusion server."
        )
    if tier != "namespaces":
        return  # the tools are elsewhere
    if chain.path() is None:
        raise SandboxUnavailable(
            f"language={language!r} needs the command {chain.tool!r}, which is not installed"
        )
    if home := chain.out_of_reach():
        raise SandboxUnavailable(
            f"language={language!r}: {chain.tool!r} is installed in {home}, which holds more than "
            "programs may see. Install it in /usr, /usr/local, or a folder of its own outside /tmp"
        )


def _backend(name: str, workers: int, options: dict[str, Any]) -> Backend:
    name, _, argument = name.partition(":")
    if argument:
        options = {**options, "url" if name == "remote" else "runtime": argument}
    makers: dict[str, Callable[..., Backend]] = {
        "auto": _auto,
        "namespaces": functools.partial(_local, "namespaces"),
        "landlock": functools.partial(_local, "landlock"),
        "unsafe": _unsafe,
        "docker": functools.partial(_container_backend, "docker"),
        "podman": functools.partial(_container_backend, "podman"),
        "remote": _remote,
    }
    if name not in makers:
        raise SettingError(f"sandbox={name!r}. {did_you_mean(name, makers)}")
    try:
        return makers[name](workers=workers, **options)
    except TypeError as error:
        raise SettingError(f"sandbox={name!r} does not take these options: {error}") from None


def _auto(workers: int = 0, python: str = "") -> Backend:
    reasons = []
    for tier in ("namespaces", "landlock"):
        try:
            return _local_pool(tier, workers, python)
        except SandboxUnavailable as error:
            reasons.append(f"{tier}: {error}")
    raise SandboxUnavailable(
        f"No sandbox works on this machine ({'; '.join(reasons)}). {_WAYS_OUT}"
    )


def _local(tier: str, workers: int = 0, python: str = "") -> Backend:
    try:
        return _local_pool(tier, workers, python)
    except SandboxUnavailable as error:
        raise SandboxUnavailable(
            f"sandbox={tier!r} does not work on this machine: {error}. {_WAYS_OUT}"
        ) from None


def _local_pool(tier: str, workers: int, python: str = "") -> Backend:
    if sys.platform != "linux":
        raise SandboxUnavailable(f"it needs Linux, and this is {sys.platform}")
    from .pool import Pool
    from .worker import TierRefused

    try:
        return Pool(tier, workers, environment(python) if python else None)
    except (TierRefused, OSError) as error:
        raise SandboxUnavailable(str(error)) from None


def _unsafe(workers: int = 0, python: str = "") -> Backend:
    warnings.warn(_UNSAFE, RuntimeWarning, stacklevel=5)
    return _local_pool("plain", workers, python)


def environment(python: str) -> PythonEnvironment:
    """Return what a virtual environment, named by its folder or interpreter, has.

    Raises:
        SettingError: there is no interpreter, or it is too old.
        SandboxUnavailable: the interpreter does not answer.
    """
    try:
        return environment_of(python)
    except ValueError as error:
        raise SettingError(str(error)) from None
    except OSError as error:
        raise SandboxUnavailable(str(error)) from None


def _container_backend(command: str, **options: Any) -> Backend:
    from .container import Container

    return Container(command, **options)


def _remote(**options: Any) -> Backend:
    from .remote import Remote

    return Remote(**options)


def _made(name: str, python: str = "") -> Sandbox:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # ``shared`` says it, every time
        return Sandbox(name, python=python) if python else Sandbox(name)


#: A forked child goes on with them: each backend starts processes of its own there.
_shared = ProcessLocal(_made, Sandbox.close, inherited=True)


def shared(sandbox: str | Sandbox | None, python: str | None = None) -> Sandbox:
    """Return the sandbox that a setting names; one of each name is kept for the process.

    ``python`` is a virtual environment whose packages programs may import.

    Raises:
        SandboxUnavailable, SettingError: as ``Sandbox``; or a ``Sandbox`` is given, and an
            environment beside it.
    """
    if isinstance(sandbox, Sandbox):
        if python:
            raise SettingError(f"python={python!r}: give it to the Sandbox: Sandbox(python=...)")
        return sandbox
    if sandbox == "unsafe":
        warnings.warn(_UNSAFE, RuntimeWarning, stacklevel=2)
    return _shared.get(sandbox or "auto", python) if python else _shared.get(sandbox or "auto")
