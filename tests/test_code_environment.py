"""``python=``: programs import the packages of a virtual environment, and see no more of it."""

from __future__ import annotations

import json
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from mint_envs.cli import main
from mint_envs.code import CodeTask, Sandbox, grade
from mint_envs.code.needed import packages_needed
from mint_envs.code.packages import missing_packages
from mint_envs.code.rows import problem_of_row, read_code_row
from mint_envs.errors import DatasetError, SandboxUnavailable, SettingError
from mint_envs.sandbox.environment import PythonEnvironment, environment_of
from mint_envs.sandbox.worker import SandboxWorker, TierRefused, configuration

DOUBLE = [{"stdin": "4\n", "stdout": "8\n"}]
USES = "```python\nfrom doubling import double\nprint(double(int(input())))\n```"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An environment with a package, a ``.pth`` file, and a secret beside both."""
    folder = tmp_path_factory.mktemp("programs") / "env"
    venv.create(folder, with_pip=False)
    (folder / "secret.txt").write_text("secret")
    site = Path(environment_of(str(folder)).site[0])
    (site / "doubling").mkdir()
    (site / "doubling" / "__init__.py").write_text("def double(x): return 2 * x\n")
    (site / "run.pth").write_text(f"import sys; open({str(folder / 'ran')!r}, 'w')\n")
    yield str(folder)
    assert not (folder / "ran").exists(), "no .pth file is run"
    assert sorted(path.name for path in (site / "doubling").iterdir()) == ["__init__.py"]


@pytest.mark.parametrize("tier", ["namespaces", "landlock"])
def test_programs_import_its_packages_and_see_no_more(tier: str, python: str) -> None:
    site = environment_of(python).site[0]
    looks = (
        "import doubling, os\ndef f(path):\n    try: return open(path).read()\n"
        "    except OSError: return 'closed'\n"
        "def g():\n    here = os.path.dirname(doubling.__file__)\n"
        "    try: open(here + '/new.py', 'w')\n    except OSError: return 'closed'\n"
        "def h(): return doubling.double(4)\n"
    )
    calls = ["h()", f"f({python + '/secret.txt'!r})", f"f({python + '/pyvenv.cfg'!r})", "g()",
             f"f({site + '/../../../pyvenv.cfg'!r})", "f('/etc/passwd')"]  # fmt: skip
    try:
        with Sandbox(tier, workers=1, python=python) as sandbox:
            outcome = sandbox.run(looks, calls)
            score = grade(USES, DOUBLE, sandbox=sandbox).score
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    assert [outcome.records[i][1] for i in range(6)] == [8, *["closed"] * 5]
    assert score == 1.0


def test_without_it_a_program_that_imports_them_earns_nothing(python: str) -> None:
    assert grade(USES, DOUBLE).score == 0.0
    assert grade(USES, DOUBLE, python=python).score == 1.0


def test_the_task_takes_it(tmp_path: Path, python: str) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"question": "Double it.", "tests": DOUBLE}) + "\n")
    task = CodeTask(dataset=str(rows), python=python)
    assert task.score(task.problem(0), USES).score == 1.0


@pytest.mark.quick
@pytest.mark.parametrize("path", ["/nowhere", __file__])
def test_an_environment_that_is_none_is_refused(path: str) -> None:
    with pytest.raises(SettingError, match="no interpreter"):
        grade(USES, DOUBLE, python=path)


@pytest.mark.quick
def test_an_environment_is_refused_where_it_cannot_be_given(python: str) -> None:
    with pytest.raises(SettingError, match="does not take"):
        Sandbox("docker", python=python)
    with Sandbox(workers=1) as sandbox, pytest.raises(SettingError, match=r"Sandbox\(python="):
        grade(USES, DOUBLE, sandbox=sandbox, python=python)


def test_an_interpreter_that_does_not_answer_is_unavailable(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    with pytest.raises(SandboxUnavailable, match="does not run"):
        grade(USES, DOUBLE, python=str(broken))
    old = tmp_path / "python3.8"
    old.write_text("#!/bin/sh\necho '{\"version\": [3, 8]}'\n")
    old.chmod(0o755)
    with pytest.raises(SettingError, match=r"Python 3\.8"):
        grade(USES, DOUBLE, python=str(old))


def test_doctor_names_the_packages_that_are_missing(tmp_path: Path, python: str) -> None:
    row = {"question": "Double it.", "tests": DOUBLE}
    rows = [
        {**row, "solution": "from doubling import double\nprint(double(int(input())))"},
        {**row, "solution": "import sys, tripling.x\nimport numpy as np\nprint(1)"},
    ]
    found = packages_needed(map(problem_of_row, rows))
    assert found == {"doubling": 1, "numpy": 1, "tripling": 1}
    assert missing_packages(["doubling", "numpy", "other"], python) == ["numpy", "other"]
    assert missing_packages(["doubling", "numpy"]) == ["doubling"]
    with pytest.raises(DatasetError, match=r"'doubling'.*python="):
        read_code_row(rows[0])
    assert read_code_row(rows[0], python=python).reference
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    lacks = CliRunner().invoke(main, ["doctor", "--dataset", str(path)])
    assert lacks.exit_code == 1
    assert "package doubling: missing" in lacks.output
    assert "pip install doubling" in " ".join(lacks.output.split())
    path.write_text(json.dumps(rows[0]) + "\n")
    whole = CliRunner().invoke(main, ["doctor", "--dataset", str(path), "--python", python])
    assert whole.exit_code == 0, whole.output


def test_refused_rows_may_be_left_out(tmp_path: Path, python: str) -> None:
    row = {"question": "Double it.", "tests": DOUBLE}
    rows = [{**row, "solution": "import doubling"}, row, {**row, "interactor": "x"}]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    with pytest.raises(DatasetError, match=r"row 1.*doubling"):
        CodeTask(dataset=str(path))
    with pytest.warns(UserWarning, match="2 of 3 rows are refused.*row 1"):
        assert CodeTask(dataset=str(path), skip_refused=True).size == 1
    with pytest.warns(UserWarning, match="1 of 3 rows are refused.*row 3"):
        assert CodeTask(dataset=str(path), skip_refused=True, python=python).size == 2
    path.write_text(json.dumps(rows[2]) + "\n")
    with pytest.raises(DatasetError, match="interactive"):
        CodeTask(dataset=str(path), skip_refused=True)


def test_an_interpreter_in_tmp_is_refused_by_namespaces_and_an_environment_is_not() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        found = PythonEnvironment(sys.executable, (folder,), (), "")
        assert configuration("namespaces", (), (), "", found)
        (Path(folder) / "os.py").write_text("")
        with pytest.raises(TierRefused, match=folder):
            SandboxWorker("namespaces", environment=found)
