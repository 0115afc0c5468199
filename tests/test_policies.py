"""The port of a model: its double, its names, an address, and models on this machine."""

from __future__ import annotations

import json
import logging
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from model_server import answering, said

from mint_envs.errors import SettingError
from mint_envs.policies import GROUP, OpenAIPolicy, Policy, ScriptedPolicy, policy_names, policy_of

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
KEY = "sk-not-to-be-seen-1234"


def installed(folder: Path, name: str, points: Mapping[str, str]) -> None:
    """Put a distribution that has entry points of the group into ``folder``."""
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{point} = {value}" for point, value in points.items()]
    (about / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines]) + "\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages, with this project's own entry points as they are declared."""
    monkeypatch.syspath_prepend(str(tmp_path))
    declared = tomllib.loads(PROJECT.read_text())["project"]["entry-points"][GROUP]
    installed(tmp_path, "declared", declared)
    return tmp_path


# -- the double -----------------------------------------------------------------------------------


def test_the_double_says_what_its_script_says() -> None:
    policy = ScriptedPolicy(lambda prompt, number: None if number else f"re: {prompt}")
    assert isinstance(policy, Policy)
    assert policy.sample(["a", "b"], 2, 10, 1.0, 0) == [["re: a", None], ["re: b", None]]
    assert policy.asked == ["a", "b"]
    assert policy.sample([], 1, 10, 1.0, 0) == []


@pytest.mark.parametrize("wrong", [(0, 10, 1.0), (1, 0, 1.0), (1, 10, -0.1)])
def test_a_request_out_of_range_is_refused(wrong: tuple[int, int, float]) -> None:
    with pytest.raises(SettingError, match="must be"):
        ScriptedPolicy(lambda prompt, number: "x").sample(["a"], *wrong, 0)


# -- names ----------------------------------------------------------------------------------------


def test_names_are_found_by_their_entry_points(site: Path) -> None:
    assert {"openai", "local", "run"} <= set(policy_names())
    (site / "parrot.py").write_text(
        "class Parrot:\n    def __init__(self, word='aye', loud=False):\n"
        "        self.word = word.upper() if loud else word\n"
        "    def sample(self, prompts, n, max_tokens, temperature, seed):\n"
        "        return [[self.word] * n for _ in prompts]\n"
    )
    installed(site, "birds", {"parrot": "parrot:Parrot", "openai": "parrot:Parrot"})
    assert policy_of("parrot").sample(["?"], 2, 9, 1.0, 0) == [["aye", "aye"]]
    assert policy_of("parrot:hm", loud=True).sample(["?"], 1, 9, 1.0, 0) == [["HM"]]
    assert policy_of("parrot", "no").sample(["?"], 1, 9, 1.0, 0) == [["no"]]
    made = policy_of("openai", model="m", base_url="http://localhost:1/v1")
    assert isinstance(made, OpenAIPolicy)  # nobody takes our place
    with pytest.raises(SettingError, match="Did you mean 'parrot'"):
        policy_of("parot")
    with pytest.raises(SettingError, match="'volume'"):
        policy_of("parrot", volume=3)


def test_a_policy_that_cannot_be_loaded_is_named(site: Path) -> None:
    (site / "sick.py").write_text("raise OSError('no luck')")
    (site / "thing.py").write_text("def make(): return 3")
    installed(site, "sick-birds", {"sick": "sick:Bird", "gone": "gone:Bird", "thing": "thing:make"})
    with pytest.raises(SettingError, match=r"'sick' \(sick:Bird of sick-birds\).*no luck"):
        policy_of("sick")
    with pytest.raises(SettingError, match=r"'gone'.*No module named 'gone'"):
        policy_of("gone")
    with pytest.raises(SettingError, match="'thing' is 3, which has no sample"):
        policy_of("thing")


# -- an address -----------------------------------------------------------------------------------


def policy(server: Any, **settings: Any) -> OpenAIPolicy:
    return OpenAIPolicy("a/model", server.url, **{"backoff_s": 0.001, "retries": 2, **settings})


def test_each_response_is_a_request_of_its_own() -> None:
    def echo(request: dict[str, Any], turn: int) -> tuple[int, Any]:
        return said(f"{request['messages'][-1]['content']} {request['seed']}")

    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "b"}]
    with answering(echo) as server:
        asked = policy(server, key=KEY, options={"top_p": 0.9})
        texts = asked.sample(["a", chat], 2, 32, 0.5, 7)  # type: ignore[list-item]
        assert texts == [["a 7", "a 8"], ["b 9", "b 10"]]
        assert asked.sample(["a"], 2, 32, 0.5, 7) == [["a 7", "a 8"]]
        assert asked.sample([], 2, 32, 0.5, 7) == []
        assert server.keys == {f"Bearer {KEY}"}
        assert server.paths == {"/v1/chat/completions"}
        (first,) = [one for one in server.bodies if one["seed"] == 9]
    assert first == {"model": "a/model", "messages": chat, "max_tokens": 32, "temperature": 0.5,
                     "seed": 9, "top_p": 0.9}  # fmt: skip
    assert KEY not in repr(asked)


def test_what_passes_is_tried_again_and_what_fails_is_none(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def moody(request: dict[str, Any], turn: int) -> tuple[int, Any]:
        word = request["messages"][0]["content"]
        if word == "busy":
            return said("at last") if turn == 2 else (503, {"error": KEY})
        if word == "empty":
            return said("")
        return {"down": (500, {}), "refused": (404, {"error": KEY}), "junk": (200, [])}[word]

    caplog.set_level(logging.DEBUG)
    with answering(moody) as server:
        asked = policy(server, key=KEY)
        texts = asked.sample(["busy", "down", "refused", "junk", "empty"], 1, 8, 0.0, 0)
        assert texts == [["at last"], [None], [None], [None], [""]]
        assert len(server.bodies) == 3 + 3 + 1 + 3 + 1
    assert "check base_url" in caplog.text
    assert KEY not in caplog.text
    assert policy(server, retries=0).sample(["a"], 1, 8, 0.0, 0) == [[None]]  # it is gone


def test_thoughts_that_are_kept_apart_are_put_back() -> None:
    def thoughtful(request: dict[str, Any], turn: int) -> tuple[int, Any]:
        word = request["messages"][0]["content"]
        return said(None if word == "cut" else "4", reasoning_content="Hm.")

    with answering(thoughtful) as server:
        texts = policy(server).sample(["sum", "cut"], 1, 8, 0.0, 0)
    assert texts == [["<think>Hm.</think>4"], ["<think>Hm."]]


def test_other_names_of_a_limit() -> None:
    options = {"max_tokens": None, "max_completion_tokens": 9}
    with answering(lambda request, turn: said("x")) as server:
        policy(server, options=options).sample(["a"], 1, 8, 0.0, 0)
        (body,) = server.bodies
    assert "max_tokens" not in body
    assert body["max_completion_tokens"] == 9


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": " "}, "model"), ({"base_url": "localhost"}, "base_url"),
        ({"concurrency": 0}, "concurrency"), ({"retries": -1}, "retries"),
        ({"timeout_s": 0}, "timeout_s"), ({"options": {"n": 3}}, "'n'"),
        ({"key": f"{KEY}\nx"}, "holds no key"),
    ],
)  # fmt: skip
def test_wrong_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message) as error:
        OpenAIPolicy(**{"model": "m", "base_url": "http://localhost:1/v1", **settings})
    assert KEY not in str(error.value)


# -- this machine ---------------------------------------------------------------------------------


def test_the_model_of_a_run_without_torch(site: Path) -> None:
    from trainers.__main__ import main

    folder = site / "run"
    arguments = ["--backend", "bandit", "--steps", "2", "--group", "4", "--batch", "2",
                 "--eval-every", "0", "--digits", "1", "--run-dir", str(folder)]  # fmt: skip
    assert main(["mint/Math-v0", *arguments]) == 0
    asked = policy_of(f"run:{folder}")
    texts = asked.sample(["1 + 1 = "], 3, 4, 1.0, 5)
    assert texts == policy_of(f"run:{folder}").sample(["1 + 1 = "], 3, 4, 1.0, 5)
    assert all(text is not None and set(text) <= set("0123456789") for text in texts[0])
    with pytest.raises(SettingError, match="is not a run"):
        policy_of(f"run:{site}")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "backend": "mint"}))
    with pytest.raises(SettingError, match="not on this machine"):
        policy_of(f"run:{folder}")


@pytest.mark.local
def test_a_model_on_this_machine(site: Path) -> None:
    pytest.importorskip("torch")
    from tiny import model_folder

    folder = model_folder(site / "model")
    asked = policy_of(f"local:{folder}", device="cpu", dtype="float32", threads=1)
    chat = [{"role": "user", "content": "Hello"}]
    texts = asked.sample(["1 + 1 =", "x" * 900, chat], 2, 8, 1.0, 3)  # type: ignore[list-item]
    assert texts[1] == [None, None]  # no room
    assert all(isinstance(text, str) for text in [*texts[0], *texts[2]])
    assert asked.sample(["1 + 1 =", chat], 2, 8, 1.0, 3) == [texts[0], texts[2]]  # type: ignore[list-item]
    with pytest.raises(SettingError, match="nowhere"):
        policy_of(f"local:{site / 'nowhere'}")


def test_torch_is_not_imported_before_it_is_used() -> None:
    import subprocess

    code = f"import sys; sys.path[:] = {sys.path!r}; import trainers.policies, mint_envs.policies; "
    code += "print({'torch', 'httpx', 'transformers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
