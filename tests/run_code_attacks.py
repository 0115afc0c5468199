"""Every attack and honest program of tests/data, against one tier of the sandbox.

    python -m tests.run_code_attacks namespaces      # as root, or as any user
    python -m tests.run_code_attacks landlock

Prints what went wrong and ends with 1 if anything did. It first puts itself into a pids cgroup,
where it may, so that a fork bomb that gets out meets a wall. It looks for what was left on the
host: processes, descriptors, mounts, cgroups and files.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mint_envs.code.grade import GradeSettings, grade_many
from mint_envs.code.plan import make_plan
from mint_envs.sandbox import Sandbox
from mint_envs.sandbox.folders import PREFIX, _locked
from mint_envs.sandbox.toolchains import TOOLCHAINS
from tests.soak_code import descendants

DATA = Path(__file__).parent / "data"
#: The last five: programs that would rather not be measured than earn their 0; those against
#: checkers, the ends of scripts and their streams by name; those against what tests share with it;
#: those against calls that are made many at once, and the packages of an environment; those that
#: look for the answer to a test in the arguments of another.
FILES = (
    "code_attacks.jsonl",
    "code_attacks_more.jsonl",
    "code_attacks_reader.jsonl",
    "code_attacks_unmeasured.jsonl",
    "code_attacks_judge.jsonl",
    "code_attacks_shared.jsonl",
    "code_attacks_ahead.jsonl",
    "code_attacks_apart.jsonl",
)
LONGEST_S = 150  # of one group of programs, each of which may take a few seconds
CGROUPS = Path("/sys/fs/cgroup")
OTHERS = "mint-memory-"  # of a test that may run beside this
MARKS = ("SBX_ESCAPE", "SBX_DAEMON_ALIVE", "SBX_STATE", "SBX_FILL_0", "conftest.py")


def attacks() -> list[dict[str, Any]]:
    lines = [line for name in FILES for line in (DATA / name).read_text().split("\n") if line]
    return [json.loads(line) for line in lines]


def wanted(attack: dict[str, Any]) -> float | None:
    """The score that an attack must have; None if any will do."""
    must = attack["must"]
    if must.startswith("any"):
        return None
    return 1.0 if "honest" in must or "no leak" in must else 0.0


def run(sandbox: Sandbox, chosen: Iterable[dict[str, Any]]) -> list[str]:
    """Run attacks; return a line for each that went wrong."""
    chosen = [attack for attack in chosen if runs(sandbox, attack)]
    others = [attack for attack in chosen if "language" in attack]
    chosen = [attack for attack in chosen if "language" not in attack]
    quick, patient = GradeSettings(sandbox_timeout_s=0.3), GradeSettings(sandbox_timeout_s=20.0)
    groups: list[tuple[GradeSettings, list[dict[str, Any]]]] = [
        (patient, [a for a in chosen if wanted(a) == 1.0 and a["class"] != "state leak"]),
        (quick, [a for a in chosen if wanted(a) != 1.0 and a["class"] != "state leak"]),
        *((patient, [a]) for a in chosen if a["class"] == "state leak"),  # one after the other
        *((for_language(a), [a]) for a in others),
    ]
    wrong = []
    for settings, group in groups:
        items = [(f"```\n{a['program']}\n```", make_plan(a["tests"])) for a in group]
        begun = time.monotonic()
        rewards = grade_many(items, settings, sandbox)
        if time.monotonic() - begun > LONGEST_S:
            wrong.append(f"{group[0]['id']} and {len(group) - 1} others: too long")
        for attack, reward in zip(group, rewards, strict=True):
            want = wanted(attack)
            if want is not None and reward.score != want:
                wrong.append(f"{attack['id']}: {reward.score}, not {want}: {reward.metadata}")
    return wrong + [f"left on the host: {path}" for path in left_behind()]


def for_language(attack: dict[str, Any]) -> GradeSettings:
    """A compiler has limits of its own; what only wants not to be measured need not run long."""
    seconds = 1.0 if attack["class"] == "unmeasured" else 20.0
    return GradeSettings(sandbox_timeout_s=seconds, language=attack["language"])


def runs(sandbox: Sandbox, attack: dict[str, Any]) -> bool:
    """Other languages run in namespaces only, where their tools are installed."""
    language = attack.get("language")
    return language is None or (
        sandbox.tier == "namespaces" and TOOLCHAINS[language].path() is not None
    )


def left_behind() -> list[str]:
    folders = ("/tmp", "/root", "/usr/lib", "/etc", str(Path.cwd()))
    return [f"{folder}/{mark}" for folder in folders for mark in MARKS if _exists(folder, mark)]


def _exists(folder: str, mark: str) -> bool:
    try:
        return (Path(folder) / mark).exists() and mark != "conftest.py"
    except OSError:
        return False


def host() -> dict[str, set[str]]:
    """What a program could leave on this machine, as far as it is ours."""
    me = Path("/proc/self")
    groups = [str(path) for path in CGROUPS.glob("*/*") if not path.name.startswith(OTHERS)]
    return {
        "process": {str(pid) for pid in descendants(os.getpid())},
        "descriptor": set(os.listdir(me / "fd")),
        "mount": set((me / "mountinfo").read_text().splitlines()),
        "cgroup": {*(me / "cgroup").read_text().splitlines(), *groups},
        "folder": {path for top in ("/dev/shm", "/tmp") for path in unheld(top)},
    }


def unheld(top: str) -> set[str]:
    """The folders for programs that no living process holds, nor holds a moment later."""
    found = {str(path) for path in Path(top).glob(f"{PREFIX}*") if free(path)}
    if found:
        time.sleep(0.3)
    return {path for path in found if free(Path(path))}


def free(path: Path) -> bool:
    try:
        os.close(_locked(str(path)))
    except OSError:
        return False
    return True


def limit_processes(most: int = 1000) -> bool:
    """Join a pids cgroup of our own; False where that is not allowed."""
    for root in (CGROUPS / "pids", CGROUPS):
        group = root / "mint-attacks"
        try:
            group.mkdir(exist_ok=True)
            (group / "pids.max").write_text(str(most))
            (group / "cgroup.procs").write_text(str(os.getpid()))
            return True
        except OSError:
            continue
    return False


def main(tier: str) -> int:
    bounded = limit_processes()
    os.environ["SBX_API_KEY"] = "secret"  # what a leak would show
    begun, before = time.monotonic(), host()
    with Sandbox(tier, workers=6) as sandbox:  # many of them sleep
        chosen = [attack for attack in attacks() if runs(sandbox, attack)]
        wrong = run(sandbox, chosen)
    after = host()
    wrong += [f"left: {kind} {it}" for kind in after for it in sorted(after[kind] - before[kind])]
    print(*wrong, sep="\n")
    print(
        f"{tier}, uid {os.geteuid()}, {'in' if bounded else 'without'} a pids cgroup: "
        f"{len(chosen)} programs, {len(wrong)} wrong, {time.monotonic() - begun:.0f} s"
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
