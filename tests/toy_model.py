"""The toy model of the service with faults: a table, whose bias is trained."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

VOCABULARY = 262  # three more than ByteTokenizer has, as real models have spare rows
MODEL = "toy/Bigram-1"
BASE = np.random.default_rng(0).normal(size=(VOCABULARY, VOCABULARY))


def log_softmax(x: np.ndarray) -> np.ndarray:
    x = x - x.max(axis=-1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


@dataclass
class Model:
    """A trainable bias over the vocabulary, its gradient and Adam's moments."""

    bias: np.ndarray = field(default_factory=lambda: np.zeros(VOCABULARY))
    grad: np.ndarray = field(default_factory=lambda: np.zeros(VOCABULARY))
    first: np.ndarray = field(default_factory=lambda: np.zeros(VOCABULARY))
    second: np.ndarray = field(default_factory=lambda: np.zeros(VOCABULARY))
    steps: int = 0
    rank: int = 0

    def copy(self) -> Model:
        return Model(
            self.bias.copy(),
            self.grad.copy(),
            self.first.copy(),
            self.second.copy(),
            self.steps,
            self.rank,
        )

    def logprobs(self, previous: np.ndarray) -> np.ndarray:
        return log_softmax(BASE[previous] + self.bias)

    def forward_backward(self, data: list[dict[str, Any]]) -> dict[str, Any]:
        """Accumulate the gradient of the importance-sampling loss, or of cross-entropy.

        The latter is what data is for that says weights and nothing else.
        """
        outputs, loss = [], 0.0
        for datum in data:
            inputs = {k: np.asarray(v["data"]) for k, v in datum["loss_fn_inputs"].items()}
            previous = np.concatenate([c["tokens"] for c in datum["model_input"]["chunks"]])
            target = inputs["target_tokens"].astype(int)
            table = self.logprobs(previous.astype(int))
            picked = table[np.arange(len(target)), target]
            ratio = inputs["weights"]
            if "advantages" in inputs:
                ratio = ratio * np.exp(picked - inputs["logprobs"]) * inputs["advantages"]
            loss -= ratio.sum() if "advantages" in inputs else (ratio * picked).sum()
            np.add.at(self.grad, target, -ratio)
            self.grad += (ratio[:, None] * np.exp(table)).sum(axis=0)
            outputs.append({"logprobs": tensor(picked)})
        return {
            "loss_fn_output_type": "toy",
            "loss_fn_outputs": outputs,
            "metrics": {"loss:sum": loss},
        }

    def optim_step(self, adam: dict[str, float]) -> dict[str, Any]:
        self.steps += 1
        self.first = adam["beta1"] * self.first + (1 - adam["beta1"]) * self.grad
        self.second = adam["beta2"] * self.second + (1 - adam["beta2"]) * self.grad**2
        first = self.first / (1 - adam["beta1"] ** self.steps)
        second = self.second / (1 - adam["beta2"] ** self.steps)
        self.bias = self.bias - adam["learning_rate"] * first / (np.sqrt(second) + adam["eps"])
        self.grad = np.zeros(VOCABULARY)
        return {"metrics": {"steps:sum": float(self.steps)}}


def tensor(values: np.ndarray) -> dict[str, Any]:
    return {"data": [float(v) for v in values], "dtype": "float32", "shape": [len(values)]}
