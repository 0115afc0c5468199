"""The losses against formulas worked by hand, and against finite differences."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trainers.losses import LOSSES, check_loss, loss_terms

pytestmark = pytest.mark.quick

# One token each: r = exp(lp - old). ln 1.5, ln 0.5 and ln 1.1 give ratios outside and inside clips.
UP, DOWN, NEAR = math.log(1.5), math.log(0.5), math.log(1.1)


@pytest.mark.parametrize(
    ("loss_fn", "gap", "adv", "loss", "slope"),
    [
        ("importance_sampling", UP, 2.0, -3.0, -3.0),
        ("importance_sampling", DOWN, -1.0, 0.5, 0.5),
        ("ppo", UP, 2.0, -2.4, 0.0),  # 1.2 * 2 is smaller than 1.5 * 2: clipped, no gradient
        ("ppo", UP, -2.0, 3.0, 3.0),  # -3 is smaller than -2.4: not clipped
        ("ppo", DOWN, 2.0, -1.0, -1.0),
        ("ppo", DOWN, -2.0, 1.6, 0.0),
        ("ppo", NEAR, 2.0, -2.2, -2.2),
        ("cispo", UP, 2.0, -2.4 * (-1.0 + UP), -2.4),
        ("cispo", DOWN, 2.0, -1.6 * (-1.0 + DOWN), -1.6),
        ("cross_entropy", UP, 2.0, -2.0 * (-1.0 + UP), -2.0),
        ("dro", UP, 2.0, -((-1.0 + UP) * 2.0 - 0.025 * UP**2), -(2.0 - 0.05 * UP)),
    ],
)
def test_formula(loss_fn: str, gap: float, adv: float, loss: float, slope: float) -> None:
    old = np.array([-1.0])
    got_loss, got_slope = loss_terms(loss_fn, old + gap, old, np.array([adv]), {})
    assert got_loss[0] == pytest.approx(loss, abs=1e-9)
    assert got_slope[0] == pytest.approx(slope, abs=1e-9)


@pytest.mark.parametrize("loss_fn", [name for name, loss in LOSSES.items() if not loss.whole])
def test_slope_is_the_derivative(loss_fn: str) -> None:
    rng = np.random.default_rng(0)
    old, adv = rng.normal(-2, 1, 500), rng.normal(0, 1, 500)
    lp = old + rng.normal(0, 0.4, 500)
    step = 1e-6
    if loss_fn == "cispo":  # the clipped ratio is a constant there: differentiate what is left
        ratio = np.clip(np.exp(lp - old), 0.8, 1.2)
        wanted = -ratio * adv
    else:
        up, _ = loss_terms(loss_fn, lp + step, old, adv, {})
        down, _ = loss_terms(loss_fn, lp - step, old, adv, {})
        wanted = (up - down) / (2 * step)
    _, slope = loss_terms(loss_fn, lp, old, adv, {})
    near_a_kink = np.zeros(500, bool)
    if loss_fn == "ppo":
        ratio = np.exp(lp - old)
        near_a_kink = (abs(ratio - 0.8) < 1e-4) | (abs(ratio - 1.2) < 1e-4)
    np.testing.assert_allclose(slope[~near_a_kink], wanted[~near_a_kink], atol=1e-6)


@pytest.mark.parametrize("gap", [0.0, 0.1, -0.1, 1.0, -1.0])
@pytest.mark.parametrize("adv", [1.5, -1.5])
def test_a_loss_of_whole_responses(gap: float, adv: float) -> None:
    """Every token moves the loss of all: the slope is that of their sum."""
    rng = np.random.default_rng(0)
    old, advs = rng.normal(-2, 1, 9), np.full(9, adv)
    lp = old + gap + rng.normal(0, 0.05, 9)
    loss, slope = loss_terms("gspo", lp, old, advs, {})
    ratio = math.exp(float((lp - old).mean()))
    assert loss.sum() == pytest.approx(-9 * min(ratio * adv, min(max(ratio, 0.8), 1.2) * adv))
    for t in range(9):
        step = np.eye(9)[t] * 1e-6
        up, down = (loss_terms("gspo", lp + by, old, advs, {})[0].sum() for by in (step, -step))
        assert slope[t] == pytest.approx((up - down) / 2e-6, abs=1e-6)


def test_thresholds_are_ratios() -> None:
    old, lp = np.array([0.0]), np.array([math.log(3.0)])
    loss, _ = loss_terms("ppo", lp, old, np.array([1.0]), {"clip_high_threshold": 2.0})
    assert loss[0] == pytest.approx(-2.0)


@pytest.mark.parametrize(
    ("loss_fn", "config", "message"),
    [
        ("pp0", {}, "valid: importance_sampling, ppo, cispo, dro"),
        ("ppo", {"beta": 0.1}, "'beta' is not one of ppo"),
        ("ppo", {"clip_low_threshold": 1.1}, "0 <= low <= 1 <= high"),
        ("dro", {"beta": -1.0}, "beta=-1.0"),
    ],
)
def test_wrong_loss_settings(loss_fn: str, config: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_loss(loss_fn, config)
