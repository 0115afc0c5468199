"""Other languages than Python, where their tools are installed."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mint_envs.code import Sandbox, grade
from mint_envs.errors import SandboxUnavailable
from mint_envs.sandbox import Job, Limits, shared, toolchains
from mint_envs.sandbox.toolchains import TOOLCHAINS, Toolchain

DATA = Path(__file__).parent / "data"
TESTS = [{"stdin": f"{n}\n", "stdout": f"{2 * n}\n"} for n in (4, 5)]

DOUBLE = {
    "javascript": "console.log(2 * parseInt(require('fs').readFileSync(0, 'utf8')))",
    "cpp": "#include <iostream>\nint main() { int n; std::cin >> n; std::cout << 2 * n << '\\n'; }",
    "rust": "use std::io;\nfn main() { let mut s = String::new(); io::stdin().read_line(&mut s)"
    '.unwrap(); let n: i32 = s.trim().parse().unwrap(); println!("{}", 2 * n); }',
    "go": 'package main\nimport "fmt"\nfunc main() { var n int; fmt.Scan(&n); fmt.Println(2 * n) }',
    "java": "public class Main { public static void main(String[] a) { "
    "System.out.println(2 * new java.util.Scanner(System.in).nextInt()); } }",
}
READS = {  # what a program says of a file of the host's
    "javascript": "try { require('fs').readFileSync('/etc/passwd'); console.log('LEAK') } "
    "catch (e) { console.log('nothing') }",
    "cpp": '#include <fstream>\n#include <iostream>\nint main() { std::ifstream f("/etc/passwd"); '
    'std::cout << (f ? "LEAK" : "nothing"); }',
}


def need(language: str) -> None:
    if TOOLCHAINS[language].path() is None:
        pytest.skip(f"{TOOLCHAINS[language].tool} is not installed")
    if shared(None).tier != "namespaces":
        pytest.skip("other languages need namespaces")


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_switch_of_rustups_is_no_compiler(
    link: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its toolchains lie elsewhere. Without one nothing is compiled: not measured, and not 0."""
    rust, switches = TOOLCHAINS["rust"], tmp_path / "cargo" / "bin"
    switches.mkdir(parents=True)
    (switches / "rustup").write_text("")
    (switches / "rustup").chmod(0o755)
    link(switches / "rustup", switches / "rustc")
    monkeypatch.setenv("PATH", str(switches))
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.delenv("RUSTUP_HOME", raising=False)
    assert rust.path() is None
    for home in ("nobody/.rustup", "rustup", "told"):
        compiler = tmp_path / home / "toolchains" / "stable" / "bin" / "rustc"
        compiler.parent.mkdir(parents=True)
        compiler.write_text("")
        monkeypatch.setenv("RUSTUP_HOME", str(tmp_path / "told"))
        assert rust.path() == rust.command() == str(compiler)
        shutil.rmtree(tmp_path / home)


@pytest.mark.parametrize("language", list(DOUBLE))
def test_right_wrong_broken_and_endless(language: str) -> None:
    need(language)
    right = f"```{language}\n{DOUBLE[language]}\n```"
    assert grade(right, TESTS, language=language).score == 1.0
    wrong = right.replace("2 *", "3 *")
    reward = grade(wrong, TESTS, language=language)
    assert (reward.score, reward.metadata["tests"][0]["status"]) == (0.0, "wrong")
    reward = grade(right.replace("(", "((", 1), TESTS, language=language)
    assert (reward.score, reward.metadata["tests"][0]["status"]) == (0.0, "error")
    assert reward.metadata["error"]


@pytest.mark.parametrize("language", list(READS))
def test_they_are_shut_in_as_well(language: str) -> None:
    need(language)
    outcome = shared(None).run(READS[language], stdin="", language=language)
    assert outcome.stdout.strip() == b"nothing", outcome


def test_limits_hold_for_them() -> None:
    need("javascript")
    sandbox = shared(None)
    loop = sandbox.run("for (;;) {}", stdin="", language="js", limits=Limits(cpu_s=0.3))
    assert loop.limit == "cpu"
    bomb = "try { require('child_process').execSync('true'); console.log('LEAK') } " \
        "catch (e) { console.log('nothing') }"  # fmt: skip
    assert sandbox.run(bomb, stdin="", language="js").stdout.strip() == b"nothing"


@pytest.mark.parametrize("language", ["cpp", "javascript"])
def test_a_little_memory_is_enough_for_a_small_program_and_not_for_a_large_one(
    language: str,
) -> None:
    need(language)
    large = {
        "cpp": "#include <vector>\nint main() { std::vector<int> v(1 << 26, 1); return v[7] - 1; }",
        "javascript": "const a = []; for (let i = 0; i < 40; i++) a.push(Buffer.alloc(1 << 23, 1))",
    }[language]
    least = [{**test, "memory_limit": 64} for test in TESTS]
    assert grade(f"```\n{DOUBLE[language]}\n```", least, language=language).score == 1.0
    limits = Limits(memory=64 << 20)
    outcome = shared(None).run(large, stdin="", language=language, limits=limits)
    assert outcome.limit == "memory"
    assert not shared(None).run(large, stdin="", language=language).limit


def test_a_compiler_runs_once_for_all_tests_and_repeats() -> None:
    need("cpp")
    program = f"```cpp\n{DOUBLE['cpp']}\n// once\n```"
    many = [{"stdin": f"{n}\n", "stdout": f"{2 * n}\n"} for n in range(10)]
    with Sandbox(workers=1) as sandbox:
        first = grade(program, many, language="cpp", sandbox=sandbox)
        assert first.score == 1.0
        backend = sandbox._backend
        assert len(backend._artifacts._made) == 1  # type: ignore[attr-defined]


def test_references_of_human_eval_x_run() -> None:
    rows = [
        json.loads(line) for line in (DATA / "humaneval_x_small.jsonl").read_text().splitlines()
    ]
    usable = [row for row in rows if TOOLCHAINS[row["language"]].path()]
    if not usable or shared(None).tier != "namespaces":
        pytest.skip("no tool of any language, or no namespaces")
    jobs = [
        Job(row["program"], "main", language=row["language"], limits=Limits(20.0)) for row in usable
    ]
    for row, outcome in zip(usable, shared(None).run_jobs(jobs), strict=True):
        assert (outcome.exit_code, outcome.limit, outcome.failure) == (0, "", ""), (row, outcome)
        assert outcome.stdout == b"done\n", (row["id"], outcome)


def test_references_fail_when_their_tests_are_made_false() -> None:
    lines = (DATA / "humaneval_x_small.jsonl").read_text().splitlines()
    for row in map(json.loads, lines):
        if row["id"] in ("JavaScript/162", "Go/162", "Rust/162") and ready(row["language"]):
            program = row["program"].replace("3e25960a79dbc69b674cd4ec67a72c62", "0" * 32)
            assert program != row["program"]
            outcome = shared(None).run(program, stdin="", language=row["language"])
            assert outcome.exit_code != 0, row["id"]


def ready(language: str) -> bool:
    return TOOLCHAINS[language].path() is not None and shared(None).tier == "namespaces"


def test_compilers_have_a_limit_of_cpu_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the compiler's own processes: the one that starts them only waits."""
    need("cpp")
    bomb = (
        "template<int N, unsigned M> struct A { static constexpr unsigned v = A<N - 1, M>::v + "
        "A<N - 1, M + (1u << N)>::v; };\n"
        "template<unsigned M> struct A<0, M> { static constexpr unsigned v = M; };\n"
        "int main() { return A<26, 0>::v & 1; }\n"
    )
    monkeypatch.setattr(toolchains, "_COMPILE", Limits(2.0, 2 << 30, 64 << 20))
    with Sandbox(workers=1) as sandbox:
        outcome = sandbox.run(bomb, stdin="", language="cpp")
    assert outcome.error(-1)[0] == "CompileError", outcome
    # Ended by its own limit, or by the one over all of its processes, whichever is noticed first.
    assert outcome.limit in ("", "cpu")


@pytest.mark.parametrize("language", TOOLCHAINS)
def test_the_sound_program_of_every_language_prints_42(language: str) -> None:
    need(language)
    sound = TOOLCHAINS[language].sound
    assert shared(None).run(sound, stdin="", language=language).stdout.strip() == b"42"


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A language whose tool, a copy of ``cat``, lies in a folder that is made by this."""
    folders: list[Path] = []

    def copy(place: Path) -> None:
        folders.append(place.parent if place.name == "v1" else place)
        (place / "bin").mkdir(parents=True)
        shutil.copy("/bin/cat", place / "bin" / "kitten")
        monkeypatch.setenv("PATH", f"{place}/bin{os.pathsep}{os.environ['PATH']}")
        chain = Toolchain("kitten", "main.txt", (), ("{tool}", "main.txt"), "42")
        monkeypatch.setitem(TOOLCHAINS, "kitten", chain)

    yield copy
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def test_a_tool_in_a_folder_of_its_own_is_found(copied: Any) -> None:
    """As nvm, SDKMAN and the like install them."""
    need("javascript")
    try:
        place = Path(tempfile.mkdtemp(dir="/var/tmp"))
    except OSError:
        pytest.skip("/var/tmp cannot be written to")
    place.chmod(0o755)
    copied(place / "v1")
    with Sandbox(workers=1) as sandbox:
        assert sandbox.run("meow", stdin="", language="kitten").stdout == b"meow"


def test_a_tool_among_private_files_is_refused(
    copied: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("javascript")
    monkeypatch.setenv("HOME", str(tmp_path))
    copied(tmp_path / ".local")
    with pytest.raises(SandboxUnavailable, match="holds more than programs may see"):
        shared(None).run("meow", stdin="", language="kitten")


def test_without_namespaces_they_are_refused_not_failed() -> None:
    try:
        sandbox = Sandbox("landlock", workers=1)
    except SandboxUnavailable:
        pytest.skip("this machine has no Landlock")
    with sandbox, pytest.raises(SandboxUnavailable, match="needs namespaces"):
        grade("```js\n1\n```", TESTS, language="js", sandbox=sandbox)
