"""Rows before they are in a block: checks of their values, and the buffer in which they gather."""

import dataclasses
import difflib
import math
from typing import Any, List, Mapping, Sequence, Tuple

import numpy as np

from waggle_client.dtypes import numpy_dtype
from waggle_client.errors import InvalidArgument, InvalidType
from waggle_client.table import Column

_MAX_CHUNK_ROWS = 4096


class ColumnRules:
    """The values that a column allows. Conversions that keep the kind of number are made, and checked."""

    def __init__(self, name: str, column: Column):
        self.name = name
        self.column = column
        self.dtype = numpy_dtype(column.dtype)
        self.shape = column.shape
        self.row_bytes = self.dtype.itemsize * math.prod(column.shape)
        self._is_float = "float" in column.dtype
        # The types of scalars that are taken as they are, and their bounds.
        self._low, self._high = 0, 1
        if self._is_float:
            self._scalars = (float, int)
            self._numpy_scalars = (np.float64, np.float32, np.float16)
            self._high = 3.38e38 if column.dtype == "bfloat16" else float(np.finfo(self.dtype).max)
            self._low = -self._high
        elif column.dtype == "bool":
            self._scalars = (bool,)
            self._numpy_scalars = (np.bool_,)
        else:
            self._scalars = (int,)
            self._numpy_scalars = (np.int64, np.int32, np.uint8)
            self._low, self._high = int(np.iinfo(self.dtype).min), int(np.iinfo(self.dtype).max)
        self._scalars = frozenset(self._scalars)
        self._numpy_scalars = frozenset(self._numpy_scalars)
        self._dot = self.dtype.char in "fd"  # np.vdot then checks every element in one call.

    def admit(self, value: Any, lead: tuple = ()) -> Any:
        """The value in a form that elements of this column can take: `lead` rows of it. Raises InvalidArgument."""
        if type(value) in self._numpy_scalars:
            value = value.item()  # For a narrower type, NumPy would make the bounds infinite in the comparison.
        if not lead and not self.shape and type(value) in self._scalars:
            if self._low <= value <= self._high:  # False for NaN.
                return value
            raise self._refusal(f"{value} is not in [{self._low}, {self._high}]")
        if type(value) is np.ndarray and value.dtype == self.dtype and value.shape == lead + self.shape:
            array = value
        else:
            array = self._convert(value, lead)
        if self._is_float and not self._is_finite(array):
            index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise self._refusal(f"element {list(index)} is {array[index]}; values must be finite")
        return array

    def _is_finite(self, array):
        if self._dot and array.flags.c_contiguous and math.isfinite(np.vdot(array, array)):
            return True
        return bool(np.isfinite(array).all())  # The square of a large number may be infinite, too.

    def _convert(self, value, lead):
        wanted = Column(self.column.dtype, lead + self.shape)
        try:
            array = np.asarray(value)
        except Exception as error:  # Ragged lists; other libraries' arrays, which have errors of their own.
            raise self._refusal(f"wanted is {wanted}; got what is no array: {error}") from None
        if array.dtype.kind in "OSU" and array.size > 0:
            raise self._refusal(f"got {type(value).__name__}, which is no array of numbers; wanted is {wanted}")
        if array.shape != lead + self.shape:
            raise self._refusal(f"got {array.dtype}{list(array.shape)}; wanted is {wanted}")
        if array.dtype == self.dtype:
            return array
        kind = "f" if self._is_float else self.dtype.kind
        if array.dtype.kind in "iu" and kind in "iu":
            if array.size and not (self._low <= int(array.min()) and int(array.max()) <= self._high):
                raise self._refusal(f"got {array.min()} to {array.max()}, outside [{self._low}, {self._high}]")
        elif not (kind == "f" and array.dtype.kind in "fiub") and not (kind in "iu" and array.dtype.kind == "b"):
            raise self._refusal(f"got {array.dtype}, which would lose its meaning as {self.column.dtype}: convert it")
        with np.errstate(over="ignore"):  # Infinities are refused later.
            return array.astype(self.dtype)

    def _refusal(self, message):
        return InvalidArgument(f'column "{self.name}": {message}')


class RowBuffer:
    """Rows of `lanes` streams that get one row each at a time, until they are sent as one chunk a stream."""

    def __init__(self, rules: Sequence[ColumnRules], first_stream: int, lanes: int, block_bytes: int):
        self.rules = rules
        self.first_stream = first_stream
        self.lanes = lanes
        self.step_bytes = lanes * sum(rule.row_bytes for rule in rules)
        self.capacity = max(1, min(_MAX_CHUNK_ROWS, block_bytes // max(1, self.step_bytes)))
        self.rows = 0  # In the buffer.
        self.first_row = 0  # The stream's index of the buffer's first row.
        self.episode_start = [0] * lanes  # The index of the first row of each lane's newest episode.
        self._begins = {}  # By lane: the rows of the buffer at which episodes begin.
        self._arrays = None  # [lanes, capacity, …] for each column.
        self._targets = None  # The same; for a single lane without the first dimension.

    @property
    def next_row(self) -> int:
        return self.first_row + self.rows

    def admit(self, row: Mapping[str, Any], lead: tuple) -> list:
        """The values of all columns in their order. Changes nothing; raises InvalidArgument."""
        try:
            if len(row) == len(self.rules):
                return [rule.admit(row[rule.name], lead) for rule in self.rules]
        except (KeyError, TypeError):
            pass
        raise self._columns_differ(row)

    def _columns_differ(self, row):
        names = [rule.name for rule in self.rules]
        if not isinstance(row, Mapping):
            return InvalidType(f"a row is a dictionary of its columns, {', '.join(names)}; got {type(row).__name__}")
        problems = [f'column "{name}" is missing' for name in names if name not in row]
        for name in row:
            if name not in names:
                near = difflib.get_close_matches(str(name), names, 1)
                problems.append(f'there is no column "{name}"' + (f'; did you mean "{near[0]}"?' if near else ""))
        return InvalidArgument(f"{'; '.join(problems)} (the columns are {', '.join(names)})")

    def _allocate(self):
        self._arrays = [np.empty((self.lanes, self.capacity, *rule.shape), rule.dtype) for rule in self.rules]
        self._targets = [array[0] for array in self._arrays] if self.lanes == 1 else self._arrays

    def begin_episodes(self, lanes: Sequence[int]) -> None:
        """An episode begins with the next row of these lanes."""
        for lane in lanes:
            self.episode_start[lane] = self.next_row
            self._begins.setdefault(lane, []).append(self.rows)

    def begin_episode_at(self, offset: int) -> None:
        """An episode begins so many rows after the next one. Only for a single lane."""
        self.episode_start[0] = self.next_row + offset
        self._begins.setdefault(0, []).append(self.rows + offset)

    def append(self, values: list) -> None:
        """Adds one row to each lane; there must be room."""
        if self._arrays is None:
            self._allocate()
        row = self.rows
        if self.lanes == 1:
            for target, value in zip(self._targets, values):
                target[row] = value
        else:
            for target, value in zip(self._targets, values):
                target[:, row] = value
        self.rows = row + 1

    def extend(self, values: list, begin: int, end: int) -> None:
        """Adds rows `begin` to `end` of the values, whose first dimension is the rows. Only for a single lane."""
        if self._arrays is None:
            self._allocate()
        for target, value in zip(self._targets, values):
            target[self.rows : self.rows + end - begin] = value[begin:end]
        self.rows += end - begin

    def take(self) -> Tuple["Chunks", list]:
        """The chunks of the rows gathered, and the rows as arrays of bytes a column; the buffer is empty after."""
        rows, arrays = self.rows, self._arrays
        chunks = self._chunks()
        # An array that is mostly full is handed over; else its rows are copied, so that unused memory is not held.
        hand_over = rows == self.capacity or (self.lanes == 1 and 2 * rows >= self.capacity)
        parts = []
        for array in arrays:
            part = array[:, :rows]
            part = part if hand_over else part.copy()
            parts.append(part.reshape(-1).view(np.uint8) if part.size else np.empty(0, np.uint8))
        if hand_over:
            self._arrays = self._targets = None
        self.first_row += rows
        self.rows = 0
        self._begins = {}
        return chunks, parts

    def _chunks(self):
        """One chunk for each lane, and one more for every episode that begins within."""
        streams = range(self.first_stream, self.first_stream + self.lanes)
        if not self._begins:
            return Chunks(list(streams), [self.first_row] * self.lanes, [self.rows] * self.lanes, [])
        chunks = Chunks([], [], [], [])
        for lane, stream in enumerate(streams):
            begins = self._begins.get(lane, ())
            bounds = sorted({0, *begins, self.rows})
            for begin, end in zip(bounds, bounds[1:]):
                chunks.stream.append(stream)
                chunks.first_row.append(self.first_row + begin)
                chunks.rows.append(end - begin)
                chunks.begins.append(begin in begins)
        return chunks


@dataclasses.dataclass
class Chunks:
    """Entry i of each list is chunk i. `begins` is empty if no episode begins."""

    stream: List[int]
    first_row: List[int]
    rows: List[int]
    begins: List[bool]
