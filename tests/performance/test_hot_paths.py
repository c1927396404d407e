"""No hot path loses half of its speed: it takes turns with a plain loop, and the ratio is compared with a stored one.

`python -m benchmarks.bench_hot_paths --store` lowers the stored ratios to those of this machine, if it is idle.
"""

import warnings
from collections.abc import Callable

import pytest

from benchmarks.hot_paths import HOT_PATHS, HotPath, ratio, stored_ratios

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("path", HOT_PATHS, ids=lambda path: path.__name__)
def test_a_hot_path_keeps_half_of_its_speed(path: Callable[[], HotPath]) -> None:
    bound = stored_ratios()[path.__name__] / 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared = path()
        # A busy machine may spoil one measurement, hardly three in a row.
        assert any(ratio(prepared) >= bound for _ in range(3)), f"Half as fast as before: {path.__doc__}"
