"""Ids, settings and the errors that name the valid ones."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
import typing
from pathlib import Path
from typing import Annotated, Any, Literal

import gymnasium as gym
import pytest
import toys

import mint_envs
from mint_envs import Task, TokenEnv
from mint_envs import family as families
from mint_envs.errors import SettingError
from mint_envs.family import BUILT_IN, Family
from mint_envs.registration import family_of, settings_of

COMMON = {
    "dataset": families.Dataset,
    "split": families.Split,
    "drop": families.Drop,
    "style": families.Style,
    "shots": families.Shots,
    "level": families.Level,
    "partial_credit": families.PartialCredit,
}

pytestmark = pytest.mark.quick


class Tuned(toys.Adder):
    """A task with settings of every kind."""

    def __init__(
        self,
        size: Annotated[int, "how large"],
        rate: float = 0.5,
        style: Literal["plain", "fancy"] = "plain",
        name: str | None = None,
        strict: bool = False,
    ) -> None:
        self.settings = (size, rate, style, name, strict)


@pytest.fixture
def registry() -> Any:
    """Forget the ids that a test registers."""
    before = dict(gym.registry)
    yield
    gym.registry.clear()
    gym.registry.update(before)


@pytest.fixture
def tuned(registry: None) -> str:
    mint_envs.register("tests/Tuned-v0", Tuned, size=3)
    return "tests/Tuned-v0"


def task_of(env: gym.Env[Any, Any]) -> Any:
    return env.unwrapped.task  # type: ignore[attr-defined]


def run(script: str) -> subprocess.CompletedProcess[str]:
    head = f"import sys; sys.path[:] = {sys.path!r}\n"
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", head + script],
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_id_makes_an_environment(tuned: str) -> None:
    env = gym.make(tuned, rate=1, name="x")
    assert task_of(env).settings == (3, 1, "plain", "x", False)
    assert task_of(mint_envs.make(tuned, size=4)).settings[0] == 4
    assert tuned in mint_envs.env_ids()
    assert "CartPole-v1" not in mint_envs.env_ids()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rat": 1.0}, "Tuned has no setting 'rat'. Did you mean 'rate'? Valid: "),
        ({"zzz": 1}, "Tuned has no setting 'zzz'. Valid: curriculum, max_pass_rate, "),
        ({"zzz": 1}, ", name, pass_rates, rate, render_mode, size, strict, "),
        ({"size": "3"}, "Tuned: size='3' must be int"),
        ({"size": True}, "Tuned: size=True must be int"),
        ({"rate": "fast"}, "Tuned: rate='fast' must be float"),
        ({"style": "loud"}, "Tuned: style='loud' must be one of 'plain', 'fancy'"),
        ({"name": 3}, "Tuned: name=3 must be str | None"),
        ({"strict": 1}, "Tuned: strict=1 must be bool"),
    ],
)
def test_a_wrong_setting_is_named(tuned: str, settings: Any, message: str) -> None:
    for make in (gym.make, lambda id, **kw: gym.make_vec(id, num_envs=2, **kw)):
        with pytest.raises(SettingError, match=re.escape(message)) as caught:
            make(tuned, **settings)
        assert "\n" not in str(caught.value)


def test_a_missing_setting_is_named(registry: None) -> None:
    mint_envs.register("tests/Tuned-v1", Tuned)
    with pytest.raises(SettingError, match="Tuned needs the setting 'size': how large"):
        gym.make("tests/Tuned-v1")


def test_settings_can_be_listed(tuned: str) -> None:
    found = settings_of(tuned)
    assert list(found) == ["size", "rate", "style", "name", "strict"]
    assert (found["size"].type, found["size"].default, found["size"].help) == (int, 3, "how large")
    assert settings_of("mint/Math-v0")["digits"].help


def test_an_unknown_id_suggests_the_nearest() -> None:
    with pytest.raises(gym.error.Error, match="Math"):
        gym.make("mint/Maths-v0")
    with pytest.raises(gym.error.Error, match="v0"):
        gym.make("mint/Math-v9")


@pytest.mark.parametrize("id", ["tests/Tuned", "Tuned-v", "a/b/Tuned-v0", "tests/Tu ned-v0", ""])
def test_an_id_carries_a_version(registry: None, id: str) -> None:
    with pytest.raises(SettingError, match="must look like 'namespace/Name-v0'"):
        mint_envs.register(id, Tuned, size=3)


def test_registering_again_replaces(tuned: str) -> None:
    mint_envs.register(tuned, Tuned, size=7)
    assert task_of(gym.make(tuned)).settings[0] == 7
    mint_envs.register_envs()
    mint_envs.register_envs()
    assert mint_envs.env_ids().count("mint/Math-v0") == 1


@pytest.mark.parametrize(
    ("task", "defaults", "message"),
    [
        (Tuned, {"sise": 3}, "Did you mean 'size'"),
        (Tuned, {"size": {1, 2}}, "is no JSON value"),
        (Tuned, {"size": 3, "tokenizer": object()}, "is no JSON value"),
        (3, {}, "task=3 must be a Task subclass"),
        (toys.Adder(), {}, "must be a Task subclass"),
    ],
)
def test_a_wrong_registration_is_named(
    registry: None, task: Any, defaults: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingError, match=re.escape(message)):
        mint_envs.register("tests/Tuned-v0", task, **defaults)
    assert "tests/Tuned-v0" not in gym.registry


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("no.such.module:Task", "cannot be imported"),
        ("toys:Missing", "cannot be imported"),
        ("toys", "cannot be imported"),
        (":Task", "cannot be imported"),
        ("toys:Sum", "not a mint_envs.Task class"),
        ("mint_envs:TokenEnv", "needs the setting 'task'"),
        ("contextlib:ExitStack", "makes a ExitStack, not a mint_envs.Task"),
    ],
)
def test_a_task_by_name_is_looked_up_when_made(registry: None, task: str, message: str) -> None:
    mint_envs.register("tests/Named-v0", task)
    with pytest.raises(SettingError, match=message):
        gym.make("tests/Named-v0")


def test_a_task_by_name_or_class_is_one(registry: None) -> None:
    mint_envs.register("tests/A-v0", toys.Adder)
    mint_envs.register("tests/B-v0", "toys:Adder")
    assert gym.spec("tests/A-v0").kwargs == gym.spec("tests/B-v0").kwargs
    assert type(task_of(gym.make("tests/A-v0"))) is type(task_of(gym.make("tests/B-v0")))


def test_a_name_that_is_taken_is_told(registry: None) -> None:
    class Taken(toys.Adder):
        def __init__(self, num_envs: int = 1) -> None:
            pass

    with pytest.raises(SettingError, match="may not have a setting named 'num_envs'"):
        mint_envs.register("tests/Taken-v0", Taken)


def test_a_function_may_make_the_task(registry: None) -> None:
    def build(size: int = 3) -> Task[Any]:
        return Tuned(size)

    mint_envs.register("tests/Built-v0", build)  # type: ignore[arg-type]
    assert task_of(gym.make("tests/Built-v0", size=5)).settings[0] == 5


def test_the_tokenizer_may_have_a_default(registry: None) -> None:
    mint_envs.register("tests/A-v0", toys.Adder, tokenizer="/no/such/folder")
    with pytest.raises(ValueError, match="/no/such/folder"):
        gym.make("tests/A-v0")
    assert gym.make("tests/A-v0", tokenizer=None).observation_space.vocab_size == 259  # type: ignore[attr-defined]


def test_a_spec_is_json_and_pickles(tuned: str) -> None:
    for id in (tuned, "mint/Math-v0"):
        spec = gym.make(id).spec
        assert spec is not None
        again = gym.make(gym.envs.registration.EnvSpec.from_json(spec.to_json()))
        assert isinstance(again.unwrapped, TokenEnv)
        assert json.loads(spec.to_json())["id"] == id
        assert pickle.loads(pickle.dumps(spec)) == spec


def test_a_class_of_a_function_can_be_registered(registry: None) -> None:
    class Local(toys.Adder):
        pass

    mint_envs.register("tests/Local-v0", Local)
    assert type(task_of(gym.make("tests/Local-v0"))) is Local


def test_a_class_of_a_script_can_be_registered() -> None:
    done = run(
        "import gymnasium as gym, mint_envs, toys\n"
        "class Mine(toys.Adder): pass\n"
        "mint_envs.register('me/Mine-v0', Mine)\n"
        "assert type(gym.make('me/Mine-v0').unwrapped.task) is Mine\n"
        "print(gym.make_vec('me/Mine-v0', num_envs=2).reset(seed=[1, 1])[1]['prompt'][0])\n"
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"\d+ \+ \d+ =\n", done.stdout)


def test_the_prefix_stands_for_the_import() -> None:
    """Gymnasium has no plug-ins: the id says which module to import."""
    done = run(
        "import gymnasium as gym\n"
        "print(gym.make('mint_envs:mint/Math-v0').reset(seed=0)[1]['prompt'])\n"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith("A:")


def test_a_nondeterministic_task_says_so(registry: None) -> None:
    mint_envs.register("tests/Judged-v0", toys.Judged)
    assert gym.spec("tests/Judged-v0").nondeterministic
    assert not gym.spec("mint/Math-v0").nondeterministic


def test_a_record_of_ones_own(registry: Any) -> None:
    """Presets and the settings that a client may choose: the same door as for our own families."""
    presets = {"local": {"steps": 3}, "documents": {"batch": 2}}
    mint_envs.register("my/Recorded-v0", Tuned, presets=presets, client_settings=["size"])
    family = family_of("somewhere:my/Recorded-v0")
    assert family.presets == presets
    assert family.client_settings == {"size"}
    mint_envs.register("my/Recorded-v0", Tuned)
    assert family_of("my/Recorded-v0") == Family(), "registering again replaces it"
    with pytest.raises(SettingError, match="'locale' is none of documents, local"):
        mint_envs.register("my/Recorded-v0", Tuned, presets={"locale": {}})
    assert family_of("mint/Math-v0").presets["documents"]["steps"] == 5
    assert family_of("no/Such-v0") == Family()


@pytest.mark.parametrize("id", sorted(BUILT_IN))
def test_a_setting_that_families_share_reads_the_same_in_each(id: str) -> None:
    """One name, one type, one help text, which a family may go on."""
    for name, setting in settings_of(id).items():
        if name in COMMON:
            kind, help = typing.get_args(COMMON[name])
            assert setting.type == kind
            assert setting.help.startswith(help)


def test_an_unknown_id_says_which_may_be_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unit_convert.py").write_text('mint_envs.register("my/UnitConvert-v0", Units)\n')
    (tmp_path / "empty.py").write_text("")
    monkeypatch.chdir(tmp_path)
    wanted = {
        "Math-v0": "Did you mean mint/Math-v0?",
        "mint/Maths-v0": "Did you mean mint/Math-v0?",
        "my/UnitConvert-v0": "unit_convert.py:my/UnitConvert-v0",
        "unit_convert.py": "unit_convert.py:my/UnitConvert-v0",
        "empty.py": "add mint_envs.register('my/Name-v0'",
    }
    for id, told in wanted.items():
        with pytest.raises(gym.error.UnregisteredEnv) as caught:
            mint_envs.make(id)
        assert told in str(caught.value)
        assert "\n" not in str(caught.value)
