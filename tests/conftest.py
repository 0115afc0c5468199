"""Hypothesis profiles, the seed of a CI run, and ``--quick``.

Profiles: dev (quick), ci (more examples; new ones for each commit), long (by
HYPOTHESIS_PROFILE=long). In CI the seed of Hypothesis and of the order of tests is made of the
commit: each commit draws new examples, and a failure comes back wherever that commit is tested.

``--quick`` runs the modules that say ``pytestmark = pytest.mark.quick``, and loads no others.
"""

from __future__ import annotations

import logging
import os
import resource
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from selection import QUICK_CPU_S, QUICK_TESTS, commit_seed, this_commit

TESTS = Path(__file__).parent
# The benchmarks are not installed. At the end of the path, so that the tests of mint_envs and
# trainers run on the installed package and not on the source tree beside it.
sys.path.append(str(TESTS.parent))

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile("dev", max_examples=50, deadline=None, suppress_health_check=_QUIET)
settings.register_profile(
    "ci",
    max_examples=200,
    deadline=None,
    derandomize=False,  # Hypothesis' own default in CI is True
    print_blob=True,
    suppress_health_check=_QUIET,
)
settings.register_profile("long", max_examples=10_000, deadline=None, suppress_health_check=_QUIET)
_PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev")
settings.load_profile(_PROFILE)


@pytest.fixture(autouse=True)
def our_loggers_speak() -> None:
    """Libraries under test configure logging for the process; what is ours is to be heard."""
    logging.disable(logging.NOTSET)
    for name, logger in list(logging.root.manager.loggerDict.items()):
        if name.startswith("mint_envs") and isinstance(logger, logging.Logger):
            logger.disabled, logger.propagate = False, True
            logger.setLevel(logging.NOTSET)


@pytest.fixture
def no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For runs of a trainer: no settings of this machine, an empty folder, and no picture."""
    for name in [name for name in os.environ if name.startswith("MINT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr("trainers.run.can_draw", lambda: False)
    monkeypatch.chdir(tmp_path)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="the modules that are marked quick")


@pytest.hookimpl(tryfirst=True)  # before the plugins that read the seeds
def pytest_configure(config: pytest.Config) -> None:
    if _PROFILE != "ci":
        return
    seed = commit_seed(this_commit())
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(seed)
    if config.getoption("randomly_seed", None) == "default":
        config.option.randomly_seed = seed


def pytest_report_header(config: pytest.Config) -> list[str]:
    if _PROFILE != "ci":
        return []
    seed = config.getoption("hypothesis_seed", None)
    again = f"HYPOTHESIS_PROFILE=ci pytest --hypothesis-seed={seed}"
    if config.pluginmanager.hasplugin("randomly"):
        again += f" -p randomly --randomly-seed={config.getoption('randomly_seed')}"
    return [f"examples of this commit; again: {again} [the test]"]


# -- quick ----------------------------------------------------------------------------------------


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave modules that are not quick unread: the import of torch alone takes seconds."""
    if not config.getoption("quick") or collection_path.suffix != ".py":
        return None
    marked = "\npytestmark = pytest.mark.quick\n" in collection_path.read_text(encoding="utf-8")
    return None if marked else True


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("quick"):
        return
    items[:] = [item for item in items if not any(map(item.get_closest_marker, ("slow", "local")))]
    chosen = config.getoption("keyword") or config.getoption("markexpr")
    everywhere = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if everywhere and not chosen and len(items) < QUICK_TESTS:
        raise pytest.UsageError(
            f"--quick has {len(items)} tests, and must have {QUICK_TESTS} or more: mark modules "
            "that take few seconds with `pytestmark = pytest.mark.quick`"
        )


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if config.getoption("quick"):
        spent = sum(cpu_s(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        count = sum(len(found) for key, found in terminalreporter.stats.items() if key == "passed")
        terminalreporter.write_line(
            f"quick: {count} passed, {spent:.0f} s of CPU (at most {QUICK_CPU_S} wanted)"
        )


def cpu_s(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime
