"""What all simulators promise: the seed decides, and numbers without meaning are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bayesieve_studies.simulate import correlated_blocks, donations, engine_series, led_display, waveform

SIMULATORS: dict[str, tuple[Any, dict[str, list[Any]]]] = {
    "engine_series": (engine_series, {"n_series": [0, -3, 2.5, True, "ten"], "random_state": [-1, 1.5, "seed", True]}),
    "waveform": (waveform, {"n_rows": [0, True], "n_irrelevant": [-1], "random_state": [-1]}),
    "led_display": (
        led_display,
        {"n_rows": [0, 1.5], "n_irrelevant": [-1], "noise": [1.1, float("nan")], "random_state": ["one"]},
    ),
    "correlated_blocks": (correlated_blocks, {"correlation": [1.5], "n_features": [3]}),
    "donations": (
        donations,
        {"n_rows": [0], "n_features": [19], "response": [0.0, 1], "random_state": [-1]},
    ),
}
OF_20_COLUMNS = {"donations": {"n_features": 20}, "correlated_blocks": {"n_features": 8}}


def drawn(name: str, **options: Any) -> list[Any]:
    """The arrays that a simulator draws, 60 rows each."""
    simulate, _ = SIMULATORS[name]
    found = simulate(60, **OF_20_COLUMNS.get(name, {}), **options)
    if name == "engine_series":
        found = [getattr(found, part) for part in ("values", "offsets", "labels", "change_points", "amplitudes")]
    return [part.to_numpy() if hasattr(part, "to_numpy") else part for part in found]


def same(some: list[Any], others: list[Any]) -> bool:
    return all(np.array_equal(a.astype(str), b.astype(str)) for a, b in zip(some, others, strict=True))


@pytest.mark.parametrize("name", SIMULATORS)
def test_the_seed_decides(name: str) -> None:
    first = drawn(name)
    assert same(first, drawn(name))
    assert same(first, drawn(name, random_state=0))
    other = drawn(name, random_state=1)
    assert not same(first[:1], other[:1])
    generator = np.random.default_rng(1)
    assert same(other, drawn(name, random_state=generator))
    assert not same(other, drawn(name, random_state=generator))


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [(name, option, value) for name, (_, wrong) in SIMULATORS.items() for option in wrong for value in wrong[option]],
)
def test_numbers_without_meaning_are_refused(name: str, option: str, value: Any) -> None:
    simulate, _ = SIMULATORS[name]
    count = "n_series" if name == "engine_series" else "n_rows"
    with pytest.raises(ValueError, match=rf"{option} must be"):
        simulate(**{count: 50, **OF_20_COLUMNS.get(name, {}), option: value})
