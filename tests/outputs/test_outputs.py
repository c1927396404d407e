"""Compare the methods of the papers with their stored outputs; `python -m tests.outputs` compares to the bit."""

from __future__ import annotations

import pytest

from tests import outputs

_SAME = 1e-11  # relative: logarithms differ in the last digits between processors


@pytest.mark.parametrize("name", outputs.TABLES)
@pytest.mark.parametrize("method", outputs.METHODS)
def test_method_gives_the_stored_output(method: str, name: str) -> None:
    today, before = outputs.output(method, name), outputs.stored(name)[method]
    assert today["n_levels"] == before["n_levels"]
    assert today["weights"] == pytest.approx(before["weights"], rel=_SAME)
    for row, row_before in zip(today["log_proba"], before["log_proba"], strict=True):
        assert row == pytest.approx(row_before, rel=_SAME, abs=_SAME)
