"""Sampling beside updates on a service: nothing is lost, used twice or too old, whatever fails."""

from __future__ import annotations

import itertools
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fault_server import Fault, Service
from mint_letters import BATCH, STEPS, learned_from
from mint_letters import run as plain_run
from mint_steps import datum, same, step, weights
from toy_model import Model

from mint_envs.jsonl import whole_rows
from trainers.backends import AdamParams, Sample
from trainers.backends.mint import MintBackend
from trainers.errors import BackendError, TrainerError
from trainers.losses import folded
from trainers.stored import read_state

AHEAD = 2


@pytest.fixture(autouse=True)
def no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainers.run.can_draw", lambda: False)


class Recorded:
    """A backend that keeps the updates that were taken; it may end before one."""

    def __init__(self, backend: MintBackend, ends_at: int = 0) -> None:
        self._backend, self._ends_at = backend, ends_at
        self.updates: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def update(self, *args: Any) -> Any:
        if len(self.updates) + 1 == self._ends_at:
            raise TrainerError("killed")
        done = self._backend.update(*args)
        self.updates.append(args)
        return done


def run(folder: Path, backend: Any, resume: bool = False, **changes: Any) -> None:
    plain_run(folder, backend, resume, **{"max_steps_off_policy": AHEAD, **changes})


def assert_sound(folder: Path, service: Service, made: Recorded) -> None:
    """Each problem was used once, none too late, and the weights are those of the updates."""
    order = learned_from(folder)
    assert len(order) == len(set(order)) == STEPS * BATCH
    metrics = whole_rows(folder / "metrics.jsonl")
    assert [row["step"] for row in metrics] == list(range(1, STEPS + 1))
    assert max(row["staleness_max"] for row in metrics) <= AHEAD
    found, other = weights(service, made._backend), Service()
    try:
        plain = MintBackend("toy/Bigram-1", made._lora, "tml-good-key", other.url, made.tokenizer)
        for args in made.updates:
            plain.update(*args)
        assert same(found, weights(other, plain))
        plain.close()
    finally:
        other.stop()
    assert found.steps == len(made.updates)


def slow(path: str) -> float:
    return {"asample": 0.03, "forward_backward": 0.03}.get(path, 0.0)


def test_samples_are_drawn_beside_updates(service: Service, connect: Any, tmp_path: Path) -> None:
    service.delays = slow
    made = Recorded(connect())
    run(tmp_path, made)
    assert service.beside > 0
    assert max(row["staleness"] for row in whole_rows(tmp_path / "metrics.jsonl")) > 0
    assert_sound(tmp_path, service, made)


@pytest.mark.parametrize(
    "endpoint", ["asample", "forward_backward", "optim_step", "save_weights_for_sampler"]
)
@pytest.mark.parametrize(
    "fault",
    [
        Fault(429, {"Retry-After": "0.05"}),
        Fault(500, after=True),
        Fault(drop=True, after=True),
    ],
    ids=["429", "500 afterwards", "dropped afterwards"],
)
def test_a_fault_beside_others_loses_nothing(
    service: Service, connect: Any, tmp_path: Path, endpoint: str, fault: Fault
) -> None:
    service.delays = slow
    made = Recorded(connect())
    service.hooks["optim_step"] = lambda: service.fail(endpoint, fault)
    run(tmp_path, made)
    assert not service.script[endpoint]
    assert_sound(tmp_path, service, made)


def test_who_is_slow_is_not_overtaken_until_it_is_too_old(
    service: Service, connect: Any, tmp_path: Path
) -> None:
    asked = itertools.count()

    def some_are_slow(path: str) -> float:
        late = path == "asample" and BATCH <= next(asked) < (AHEAD + 1) * BATCH
        return 0.4 if late else 0.005

    service.delays = some_are_slow
    made = Recorded(connect())
    run(tmp_path, made)
    assert_sound(tmp_path, service, made)


@pytest.mark.parametrize("keep", [True, False], ids=["state kept", "state lost"])
@pytest.mark.parametrize("endpoint", ["asample", "forward_backward", "retrieve_future"])
def test_the_service_restarts_beside_all_that(
    service: Service, connect: Any, tmp_path: Path, endpoint: str, keep: bool
) -> None:
    service.delays = slow
    made = Recorded(connect(retries=8))

    def restart() -> None:
        def run() -> None:
            service.stop()
            time.sleep(0.1)
            service.start(keep)

        threading.Thread(target=run).start()
        time.sleep(0.05)

    def soon() -> None:
        service.hooks[endpoint] = restart

    service.hooks["optim_step"] = soon
    run(tmp_path, made)
    assert endpoint not in service.hooks
    assert_sound(tmp_path, service, made)


def test_a_run_that_was_killed_goes_on_with_what_was_not_learned(
    service: Service, connect: Any, tmp_path: Path
) -> None:
    service.delays = slow
    with pytest.raises(TrainerError, match="killed"):
        run(tmp_path, Recorded(connect(), ends_at=6))
    state = read_state(tmp_path)
    assert state["step"] == 4
    resumed = connect(resume_from=state["training"])
    run(tmp_path, resumed, resume=True)
    order = learned_from(tmp_path)
    assert len(order) == len(set(order)) == STEPS * BATCH
    assert weights(service, resumed).steps == STEPS


# -- losses that the wire has no word for ---------------------------------------------------------


@pytest.mark.parametrize(
    ("loss_fn", "config"),
    [
        ("gspo", {"clip_low_threshold": 0.9, "clip_high_threshold": 1.1}),
        ("importance_sampling", {"token_cap": 1.1}),
        ("ppo", {"sequence_mask": 1.2}),
    ],
)
def test_a_loss_without_a_name_there_is_folded(
    service: Service, connect: Any, loss_fn: str, config: Any
) -> None:
    backend = connect()
    datums = [datum(Sample((65, 66), (-5.0, -6.0)), a) for a in (1.0, -1.0, 0.5)]
    done = backend.update(datums, loss_fn, config, AdamParams(0.1))
    (sent,) = [body["forward_backward_input"] for body in service.bodies("forward_backward")]
    assert sent["loss_fn"] == "importance_sampling"
    assert not sent.get("loss_fn_config")
    made = folded(datums, done.logprobs, loss_fn, config)
    for one, wanted in zip(sent["data"], made, strict=True):
        given = np.array(one["loss_fn_inputs"]["advantages"]["data"])
        assert given == pytest.approx(wanted.advantages[1:], rel=1e-5)
    assert weights(service, backend).steps == 1


@pytest.mark.parametrize("loss_fn", ["importance_sampling", "ppo", "cispo", "cross_entropy"])
def test_a_loss_that_the_service_has_goes_out_as_it_is(
    service: Service, connect: Any, loss_fn: str
) -> None:
    backend = connect()
    backend.check_loss(loss_fn, {})
    step(backend, 0, loss_fn)
    (sent,) = [body["forward_backward_input"] for body in service.bodies("forward_backward")]
    assert sent["loss_fn"] == loss_fn
    assert service.count("forward") == (loss_fn != "importance_sampling")


def test_what_a_service_cannot_do_is_refused_at_the_start(service: Service, connect: Any) -> None:
    with pytest.raises(BackendError, match=r"--loss-fn dro.*refuses") as caught:
        connect().check_loss("dro", {"beta": 0.1})
    assert len(str(caught.value).splitlines()) == 1
    service.fail("forward", *[Fault(404)] * 20)
    with pytest.raises(BackendError, match="gspo needs a forward pass"):
        connect().check_loss("gspo", {})
    connect().check_loss("cispo", {})  # that cannot be asked: the first update will tell


def test_the_question_changes_no_weights(
    service: Service, connect: Any, undisturbed: Model
) -> None:
    backend = connect()
    backend.check_loss("ppo", {})
    for seed in range(4):
        step(backend, seed)
    assert same(weights(service, backend), undisturbed)
