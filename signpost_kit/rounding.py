"""What a printed number can still have been, and what its rounding leaves open in a calculation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from signpost_kit.errors import DataError

__all__ = ["Printed", "Range", "carried", "nearest_mean", "printed"]


class Printed(NamedTuple):
    """A number as it is printed, and half a unit of its last digit (0 where it is exact)."""

    value: float
    half: float
    text: str = ""

    def shows(self, value: float) -> bool:
        """Whether `value` is printed like this."""
        return abs(value - self.value) <= self.half + 1e-9 * max(1.0, abs(self.value))


class Range(NamedTuple):
    """A calculated number, and the lowest and highest it can be when its inputs were rounded."""

    value: float
    low: float
    high: float


def printed(text: str, *, exact: bool = False) -> Printed:
    """`9.40` is 9.4 give or take 0.005, `282` is 282 give or take 0.5; counts and ranks are exact.

    Raises
    ------
    DataError
        `text` is no number.
    """
    try:
        number = Decimal(str(text).strip())
    except InvalidOperation:
        raise DataError(f"{text!r} is no number") from None
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int):
        raise DataError(f"{text!r} is no number")
    return Printed(float(number), 0.0 if exact else 0.5 * 10.0**exponent, str(text).strip())


def carried(calculate: Callable[..., float], *inputs: Printed | float) -> Range:
    """`calculate(*inputs)` with what rounding of the inputs leaves open, from all their ends.

    The calculation must be monotone in each input. Up to ten rounded inputs (2^10 evaluations).

    Examples
    --------
    >>> got = carried(lambda a, b: 100 * a / b, printed("25.14"), printed("59.65"))
    >>> [round(number, 3) for number in got]
    [42.146, 42.134, 42.158]
    """
    given = [x if isinstance(x, Printed) else Printed(float(x), 0.0) for x in inputs]
    if sum(x.half > 0 for x in given) > 10:
        raise DataError("too many rounded inputs to try all their ends")
    value = calculate(*(x.value for x in given))
    ends = [(x.value - x.half, x.value + x.half) if x.half else (x.value,) for x in given]
    tried = [calculate(*corner) for corner in itertools.product(*ends)]
    return Range(value, min(value, *tried), max(value, *tried))


def nearest_mean(mean: Printed, n: int, *, factor: float = 1.0) -> float:
    """The nearest mean that `n` whole numbers can have, times `factor` (100: a share in per cent).

    Examples
    --------
    >>> round(nearest_mean(printed("1.32"), 120), 4), round(nearest_mean(printed("83.4"), 350, factor=100), 3)
    (1.3167, 83.429)
    """
    return factor * math.floor(mean.value * n / factor + 0.5) / n
