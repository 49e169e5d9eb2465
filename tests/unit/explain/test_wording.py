"""Numbers beside their errors: no digit that the error does not allow."""

import math

import pytest

from voile.explain.wording import noisy, readable


@pytest.mark.parametrize(
    ("number", "error", "told"),
    [
        (-6.21e-05, 0.095, "0 ± 0.19"),
        (-0.000433, 0.2, "0 ± 0.4"),
        (0.6342, 0.095, "+0.63 ± 0.19"),
        (-0.7123, 0.01724, "-0.712 ± 0.034"),
        (1234.5, 250.0, "+1,234 ± 500"),
        (0.6342, 0.0, "+0.634"),
        (0.6342, math.inf, "+0.634 ± unknown"),
        (3e-6, 1e-7, "+3e-06 ± 2e-07"),
    ],
)
def test_a_number_has_the_digits_of_its_error(number, error, told):
    assert noisy(number, error) == told


def test_rounding_leaves_no_negative_nothing():
    assert math.copysign(1.0, readable(-1e-9, 0.1)) == 1.0
