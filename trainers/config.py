"""``TrainConfig``: every setting of a run, with its default, its check and its help.

Names and defaults are those of the MinT documents. Nothing here reads the environment; the
command ``mint-grpo`` does (``trainers.command``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import copy
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from mint_envs.pass_rates import check_range
from mint_envs.registration import family_of

from .losses import LOSSES, check_loss, known_loss

Positive = Annotated[int, Field(ge=1, le=2**20)]
Name = Annotated[str, Field(min_length=1)]


class EvalConfig(BaseModel):
    """One evaluation. What is left out is as ``--eval-problems`` and its like say."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    env: Name | None = Field(None, description="environment of an evaluation; default: the run's")
    settings: dict[str, Any] = Field(
        default_factory=dict, description="its settings, over those of the run if it is the same"
    )
    problems: Positive = Field(100, description="problems of an evaluation, no two alike")
    samples: Positive = Field(1, description="also report pass@k of so many samples")
    temperature: float | None = Field(
        None,
        ge=0,
        le=10,
        description="of an evaluation; default: greedy, and samples as the run draws them",
    )
    max_tokens: Positive | None = Field(
        None, description="of an evaluation; default: those of the run"
    )

    @model_validator(mode="after")
    def _check(self) -> EvalConfig:
        if self.temperature == 0 and self.samples > 1:
            raise ValueError("samples of an evaluation at temperature 0 are all alike: leave one")
        return self


def _of_eval(name: str) -> Any:
    """Return the field ``name`` of an evaluation as one of a run."""
    return copy(EvalConfig.model_fields[name])


class RunConfig(BaseModel):
    """What any training has: a model, an optimizer, a folder. Frozen; a wrong value is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    env: str
    steps: int = Field(10, ge=0, le=999_999)
    batch: Positive = Field(8, description="prompts per step")
    seed: int = Field(0, ge=0, lt=2**32, description="seed of problems, sampling and LoRA weights")

    # The optimizer
    lr: float = Field(2e-5, gt=0, description="Adam learning rate")
    lr_schedule: Literal["constant", "linear", "cosine"] = Field(
        "constant", description="linear, cosine: down to 0 over the steps"
    )
    warmup: int = Field(0, ge=0, description="steps in which lr rises from 0, under any schedule")
    betas: tuple[float, float] = Field((0.9, 0.999), description="Adam decay rates, e.g. 0.9,0.999")
    eps: float = Field(1e-8, gt=0, description="Adam epsilon")
    weight_decay: float = Field(0.0, ge=0, description="weight decay")
    grad_clip: float = Field(0.0, ge=0, description="largest gradient norm; 0 is no clipping")

    # The model
    backend: Literal["auto", "local", "mint", "bandit"] = Field(
        "auto", description="auto: mint if there is a MINT_API_KEY, else local"
    )
    base_model: Name | None = Field(
        None,
        description="model name or folder; default: Qwen/Qwen3-0.6B on a service, "
        "SmolLM2-135M-Instruct here",
    )
    init_from: Name | None = Field(
        None, description="weights to begin with: a run, a folder with an adapter, or tinker://..."
    )
    rank: Positive = Field(16, description="LoRA rank")
    train_mlp: bool = Field(True, description="train the MLP layers")
    train_attn: bool = Field(True, description="train the attention layers")
    train_unembed: bool = Field(True, description="train the output layer")
    device: str | None = Field(None, description="local: cpu, cuda or mps; default: the best here")
    dtype: Literal["bfloat16", "float32"] | None = Field(
        None, description="local: default is the faster one on this hardware"
    )
    threads: Positive | None = Field(
        None, description="local: CPU threads; default: all cores, or 1 on a loaded machine"
    )
    token_budget: Positive | None = Field(
        None,
        description="local: tokens of one training pass, which bounds memory; default: 1024 on a "
        "CPU, 16384 elsewhere",
    )
    tokenizer: str | None = Field(
        None, description="mint: tokenizer name or folder, where the service's cannot be fetched"
    )

    # Evaluation and the run directory
    eval_every: int = Field(0, ge=0, description="evaluate every so many steps; 0: never")
    save_every: int = Field(20, ge=0, description="checkpoint every so many steps; 0: at the end")
    rolling_every: int = Field(
        0, ge=0, description="also one every so many steps, which a service keeps for two hours"
    )
    keep: Positive = Field(2, description="how many of the newest checkpoints to keep")
    ttl_days: float = Field(
        7.0, ge=0, le=3650, description="mint: days that a checkpoint lives there; 0: for ever"
    )
    run_dir: Name | None = Field(None, description="folder of the run; default: runs/<env>-<time>")
    log_to: tuple[Literal["tensorboard", "trackio", "wandb"], ...] = Field(
        (), description="also log to tensorboard, trackio or wandb"
    )
    log_project: Name = Field("mint-envs", description="trackio, wandb: project")
    log_name: Name | None = Field(
        None, description="trackio, wandb: name of the run; default: that of its folder"
    )

    @model_validator(mode="after")
    def _check_run(self) -> RunConfig:
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas={self.betas} must both be in [0, 1)")
        if not (self.train_mlp or self.train_attn or self.train_unembed):
            raise ValueError("set at least one of train_mlp, train_attn, train_unembed")
        if self.warmup and 0 < self.steps <= self.warmup:
            raise ValueError(f"warmup={self.warmup} must be less than steps={self.steps}")
        return self

    @property
    def loss(self) -> tuple[str, dict[str, float]]:
        """The name of the loss, by which services know it, and its config."""
        raise NotImplementedError

    @property
    def headline(self) -> str:
        """What the first lines of a run say of its settings."""
        raise NotImplementedError


class TrainConfig(RunConfig):
    """All settings of training on an environment."""

    env: str = Field("mint/Math-v0", description="environment id, or 'module:id'")
    env_settings: dict[str, Any] = Field(
        default_factory=dict, description="keyword arguments of the environment"
    )

    # The loop
    steps: int = Field(10, ge=1, le=999_999, description="training steps")
    group: int = Field(4, ge=2, le=2**20, description="responses per prompt")
    max_tokens: Positive = Field(16, description="longest response, in tokens")
    temperature: float = Field(0.8, ge=0.01, le=10, description="sampling temperature")
    substeps: Positive = Field(1, description="updates on the groups of a step, each on its part")
    max_steps_off_policy: int = Field(
        0, ge=0, le=100, description="steps that sampling may be ahead of learning; 0: on-policy"
    )
    refill: int = Field(
        0,
        ge=0,
        le=100,
        description="draw at most so many more batches to replace groups with equal rewards",
    )
    max_turns: Positive = Field(
        100, description="longest episode, in responses; a longer one is left out as unmeasured"
    )
    env_timeout_s: float = Field(
        600.0, ge=0, description="longest wait for a reset, a step or a batch of them; 0: no limit"
    )
    env_retries: int = Field(
        1, ge=0, le=100, description="how often an episode is repeated if its environment failed"
    )

    # Which problems, by how hard they are
    pass_rates: Name | None = Field(
        None, description="file of pass rates, as mint-envs eval --write-pass-rates writes"
    )
    min_pass_rate: float | None = Field(
        None, ge=0, le=1, description="do not use problems that are solved less often, for a while"
    )
    max_pass_rate: float | None = Field(
        None, ge=0, le=1, description="do not use problems that are solved more often, for a while"
    )
    curriculum: bool = Field(
        False, description="among the problems that were used least, the easiest first"
    )

    # The loss
    loss_fn: Annotated[str, AfterValidator(known_loss)] = Field(
        "importance_sampling", description=f"policy loss: {', '.join(LOSSES)}"
    )
    clip_low_threshold: float = Field(0.8, description="ppo, cispo, gspo: smallest ratio")
    clip_high_threshold: float = Field(1.2, description="ppo, cispo, gspo: largest ratio")
    dro_beta: float = Field(0.05, description="dro: weight of the quadratic term")
    ratio_cap: float = Field(
        0.0, ge=0, description="a ratio above this counts as this does, in any loss; 0: no cap"
    )
    ratio_mask: float = Field(
        0.0, ge=0, description="where a ratio is above this or below 1 / this, nothing is learned"
    )
    ratio_level: Literal["token", "sequence"] = Field(
        "token", description="cap and mask: the ratio of a token, or the mean of its response's"
    )
    advantage: Literal["mean", "std", "rloo", "dr_grpo"] = Field(
        "mean", description="baseline of a group"
    )
    credit: Literal["episode", "turn"] = Field(
        "episode",
        description="turn: each is paid for what it added, by metadata['values'] of the reward",
    )
    length_norm: Literal["none", "token", "sequence", "constant"] = Field(
        "none", description="normalisation by length, folded into the advantages"
    )
    overlong: Literal["score", "mask", "shape"] = Field(
        "score",
        description="responses that were cut: as they score; not trained on; or less for what is "
        "in the last fifth of max_tokens, down to -1",
    )
    kl_penalty_coef: float = Field(
        0.0,
        ge=0,
        description="KL penalty against the frozen base model, folded into the advantages",
    )

    # Evaluation
    eval_env: Name | None = _of_eval("env")
    eval_settings: dict[str, Any] = _of_eval("settings")
    eval_problems: Positive = _of_eval("problems")
    eval_samples: Positive = _of_eval("samples")
    eval_temperature: float | None = _of_eval("temperature")
    eval_max_tokens: Positive | None = _of_eval("max_tokens")
    evals: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description='more evaluations by name: {"long": {"max_tokens": 64, "settings": {}}}',
    )
    watch: Name | None = Field(
        None, description="module:grader, a second one: (problem, response) to a number or None"
    )
    watch_samples: Positive = Field(16, description="responses of each step that it scores")

    @model_validator(mode="after")
    def _check(self) -> TrainConfig:
        check_loss(self.loss_fn, self.loss_fn_config)
        for name in self.evals:
            if not re.fullmatch(r"[\w.-]+", name):
                raise ValueError(f"evals: the name {name!r} may have letters, digits, _ . - only")
        check_range(self.min_pass_rate, self.max_pass_rate)
        _ = self.evaluations
        if self.batch * self.group > 2**20:
            raise ValueError(
                f"batch={self.batch} times group={self.group} is more than {2**20} episodes a "
                "step: lower one of them"
            )
        if self.advantage == "dr_grpo" and self.length_norm not in ("none", "constant"):
            raise ValueError(
                f"advantage='dr_grpo' divides by max_tokens; length_norm={self.length_norm!r} "
                "would divide again. Leave length_norm out, or use advantage='mean'."
            )
        return self

    @model_validator(mode="after")
    def _check_steps(self) -> TrainConfig:
        by_rate = self.curriculum or (self.min_pass_rate, self.max_pass_rate) != (None, None)
        if by_rate and (self.refill or self.max_steps_off_policy):
            raise ValueError(
                "problems that are chosen by pass rates follow from all earlier steps: leave out "
                "refill and max_steps_off_policy, or min_pass_rate, max_pass_rate and curriculum"
            )
        return self

    @property
    def evaluations(self) -> dict[str, EvalConfig]:
        """All evaluations by name; ``""`` is the one that has none."""
        flat = {name: getattr(self, f"eval_{name}") for name in EvalConfig.model_fields}
        return {name: EvalConfig(**{**flat, **own}) for name, own in {"": {}, **self.evals}.items()}

    @property
    def loss_fn_config(self) -> dict[str, float]:
        """The thresholds of ``loss_fn``, by the service's keys, and the limits of ratios."""
        values = {
            "clip_low_threshold": self.clip_low_threshold,
            "clip_high_threshold": self.clip_high_threshold,
            "beta": self.dro_beta,
        }
        limits = {"cap": self.ratio_cap, "mask": self.ratio_mask}
        return {
            **{key: values[key] for key in LOSSES[self.loss_fn].config},
            **{f"{self.ratio_level}_{kind}": value for kind, value in limits.items() if value},
        }

    @property
    def loss(self) -> tuple[str, dict[str, float]]:
        return self.loss_fn, self.loss_fn_config

    @property
    def headline(self) -> str:
        return (
            f"steps={self.steps} batch={self.batch} group={self.group} lr={self.lr:g} "
            f"max_tokens={self.max_tokens} temperature={self.temperature:g}"
        )

    @property
    def effective_length_norm(self) -> str:
        """``length_norm``, with Dr. GRPO's own filled in."""
        return "constant" if self.advantage == "dr_grpo" else self.length_norm


class SftConfig(RunConfig):
    """All settings of training on responses that are given: ``mint-grpo sft FILE``."""

    env: Literal["sft"] = "sft"
    data: Name = Field(description="rows of prompt and response, or of messages")
    eval_data: Name | None = Field(
        None, description="rows whose loss is reported; default: one in ten of FILE, kept out"
    )
    epochs: Positive = Field(1, description="how often to go through the rows")
    steps: int = Field(0, ge=0, le=999_999, description="updates; 0: as many as the epochs take")
    batch: Positive = Field(16, description="rows per step")
    lr: float = Field(2e-4, gt=0, description="Adam learning rate")
    grad_clip: float = Field(1.0, ge=0, description="largest gradient norm; 0 is no clipping")
    eval_every: int = Field(10, ge=0, description="held-out loss every so many steps; 0: never")

    @property
    def loss(self) -> tuple[str, dict[str, float]]:
        return "cross_entropy", {}

    @property
    def headline(self) -> str:
        return f"data={self.data} epochs={self.epochs} batch={self.batch} lr={self.lr:g}"


def kind_of(env: str) -> type[TrainConfig] | type[SftConfig]:
    """Return which settings a run has. No environment is called "sft": ids have a / or a :."""
    return SftConfig if env == "sft" else TrainConfig


#: What a small model on this machine learns from within minutes, in any environment that has no
#: preset of its own: its author sees whether it can be learned.
LOCAL_OTHER: dict[str, Any] = {
    "steps": 30, "batch": 16, "group": 8, "lr": 5e-4, "lr_schedule": "linear",
    "betas": (0.9, 0.95), "length_norm": "token", "grad_clip": 1.0, "max_tokens": 32,
    "temperature": 1.0, "eval_every": 10, "eval_problems": 100,
}  # fmt: skip

#: A service may be gone at any step; a checkpoint there costs what each step's sampler costs.
SERVICE: dict[str, Any] = {"rolling_every": 1}


def defaults_for(env: str, backend: str, preset: str | None = None) -> dict[str, Any]:
    """Return the defaults of ``env`` that differ from ``TrainConfig``'s.

    Args:
        env: environment id; ``"module:id"`` counts as ``id``.
        backend: ``"local"``, ``"mint"`` or ``"bandit"``.
        preset: ``"documents"``, or ``"local"`` for a small model on this machine; by default
            what suits the backend.
    """
    presets = family_of(env).presets
    local = (preset or backend) == "local" and kind_of(env) is TrainConfig
    return {
        **(SERVICE if backend == "mint" else {}),
        **(LOCAL_OTHER if local and "local" not in presets else {}),
        **presets.get("documents", {}),
        **(presets.get("local", {}) if local else {}),
    }


def preset_changes(config: RunConfig, presets: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the settings that have their value from ``presets``, and the documents' value."""
    theirs = family_of(config.env).presets.get("documents", {})
    found = {}
    for name, value in presets.items():
        was = theirs.get(
            name, type(config).model_fields[name].get_default(call_default_factory=True)
        )
        if getattr(config, name) == value != was:
            found[name] = (value, was)
    return found
