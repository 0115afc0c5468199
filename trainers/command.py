"""``mint-grpo``: settings from the command line, the environment and ``.env``, in that order.

The parser is made for the environment named: its own settings (``--digits 1``) and its defaults
are part of ``mint-grpo ENV --help``.
"""

from __future__ import annotations

import difflib
import json
import os
import sys
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym
from dotenv import dotenv_values
from pydantic import AliasChoices, Field, ValidationError, create_model
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

import mint_envs
from mint_envs.errors import MintEnvsError
from mint_envs.loading import locate
from mint_envs.registration import find_spec, settings_of, unknown_id

from .config import RunConfig, SftConfig, TrainConfig, defaults_for, kind_of
from .errors import TrainerError, mistakes_said
from .stored import check_same_task, read_config

USAGE = """\
usage: mint-grpo ENV [options]        train on an environment
       mint-grpo --resume RUN_DIR     go on with a run
       mint-grpo ENV --estimate       say what a step costs, and train nothing
       mint-grpo sft FILE [options]   train on responses that are given: a warm start
       mint-grpo export RUN_DIR ...   write its model as a folder: --merged or --adapter FOLDER
       mint-grpo ENV --help           all options, with the defaults for ENV

examples:
  mint-grpo mint/Math-v0                          2-digit sums, on this machine
  mint-grpo mint/Math-v0 --digits 1 --steps 30    one-digit sums
  mint-grpo mint/Math-v0 --dataset train.jsonl --max-tokens 200
  MINT_API_KEY=... mint-grpo mint/Math-v0         the same on a MinT service
  mint-grpo my_file:my/Env-v0                     your own, registered in my_file.py here

environments: {ids}
"""

_HELP = """Train on {env} with GRPO.

examples:
  mint-grpo {env} --steps 20 --batch 16 --group 8
  mint-grpo {env} --eval-every 10 --seed 1 --run-dir runs/second
  mint-grpo {env} --base-model path/or/name --lr 1e-4 --loss-fn ppo
  mint-grpo {env} --batch 16 --estimate       seconds and memory of a step; trains nothing
  mint-grpo --resume runs/second

Each option is also read from the environment and from .env: MINT_RL_STEPS for --steps and so on,
MINT_BASE_MODEL, MINT_LORA_RANK, MINT_API_KEY (a service in place of this machine), MINT_BASE_URL.
"""

_HELP_SFT = """Train on responses that are given, before RL or in place of it.

A row of FILE has "prompt" and "response", or "messages". A prompt that is text goes in as it is; a
list of messages, {"role": "user", "content": "..."}, goes through the model's chat template. The
loss is on responses alone, on every turn of the assistant's in "messages".

examples:
  mint-grpo sft rows.jsonl
  mint-grpo sft chats.jsonl --epochs 3 --lr 1e-4 --batch 32 --run-dir runs/warm
  mint-grpo sft rows.jsonl --eval-data held.jsonl --eval-every 5
  mint-grpo mint/Math-v0 --init-from runs/warm        RL from there
  mint-grpo --resume runs/warm --epochs 4             go on

Each option is also read from the environment and from .env: MINT_RL_BATCH for --batch and so on.
"""

#: Environment variables of the MinT documents whose names are not MINT_RL_<FIELD>.
NAMES = {"base_model": "MINT_BASE_MODEL", "rank": "MINT_LORA_RANK"}
#: Other names that the documents give to a setting.
_ALIASES = {
    "lr": ("learning_rate",),
    "group": ("group_size",),
    "batch": ("batch_size", "groups_per_batch"),
}

#: What people type before or in place of an environment.
_OTHERWISE = {
    "help": "mint-grpo --help shows how it is used",
    "train": "mint-grpo ENV trains, without that word",
    "resume": "a run goes on by mint-grpo --resume RUN_DIR",
    "eval": "mint-envs eval measures a model",
    "list": "mint-envs list shows the environments",
    "show": "mint-envs show RUN_DIR shows what was said",
}


@dataclass(frozen=True)
class Command:
    """What the user asked for."""

    config: TrainConfig | SftConfig
    folder: Path
    resume: bool
    api_key: str | None = field(repr=False)
    base_url: str | None
    presets: Mapping[str, Any] = field(default_factory=dict)  # what they set


def parse(argv: Sequence[str]) -> Command:
    """Return the command of ``argv``; exits with a usage message where argparse would.

    Raises:
        TrainerError: a wrong value, an unknown environment, or a folder that cannot be used.
    """
    if not argv or argv[0] in ("-h", "--help"):
        sys.stdout.write(USAGE.format(ids=", ".join(mint_envs.env_ids())))
        raise SystemExit(0 if argv else 2)
    dotenv, given = _dotenv(), variables()
    key, base_url = given.get("MINT_API_KEY") or None, given.get("MINT_BASE_URL") or None
    if argv[0] in _OTHERWISE:
        raise TrainerError(f"{argv[0]!r} is no environment: {_OTHERWISE[argv[0]]}")
    folder, argv = _take_resume(argv)
    if folder is not None:
        return _resume(folder, argv, key, base_url)
    if argv[0].startswith("-"):
        raise TrainerError(f"the environment comes first: mint-grpo ENV {argv[0]} ...")
    env, given_data, argv = _located(argv[0]), {}, argv[1:]
    if env == "sft" and not {"-h", "--help"} & set(argv[:1]):
        if not argv or argv[0].startswith("-"):
            raise TrainerError("the file of rows comes first: mint-grpo sft FILE ...")
        given_data, argv = {"data": argv[0]}, argv[1:]
    sources = [from_variables(variables, kind_of(env)) for variables in (os.environ, dotenv)]
    config, presets = _read(env, argv, key, sources, given_data)
    return Command(config, run_folder(config), False, key, base_url, presets)


def _located(env: str) -> str:
    """Return the id, with the module that it names importable from the working folder."""
    try:
        return env if env == "sft" else locate(env)
    except (MintEnvsError, ImportError) as error:
        raise TrainerError(str(error)) from error
    except SystemExit as error:
        raise TrainerError(f"{env}: its module ends the process when it is imported") from error


def variables() -> dict[str, str]:
    """Return the environment, over what ``.env`` says.

    Raises:
        TrainerError: there is a ``.env`` that cannot be read.
    """
    return {**_dotenv(), **os.environ}


def _dotenv() -> dict[str, str]:
    path = Path(".env")
    if not path.is_file():
        return {}
    try:
        values = dotenv_values(path, encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        raise TrainerError(f"{path} cannot be read: {error}. Save it as UTF-8 text") from error
    return {name: value for name, value in values.items() if value is not None}


def _take_resume(argv: Sequence[str]) -> tuple[Path | None, list[str]]:
    """Take ``--resume RUN_DIR`` out of the arguments, wherever it stands."""
    for i, word in enumerate(argv):
        if word != "--resume" and not word.startswith("--resume="):
            continue
        value = word.partition("=")[2] or (argv[i + 1] if i + 1 < len(argv) else "")
        if not value or value.startswith("-"):
            raise TrainerError("--resume needs the folder of a run: mint-grpo --resume RUN_DIR")
        used = 1 if "=" in word else 2
        return Path(value), [*argv[:i], *argv[i + used :]]
    return None, list(argv)


def _resume(folder: Path, argv: Sequence[str], key: str | None, base_url: str | None) -> Command:
    stored = read_config(folder)
    env = _located(str(stored["env"]))
    if argv and not argv[0].startswith("-"):
        if _located(argv[0]) != env:
            raise TrainerError(f"{folder} is a run of {env}, not of {argv[0]}: leave {argv[0]} out")
        argv = argv[1:]
    # The run's own settings stand in for the defaults, and the environment has no say.
    where = {"data": stored.get("data")} if env == "sft" else {}
    config, _ = _read(env, argv, key, [], where, stored)
    if config.run_dir != stored.get("run_dir"):
        raise TrainerError(f"--resume goes on in {folder}: leave --run-dir out, or copy the folder")
    if isinstance(config, TrainConfig):
        then, own = stored.get("env_settings", {}), own_settings(env)
        check_same_task(folder, env, own, then, config.env_settings)
    return Command(config, folder, True, key, base_url)


def _read(
    env: str,
    argv: Sequence[str],
    key: str | None,
    sources: Sequence[Mapping[str, Any]],
    given: Mapping[str, Any],
    stored: Mapping[str, Any] | None = None,
) -> tuple[TrainConfig | SftConfig, Mapping[str, Any]]:
    """Parse ``argv`` over ``sources`` over the stored settings, or the defaults of ``env``.

    ``given`` are no options. Return what is chosen, and what presets had to say.
    """
    own = {} if env == "sft" else own_settings(env)
    presets: dict[str, Any] = {}
    # Which preset it will be is only known once the options are read; --help shows the likely one.
    defaults = stored or defaults_for(env, "documents" if key else "local")
    chosen = _parser(env, own, argv, sources, defaults).model_dump()
    preset = chosen.pop("preset", None)
    if stored is None:
        wanted = _backend(chosen["backend"], key)
        presets = defaults_for(env, wanted, preset)
        chosen = _parser(env, own, argv, sources, presets).model_dump()
        chosen.pop("preset", None)
        chosen["backend"] = wanted
    chosen |= {"env": env, **given}
    for name, flag in own.items():
        value = chosen.pop(flag.name)
        if value is not None:
            chosen["env_settings"] = {**chosen["env_settings"], name: value}
    try:
        return kind_of(env)(**chosen), presets
    except ValidationError as error:
        raise TrainerError(fault_of(error, argv)) from error


def _backend(name: str, key: str | None) -> str:
    return ("mint" if key else "local") if name == "auto" else name


# -- the parser -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Flag:
    """A setting of the environment as an option."""

    name: str  # of the option; "env_seed" if the trainer has a "seed" of its own
    type: Any
    help: str
    default: Any


def own_settings(env: str) -> dict[str, _Flag]:
    """Return the environment's settings as options, by the environment's name of each.

    Raises:
        TrainerError: the id is unknown, or its module cannot be imported.
    """
    with mistakes_said():
        try:
            spec = find_spec(env)
        except gym.error.Error as error:
            raise TrainerError(unknown_id(env)) from error
        if "task" not in spec.kwargs:
            return {}  # a third party's: its settings go through --env-settings
        found = settings_of(env)
    flags = {}
    for name, setting in found.items():
        option = f"env_{name}" if name in (*TrainConfig.model_fields, "preset") else name
        default = "" if setting.default is None else f" (default: {setting.default})"
        flags[name] = _Flag(
            option, setting.type, f"[{env}] {setting.help}{default}", setting.default
        )
    return flags


def _parser(
    env: str,
    own: Mapping[str, _Flag],
    argv: Sequence[str],
    sources: Sequence[Mapping[str, Any]],
    defaults: Mapping[str, Any],
) -> BaseSettings:
    """Build the settings class for ``env`` and read it from all sources, strongest first."""
    fields: dict[str, Any] = {}
    for name, info in kind_of(env).model_fields.items():
        if name not in ("env", "data"):
            fields[name] = (info.annotation, _option(name, info, defaults))
    for flag in own.values():
        fields[flag.name] = (_optional(flag.type), Field(None, description=flag.help))
    if env != "sft":
        preset = Field(None, description="defaults: documents or local")
        fields["preset"] = (Literal["documents", "local"] | None, preset)

    class Base(BaseSettings):
        model_config = SettingsConfigDict(
            cli_parse_args=list(argv),
            cli_prog_name=f"mint-grpo {env}{' FILE' * (env == 'sft')}",
            cli_kebab_case=True,
            cli_implicit_flags=True,
            cli_hide_none_type=True,
            cli_avoid_json=True,
            cli_exit_on_error=False,
            extra="forbid",
        )

        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return tuple(InitSettingsSource(settings_cls, dict(source)) for source in sources)

    text = _HELP_SFT if env == "sft" else _HELP.format(env=env)
    model = create_model("mint-grpo", __base__=Base, __doc__=text, **fields)
    try:
        return model()
    except ValidationError as error:
        raise TrainerError(fault_of(error, argv)) from error
    except SettingsError as error:
        raise TrainerError(_parse_fault(str(error), model)) from error


def _parse_fault(text: str, model: type[BaseSettings]) -> str:
    """Return what to say of words that cannot be parsed, in one line: which option was meant."""
    _, unknown, words = text.partition("unrecognized arguments: ")
    if not unknown:
        said = text.partition("argument ")[2].replace("expected one argument", "needs a value")
        return f"{said or text}. mint-grpo ENV --help lists the options; several values are JSON"
    word, *rest = words.split()
    return f"there is no option {word}. {_meant(word, rest, model)}"


def _meant(word: str, rest: Sequence[str], model: type[BaseSettings]) -> str:
    """Return what may be meant by an option that is not there."""
    name, equals, value = word.partition("=")
    if name in ("--set", "-s"):  # as mint-envs has it
        setting, equals, value = (value or " ".join(rest[:1])).partition("=")
        return f"A setting is an option here: --{setting.replace('_', '-')} {value}".rstrip()
    if "key" in name.split("-"):
        return "A key is read from the environment variable MINT_API_KEY"
    names = [*model.model_fields, *(alias for more in _ALIASES.values() for alias in more)]
    options = [f"--{one.replace('_', '-')}" for one in names]
    near = difflib.get_close_matches(name.replace("_", "-"), options, n=1, cutoff=0.5)
    meant = f"Did you mean {near[0]}{equals and ' ' + value}? " if near else ""
    return f"{meant}mint-grpo ENV --help lists them all"


def _option(name: str, info: FieldInfo, defaults: Mapping[str, Any]) -> Any:
    """Return the field of an option: its default, TrainConfig's help, the documents' aliases.

    Checks are left to TrainConfig, which makes them once all sources are joined.
    """
    aliases = AliasChoices(name, *_ALIASES[name]) if name in _ALIASES else None
    default = defaults.get(name, info.get_default(call_default_factory=True))
    return Field(default, description=info.description, validation_alias=aliases)


def _optional(kind: Any) -> Any:
    return str | None if kind is Any else kind | None


def from_variables(
    variables: Mapping[str, str], kind: type[RunConfig] = TrainConfig
) -> dict[str, Any]:
    """Return the settings that are given as ``MINT_RL_STEPS`` and the like."""
    found: dict[str, Any] = {}
    for name, info in kind.model_fields.items():
        value = variables.get(_variable(name), "")
        if value and name not in ("env", "data"):
            shape = typing.get_origin(info.annotation)
            found[name] = value.split(",") if shape is tuple else value
            if shape is dict:
                found[name] = _object(_variable(name), value)
    return found


def _variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return NAMES.get(name, f"MINT_RL_{name.upper()}")


def _object(name: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TrainerError(f"{name} is not JSON: {error} (got {text!r})") from error
    if not isinstance(value, dict):
        raise TrainerError(f"{name} must be a JSON object (got {text!r})")
    return value


def fault_of(error: ValidationError, argv: Sequence[str] = ()) -> str:
    """Return the first fault in one line: where the setting is, what is wrong, the value."""
    fault = error.errors()[0]
    message = str(fault["msg"]).removeprefix("Value error, ")
    if not fault["loc"]:
        return message
    name = str(fault["loc"][0])
    options = [f"--{word.replace('_', '-')}" for word in (name, *_ALIASES.get(name, ()))]
    given = any(word.partition("=")[0] in options for word in argv)
    variable = _variable(name) if variables().get(_variable(name)) else ""
    where = options[0] if given or not variable else variable
    return f"{where}: {message[0].lower()}{message[1:]} (got {fault['input']!r})"


def run_folder(config: RunConfig) -> Path:
    if config.run_dir is not None:
        return Path(config.run_dir)
    name = config.env.rpartition(":")[2].replace("/", "-")
    return Path("runs") / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
