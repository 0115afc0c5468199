"""``mint-envs eval``."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from ..errors import SettingError, did_you_mean, require
from ..evaluate import EvalPlan, Evaluation, evaluate
from ..evaluate.plan import Chosen, choose
from ..evaluate.report import report_of, to_json
from ..jsonl import line_of
from ..policies import Policy, policy_names, policy_of
from ..records.files import check_folders, write_result
from ..reports.pages import report_page
from ..reports.terminal import print_sections, progress_bar
from .options import FILE, complete_id, read_settings, report_options, settings_option

_FOLDER = "evals"


@click.command("eval")
@click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=complete_id)
@click.option("--model", "models", multiple=True, help="A model at --base-url; may be repeated.")
@click.option("--base-url", metavar="URL", help="An OpenAI-compatible address, such as "
              "http://localhost:8000/v1.")  # fmt: skip
@click.option("--key-env", default="OPENAI_API_KEY", show_default=True, metavar="NAME",
              help="Environment variable with the key, where the address wants one.")  # fmt: skip
@click.option("--option", "options", multiple=True, callback=read_settings, metavar="NAME=VALUE",
              help="A further field of each request to --base-url; may be repeated.")  # fmt: skip
@click.option("--tokenizer", metavar="NAME", help="Of --model: play token by token, where the "
              "address takes and gives token ids, with log-probabilities; "
              "else by messages.")  # fmt: skip
@click.option("--policy", "specs", multiple=True, metavar="SPEC",
              help="local, local:MODEL, run:FOLDER, or another's; may be repeated.")  # fmt: skip
@click.option("-n", "--problems", default=64, show_default=True, help="Problems, each once.")
@click.option("-k", "--samples", default=4, show_default=True, help="Responses to each problem.")
@click.option("--max-tokens", default=512, show_default=True, help="Longest response, in tokens.")
@click.option("--temperature", default=1.0, show_default=True, help="0 is greedy.")
@click.option("--seed", default=0, show_default=True, help="Of problems and responses.")
@click.option("--pass-mark", default=1.0, show_default=True, help="Reward that counts as passed.")
@click.option(
    "--train", is_flag=True, help="Use the problems that are trained on, not those held out."
)
@settings_option
@click.option("-o", "--out", type=FILE, help="JSONL of the responses; default: a name of its own "
              f"in {_FOLDER}/, so that the same command goes on.")  # fmt: skip
@click.option("--fresh", is_flag=True, help="Start again, without what is in the file already.")
@click.option("--concurrency", default=8, show_default=True, help="Requests at one time.")
@click.option("--max-tokens-total", type=click.IntRange(1), metavar="N",
              help="Spend at most so many tokens, prompts too, for each model and ID.")  # fmt: skip
@click.option("--prices", type=(float, float), metavar="IN OUT",
              help="Of a million tokens of prompts, and of responses.")  # fmt: skip
@click.option("--write-pass-rates", "pass_rates", type=FILE,
              help="Write the pass rate of each problem, for the setting pass_rates=.")  # fmt: skip
@report_options
def command(
    ids: tuple[str, ...], models: tuple[str, ...], base_url: str | None, key_env: str,
    options: dict[str, Any], tokenizer: str | None, specs: tuple[str, ...],
    settings: dict[str, Any],
    out: str | None, fresh: bool, concurrency: int, max_tokens_total: int | None,
    prices: tuple[float, float] | None,
    pass_rates: str | None, json_file: str | None, html_file: str | None, **rest: Any,
) -> None:  # fmt: skip
    """How good is a model at these environments, and is there anything to learn?

    Problems are held-out ones where the environment has them. Each response is written to a file
    that `show`, `replay` and `bench --responses` read; after Ctrl-C the same command goes on.

    \b
    Examples:
      mint-envs eval mint/Math-v0 --model Qwen/Qwen3-8B --base-url http://localhost:8000/v1
      mint-envs eval mint/ToolUse-v0 --model Qwen/Qwen3-8B --tokenizer Qwen/Qwen3-8B \\
        --base-url http://localhost:8000/v1
      mint-envs eval mint/Math-v0 mint/ToolUse-v0 --policy local -n 32 --max-tokens 32
      mint-envs eval mint/Math-v0 --policy local --policy run:runs/first --max-tokens 16
      mint-envs eval my_tasks:my/Sums-v0 --policy local --set digits=1 --json eval.json
      mint-envs eval mint/Math-v0 --policy local --train -n 500 --write-pass-rates rates.jsonl
    """
    names = _names_of(models, {**options, **({"tokenizer": tokenizer} if tokenizer else {})},
                      specs, base_url)  # fmt: skip
    for flag, named in (("--out", out), ("--write-pass-rates", pass_rates)):
        if named and len(ids) * len(names) > 1:
            raise SettingError(
                f"{flag} {named} takes one ID and one model; leave it out for several"
            )
    check_folders(out, json_file, html_file, pass_rates)
    _check(ids, prices)
    # What is wrong with an environment is said before a model is loaded.
    plans = [
        (plan, choose(plan)) for plan in (EvalPlan(env=i, settings=settings, **rest) for i in ids)
    ]
    logging.basicConfig(format="mint-envs: %(message)s", level=logging.WARNING)
    policies = _policies(models, base_url, key_env, options, tokenizer, specs, concurrency)
    asked = [
        (plan, chosen, name, policy, Path(out) if out else _file_of(plan, name))
        for plan, chosen in plans
        for name, policy in zip(names, policies, strict=True)
    ]
    for *_, file in asked if fresh else ():
        file.unlink(missing_ok=True)
    done = _all_of(asked, max_tokens_total)
    report = report_of(done, " ".join(["mint-envs", *sys.argv[1:]]), prices)
    print_sections(report, Console(highlight=False))
    if json_file:
        results = [to_json(one) for one in done]
        write_result(Path(json_file), json.dumps(results, indent=1, default=str) + "\n")
    if html_file:
        write_result(Path(html_file), report_page(report))
    if pass_rates:
        write_result(Path(pass_rates), "".join(map(line_of, done[0].measured_rates())))
    if any(one.lost for one in done) and not any(one.outcomes for one in done):
        click.echo("mint-envs: no response could be had: see the warnings above", err=True)
        sys.exit(1)


def _check(ids: tuple[str, ...], prices: tuple[float, float] | None) -> None:
    for id in ids:
        require(ids.count(id) == 1, f"{id} is named twice; once is enough")
    require(
        prices is None or min(prices) >= 0,
        f"--prices {prices}: of a million tokens, numbers from 0 up",
    )


def _all_of(
    asked: Sequence[tuple[EvalPlan, Chosen, str, Policy, Path]], max_tokens_total: int | None
) -> list[Evaluation]:
    """Return the evaluations, one after the other; Ctrl-C ends the program."""
    done = []
    try:
        with progress_bar(Console(stderr=True)) as tell:
            for plan, chosen, name, policy, file in asked:
                done.append(evaluate(plan, policy, name, file, max_tokens_total, tell, chosen))
                click.echo(f"responses: {file}", err=True)
    except KeyboardInterrupt:
        click.echo("\nmint-envs: stopped; the same command goes on from here", err=True)
        sys.stderr.flush()
        os._exit(130)  # requests under way are not waited for; all lines are written
    return done


def _names_of(
    models: tuple[str, ...], options: dict[str, Any], specs: tuple[str, ...], base_url: str | None
) -> list[str]:
    """Return what the policies are called.

    Raises:
        SettingError: none is named, one is unknown or named twice, or an address is missing.
    """
    if not models and not specs:
        raise SettingError(
            "whose responses? Give --model NAME --base-url URL, --policy local, or "
            "--policy run:FOLDER"
        )
    if models and not base_url:
        raise SettingError(
            f"--model {models[0]} needs its address: --base-url http://localhost:8000/v1; a model "
            f"on this machine is --policy local:{models[0]}"
        )
    require(
        bool(models) or "tokenizer" not in options,
        "--tokenizer is of --model: a policy on this machine has its own",
    )
    for spec in specs:
        name = spec.partition(":")[0]
        require(
            name in policy_names(),
            f"there is no policy {name!r}. {did_you_mean(name, policy_names())}",
        )
    told = ", ".join(f"{name}={value}" for name, value in options.items())
    names = [*specs, *(f"{model} ({told})" if told else model for model in models)]
    for name in names:
        require(names.count(name) == 1, f"{name} is named twice; once is enough")
    return names


def _policies(
    models: tuple[str, ...], base_url: str | None, key_env: str, options: dict[str, Any],
    tokenizer: str | None, specs: tuple[str, ...], concurrency: int,
) -> list[Policy]:  # fmt: skip
    """Return the policies, in the order of their names.

    Raises:
        SettingError: one cannot be made.
    """
    given: dict[str, Any] = {
        "base_url": base_url, "key": os.environ.get(key_env, ""), "options": options,
        "concurrency": concurrency,
    }  # fmt: skip

    def at_address(model: str) -> Policy:
        found = None
        if tokenizer:
            from ..token_policy import token_policy

            found = token_policy(model, tokenizer=tokenizer, **given)
        return found or policy_of("openai", model=model, **given)

    return [*map(policy_of, specs), *map(at_address, models)]


def _file_of(plan: EvalPlan, name: str) -> Path:
    """Return the file of an evaluation: the same plan and model have the same."""
    words = re.sub(r"[^A-Za-z0-9]+", "-", f"{plan.env} {name}").strip("-")[:80]
    folder = Path(_FOLDER)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise SettingError(f"cannot make the folder {_FOLDER}/: {error.strerror}") from error
    return folder / f"{words}-{plan.digest(name)}.jsonl"
