"""The mint backend: the real SDK against a service of the tests' own, without a fault."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
from fault_server import Fault, Service
from mint_steps import PROMPT, TOKENIZER, datum, same, step, weights
from toy_model import MODEL, VOCABULARY, Model

from trainers.backends import (
    AdamParams,
    Datum,
    LoraParams,
    SampleRequest,
    SamplingParams,
)
from trainers.errors import BackendError

# -- the verbs ------------------------------------------------------------------------------------


def test_training_raises_the_reward(service: Service, connect: Any) -> None:
    backend = connect()

    def letters() -> float:
        (group,) = backend.sample([SampleRequest(PROMPT, 64)], SamplingParams(5, seed=99))
        return float(np.mean([65 <= token < 123 for sample in group for token in sample.tokens]))

    before = letters()
    for seed in range(30):
        step(backend, seed, lr=0.3)
    assert letters() > before + 0.5


def test_update_sends_both_requests_before_it_waits(service: Service, connect: Any) -> None:
    backend = connect()
    came = []

    def hold_back_the_first_answer() -> None:
        deadline = time.monotonic() + 10
        while service.count("optim_step") == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        came.append(service.count("optim_step"))

    (group,) = backend.sample([SampleRequest(PROMPT, 1)], SamplingParams(3))
    service.hooks["retrieve_future"] = hold_back_the_first_answer
    backend.update([datum(group[0], 1.0)], "importance_sampling", {}, AdamParams(0.1))
    assert came == [1]
    paths = [path for path, _, _ in service.requests]
    assert paths.index("forward_backward") < paths.index("optim_step")


def test_datum_on_the_wire(service: Service, connect: Any) -> None:
    backend = connect()
    given = Datum(
        tokens=(1, 2, 3, 4, 5),
        mask=np.array([0, 0, 1, 0, 1.0]),
        logprobs=np.array([0, 0, -1.5, 0, -2.5]),
        advantages=np.array([0, 0, 0.5, 0, -0.25]),
    )
    adam = AdamParams(0.01, (0.8, 0.7), 1e-3, 0.02, 3.0)
    backend.update([given], "ppo", {"clip_low_threshold": 0.8, "clip_high_threshold": 1.2}, adam)
    (forward,) = [b["forward_backward_input"] for b in service.bodies("forward_backward")]
    assert forward["loss_fn"] == "ppo"
    assert forward["loss_fn_config"] == {"clip_low_threshold": 0.8, "clip_high_threshold": 1.2}
    (sent,) = forward["data"]
    assert [c["tokens"] for c in sent["model_input"]["chunks"]] == [[1, 2, 3, 4]]
    inputs = {name: value["data"] for name, value in sent["loss_fn_inputs"].items()}
    assert inputs == {
        "target_tokens": [2, 3, 4, 5],
        "weights": [0, 1, 0, 1],
        "logprobs": [0, -1.5, 0, -2.5],
        "advantages": [0, 0.5, 0, -0.25],
    }
    (adam_sent,) = [b["adam_params"] for b in service.bodies("optim_step")]
    assert adam_sent == {
        "learning_rate": 0.01,
        "beta1": 0.8,
        "beta2": 0.7,
        "eps": 1e-3,
        "weight_decay": 0.02,
        "grad_clip_norm": 3.0,
    }


def test_lora_on_the_wire(service: Service, connect: Any) -> None:
    connect(lora=LoraParams(12, train_mlp=False, train_attn=True, train_unembed=False, seed=5))
    (sent,) = service.bodies("create_model")
    assert sent["base_model"] == MODEL
    assert sent["lora_config"] == {
        "rank": 12,
        "seed": 5,
        "train_mlp": False,
        "train_attn": True,
        "train_unembed": False,
    }


def test_logprobs_come_back_aligned(connect: Any) -> None:
    backend = connect()
    (group,) = backend.sample([SampleRequest(PROMPT, 3)], SamplingParams(4))
    datums = [datum(sample, 1.0) for sample in group]
    base = backend.logprobs(datums, base=True)
    result = backend.update(datums, "importance_sampling", {}, AdamParams(0.1))
    assert set(result.metrics) == {"loss:sum", "steps:sum"}
    for given, told, frozen in zip(datums, result.logprobs, base, strict=True):
        np.testing.assert_allclose(told, given.logprobs, atol=1e-5)
        np.testing.assert_allclose(frozen, given.logprobs, atol=1e-5)
    # The base model stays as it was, while the trained one moves.
    for before, after in zip(base, backend.logprobs(datums, base=True), strict=True):
        np.testing.assert_array_equal(before, after)
    again = backend.update(datums, "importance_sampling", {}, AdamParams(0.0))
    assert not np.allclose(again.logprobs[0], base[0])


def test_all_requests_are_in_flight_at_once(service: Service, connect: Any) -> None:
    backend = connect()
    service.gate = threading.Barrier(64, timeout=20)  # no answer before all 64 are asked for
    groups = backend.sample([SampleRequest(PROMPT, 1)] * 64, SamplingParams(2))
    assert len(groups) == 64
    assert not service.gate.broken


def test_results_keep_the_order_of_requests(service: Service, connect: Any) -> None:
    backend = connect()
    requests = [SampleRequest((i,), 1 + i % 3) for i in range(12)]
    calm = backend.sample(requests, SamplingParams(3, seed=5))
    assert [len(group) for group in calm] == [request.n for request in requests]
    # The first requests come last; a request keeps its seed, so the samples tell which is which.
    service.fail("asample", *[Fault(sleep_s=0.2 - 0.02 * i, after=True) for i in range(10)])
    assert backend.sample(requests, SamplingParams(3, seed=5)) == calm


def test_equal_requests_get_different_samples(connect: Any) -> None:
    backend = connect()
    groups = backend.sample([SampleRequest(PROMPT, 2)] * 4, SamplingParams(6, seed=1))
    assert len({sample.tokens for group in groups for sample in group}) == 8
    other = backend.sample([SampleRequest(PROMPT, 2)] * 4, SamplingParams(6, seed=2))
    assert other != groups


def test_temperature_zero_is_greedy(connect: Any) -> None:
    (group,) = connect().sample([SampleRequest(PROMPT, 3)], SamplingParams(4, temperature=0.0))
    assert len({sample.tokens for sample in group}) == 1


@pytest.mark.parametrize("server_stops", [True, False])
@pytest.mark.parametrize("kind", ["string", "token", "both"])
def test_stops_hold_whatever_the_server_does(
    service: Service, connect: Any, server_stops: bool, kind: str
) -> None:
    service.stops = server_stops
    stop = () if kind == "token" else ("A", "B", "CD")
    stop_tokens = () if kind == "string" else (200, 201, 202)
    params = SamplingParams(60, stop=stop, stop_tokens=stop_tokens, temperature=3.0)
    (group,) = connect().sample([SampleRequest(PROMPT, 40)], params)
    ended = [s for s in group if s.tokens and (s.tokens[-1] in stop_tokens or s.tokens[-1] < 128)]
    assert ended
    for sample in group:
        inside = sample.tokens[:-1]
        assert not set(inside) & set(stop_tokens)
        assert not any(text in TOKENIZER.decode(inside) for text in stop)
        assert len(sample.logprobs) == len(sample.tokens)
    for body in service.bodies("asample"):
        assert "stop_token_ids" not in body["sampling_params"]


def test_ids_beyond_the_tokenizer_end_a_response(connect: Any) -> None:
    params = SamplingParams(200, temperature=3.0)
    (group,) = connect().sample([SampleRequest(PROMPT, 8)], params)
    assert TOKENIZER.vocab_size < VOCABULARY
    assert any(len(sample.tokens) < 200 for sample in group)
    for sample in group:
        assert all(token < TOKENIZER.vocab_size for token in sample.tokens)
        assert len(sample.logprobs) == len(sample.tokens)


def test_samples_without_logprobs_are_an_error(service: Service, connect: Any) -> None:
    service.logprobs = False
    with pytest.raises(BackendError, match="log-probability"):
        connect().sample([SampleRequest(PROMPT, 1)], SamplingParams(3))


def test_a_refused_loss_is_named_and_nothing_is_stepped(service: Service, connect: Any) -> None:
    backend = connect()
    step(backend, 0)
    with pytest.raises(BackendError, match="dro") as caught:
        step(backend, 1, "dro")
    assert "refuses" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert service.count("optim_step") == 1  # the one that belongs to the refused loss stayed here
    step(backend, 1)  # and the backend goes on
    assert weights(service, backend).steps == 2


# -- saving and resuming --------------------------------------------------------------------------


def test_a_resumed_run_equals_the_uninterrupted_one(
    service: Service, connect: Any, undisturbed: Model
) -> None:
    backend = connect()
    step(backend, 0)
    step(backend, 1)
    sampler_path, state_path = backend.save("/home/me/step 2 of 4")
    assert sampler_path in service.disk
    assert sampler_path.endswith("/step-2-of-4")
    backend.close()
    service.stop()
    service.start(keep=False)  # the service forgets all but what was saved
    resumed = connect(resume_from=state_path)
    step(resumed, 2)
    step(resumed, 3)
    assert same(weights(service, resumed), undisturbed)


def test_saved_path_makes_a_sampling_client(service: Service, connect: Any) -> None:
    """As the documents have it, with the SDK alone and in a process of its own."""
    backend = connect()
    step(backend, 0)
    path, _ = backend.save("final")
    code = (
        "import mint\n"
        f"sampler = mint.ServiceClient().create_sampling_client(model_path={path!r})\n"
        f"prompt = mint.types.ModelInput.from_ints({list(PROMPT)})\n"
        "params = mint.types.SamplingParams(max_tokens=3, seed=3)\n"
        "print(len(sampler.sample(prompt, 2, params).result(10).sequences))\n"
    )
    env = {**os.environ, "MINT_API_KEY": "tml-good-key", "MINT_BASE_URL": service.url}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "2\n", done.stderr


def test_a_name_used_twice_keeps_both(service: Service, connect: Any) -> None:
    backend = connect()
    step(backend, 0)
    first = backend.save("same")
    step(backend, 1)
    second = backend.save("same")
    assert len({*first, *second}) == 4
    assert [service.disk[path].steps for path in (*first, *second)] == [1, 1, 2, 2]


def test_resume_refuses_another_rank_or_a_missing_state(connect: Any) -> None:
    backend = connect()
    _, path = backend.save("here")
    with pytest.raises(BackendError, match="rank 4"):
        connect(resume_from=path, lora=LoraParams(rank=8))
    with pytest.raises(BackendError, match="nowhere"):
        connect(resume_from="tinker://nowhere/weights/x")
