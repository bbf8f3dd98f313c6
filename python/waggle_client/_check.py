"""Checks of arguments. Every refusal names the argument, the value that it got and what it wanted."""

import math
import operator
import re
import reprlib
import threading
from typing import Any, Optional, Sequence

import numpy as np

from waggle_client.errors import InvalidArgument, InvalidType

_NAME = re.compile(r"[A-Za-z0-9._/-]{1,128}")
_short = reprlib.Repr()
_short.maxstring = _short.maxother = 100


def got(value: Any) -> str:
    return f"{_short.repr(value)} ({type(value).__name__})"


def wrong_type(name: str, value: Any, wanted: str) -> InvalidType:
    return InvalidType(f"{name}: got {got(value)}; wanted is {wanted}")


def wrong_value(name: str, value: Any, wanted: str) -> InvalidArgument:
    return InvalidArgument(f"{name}: got {_short.repr(value)}; wanted is {wanted}")


def _range(low, high):
    if high is not None:
        return f" in [{low}, {high}]"
    return "" if low is None else f" >= {low}"


def integer(name: str, value: Any, low: Optional[int] = None, high: Optional[int] = None) -> int:
    """An integer of Python or NumPy. Booleans are refused, because they are nearly always a mistake."""
    if type(value) is not int:
        try:
            if isinstance(value, (bool, np.bool_)):
                raise TypeError
            value = operator.index(value)
        except TypeError:
            raise wrong_type(name, value, "an integer" + _range(low, high)) from None
    if (low is not None and value < low) or (high is not None and value > high):
        raise wrong_value(name, value, "an integer" + _range(low, high))
    return value


def number(name: str, value: Any, low: Optional[float] = None, high: Optional[float] = None) -> float:
    """A finite number; a scalar of NumPy or PyTorch is one."""
    wanted = "a finite number" + _range(low, high)
    if type(value) is not float:
        try:
            if isinstance(value, (bool, np.bool_, str, bytes)) or getattr(value, "shape", ()) != ():
                raise TypeError
            value = float(value)
        except OverflowError:
            raise wrong_value(name, value, wanted) from None
        except Exception:  # Other libraries' numbers have errors of their own.
            raise wrong_type(name, value, wanted) from None
    if not math.isfinite(value) or (low is not None and value < low) or (high is not None and value > high):
        raise wrong_value(name, value, wanted)
    return value


def seconds(name: str, value: Any) -> Optional[float]:
    """How long to wait. None and times that are too long for the clock have no limit."""
    if value is None or (isinstance(value, float) and value == math.inf):
        return None
    try:
        value = number(name, value, 0)
    except InvalidType:
        raise wrong_type(name, value, "a number of seconds >= 0, or None for no limit") from None
    except InvalidArgument:
        raise wrong_value(name, value, "a number of seconds >= 0, or None for no limit") from None
    return None if value >= threading.TIMEOUT_MAX else value


def boolean(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise wrong_type(name, value, "True or False")
    return bool(value)


def text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise wrong_type(name, value, "a string")
    return value


def identifier(name: str, value: Any) -> str:
    """The name of a table, a column, a writer or a sampler, as servers accept it."""
    if not _NAME.fullmatch(text(name, value)):
        raise wrong_value(name, value, "1 to 128 of letters, digits, '.', '_', '/' and '-'")
    return value


def one_of(name: str, value: Any, choices: Sequence[str]) -> str:
    if text(name, value) not in choices:
        raise InvalidArgument(f"{name}: got {_short.repr(value)}; wanted one of {', '.join(choices)}")
    return value


def instance(name: str, value: Any, kind: type, wanted: str) -> Any:
    if not isinstance(value, kind):
        raise wrong_type(name, value, wanted)
    return value


def as_float64(array: np.ndarray) -> np.ndarray:
    """The array as float64. Numbers beyond its range become infinities, which the caller must refuse."""
    with np.errstate(over="ignore"):
        return array.astype(np.float64, copy=False)


def flat(array: np.ndarray) -> np.ndarray:
    """Makes [n, 1], a usual shape of TD errors, to [n]; other shapes stay as they are."""
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def array(name: str, value: Any, wanted: str) -> np.ndarray:
    """The value as a NumPy array."""
    try:
        return np.asarray(value)
    except Exception as error:  # From ragged lists, or from other libraries' arrays, which have errors of their own.
        raise InvalidType(
            f"{name}: got {type(value).__name__}, of which NumPy makes no array ({error}); wanted is {wanted}"
        ) from None
