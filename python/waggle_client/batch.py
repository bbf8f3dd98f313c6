"""Sampled batches: their layout in memory, and the class that users get."""

import dataclasses
from typing import Dict

import numpy as np

from waggle_client import _check
from waggle_client._table_proto import spec_from_proto
from waggle_client.dtypes import numpy_dtype
from waggle_client.errors import FailedPrecondition, InvalidArgument
from waggle_client.table import Column, Table

_ALIGNMENT = 64
# Beside the view's fields: one scalar an item.
_FACTS = {
    "item/key": "int64",
    "item/generation": "int64",
    "item/length": "int64",
    "item/policy_version": "int64",
    "item/times_sampled": "int64",
    "item/probability": "float64",
    "item/priority": "float64",
}
_FUTURE_OFFSET = "item/future_offset"  # int64; only if the view has a future field.


@dataclasses.dataclass(frozen=True)
class _Place:
    spec: Column  # The whole field: its shape begins with the number of items.
    dtype: np.dtype
    bytes: int
    offset: int


class BatchLayout:
    """The layout of a batch of `items` items in one block of bytes.

    Both sides compute it from the table's configuration: see common/config/table/batch_layout.h.
    """

    def __init__(self, table: Table, items: int):
        self.items = items
        self.places: Dict[str, _Place] = {}
        self.total_bytes = 0
        for name, field in table.view.items():
            if field.column not in table.columns:
                raise InvalidArgument(f'table "{table.name}": view: {name} names no column: {field.column}')
            column = table.columns[field.column]
            rows = (table.transition_rows or table.max_window,) if field.rows == "all" else ()
            stack = (field.stack,) if field.stack > 1 else ()
            self._add(name, Column(column.dtype, (items, *rows, *stack, *column.shape)))
        for name, dtype in _FACTS.items():
            self._add(name, Column(dtype, (items,)))
        if table.has_future:
            self._add(_FUTURE_OFFSET, Column("int64", (items,)))

    def _add(self, name, spec):
        dtype = numpy_dtype(spec.dtype)
        size = dtype.itemsize
        for dimension in spec.shape:
            size *= dimension
        self.places[name] = _Place(spec, dtype, size, self.total_bytes)
        self.total_bytes += -(-size // _ALIGNMENT) * _ALIGNMENT

    def check_same(self, opened) -> None:
        """FailedPrecondition if the server's SampleOpened announces another layout."""
        got = [(*spec_from_proto(field.spec), field.offset) for field in opened.fields]
        want = [(name, place.spec, place.offset) for name, place in self.places.items()]
        for theirs, ours in zip(got, want):
            if theirs != ours:
                raise FailedPrecondition(
                    f"the server's batches have {theirs[0]}: {theirs[1]} at byte {theirs[2]} where "
                    f"{ours[0]}: {ours[1]} at byte {ours[2]} is expected"
                )
        if len(got) != len(want) or opened.batch_bytes != self.total_bytes:
            raise FailedPrecondition(
                f"the server's batches have {len(got)} fields and {opened.batch_bytes} bytes; expected are "
                f"{len(want)} and {self.total_bytes}"
            )

    def allocate(self) -> np.ndarray:
        """Bytes for one batch, with the alignment of its fields."""
        block = np.empty(self.total_bytes + _ALIGNMENT, np.uint8)
        start = -block.ctypes.data % _ALIGNMENT
        return block[start : start + self.total_bytes]

    def fields(self, block: np.ndarray) -> Dict[str, np.ndarray]:
        return {
            name: np.ndarray(place.spec.shape, place.dtype, block, place.offset)
            if place.bytes
            else np.empty(place.spec.shape, place.dtype)
            for name, place in self.places.items()
        }


class Batch:
    """Items that were sampled together: `batch["observation"]` is that field of all of them, [items, …].

    The arrays are views of one block of bytes that belongs to the batch alone, not copies: they may be changed and
    kept. Fields of all rows are padded with zeros past an item's length.
    """

    def __init__(self, table: str, fields: Dict[str, np.ndarray], header):
        self.table = table
        self._fields = fields
        self._facts = {name: fields.pop(name) for name in _FACTS}
        self._future_offsets = fields.pop(_FUTURE_OFFSET, None)
        # The table's state at this sample: its items, the sum of the weights that probabilities are proportional to,
        # and the smallest probability of an item.
        self.table_items: int = header.table_items
        self.priority_sum: float = header.priority_sum
        self.min_probability: float = header.min_probability
        # How many more samples the rate limiter allowed after this batch; infinite if it keeps no ratio.
        self.samples_allowed: float = header.samples_allowed
        # Changes if the table was made anew under its name, because its server was restarted and had lost it.
        self.table_incarnation: int = header.table_incarnation

    def __getitem__(self, name: str) -> np.ndarray:
        try:
            return self._fields[name]
        except KeyError:
            raise KeyError(f"the batch has no field {name!r}; it has {', '.join(self._fields)}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._fields

    def __len__(self) -> int:
        return len(self._facts["item/key"])

    def __iter__(self):
        raise TypeError("a batch is not iterated over; its fields are in batch.fields")

    def __repr__(self):
        shapes = ", ".join(f"{name}: {array.dtype}{list(array.shape)}" for name, array in self._fields.items())
        return f'<Batch of {len(self)} items from table "{self.table}": {shapes}>'

    @property
    def fields(self) -> Dict[str, np.ndarray]:
        """The fields of the table's view by name."""
        return dict(self._fields)

    @property
    def keys(self) -> np.ndarray:
        """uint64 [items]: with the generations, these name the items in update_priorities and delete."""
        return self._facts["item/key"].view(np.uint64)

    @property
    def generations(self) -> np.ndarray:
        """uint64 [items]: distinguishes an item from an earlier one with the same key."""
        return self._facts["item/generation"].view(np.uint64)

    @property
    def lengths(self) -> np.ndarray:
        """int64 [items]: rows in the item's window, or in its transition if the table has transition_rows."""
        return self._facts["item/length"]

    @property
    def future_offsets(self) -> np.ndarray:
        """int64 [items]: how many rows after the window's first the row of future fields is.

        1 or more, unless the table's future_row is "episode": then a row before the window has a negative one.

        FailedPrecondition if the table's view has no such field.
        """
        if self._future_offsets is None:
            raise FailedPrecondition(f'table "{self.table}": no field of the view takes a future row')
        return self._future_offsets

    @property
    def policy_versions(self) -> np.ndarray:
        """int64 [items]: the version that the writer had set when it wrote the item."""
        return self._facts["item/policy_version"]

    @property
    def times_sampled(self) -> np.ndarray:
        """int64 [items]: how often the item was sampled, including this time."""
        return self._facts["item/times_sampled"]

    @property
    def probabilities(self) -> np.ndarray:
        """float64 [items]: of being drawn, without the emphasis of a Recent. Importance weights use these."""
        return self._facts["item/probability"]

    @property
    def priorities(self) -> np.ndarray:
        """float64 [items]: as they were last set."""
        return self._facts["item/priority"]

    def importance_weights(self, beta: float = 0.4, largest_of: str = "batch") -> np.ndarray:
        """float32 [items]: (N P) ** -beta, which undoes the bias of prioritised sampling, divided by the largest.

        largest_of: "batch" divides by the largest weight of this batch, as is usual; "table" by the largest that any
        item of the table would have, so that weights of different batches are on one scale.
        """
        beta = _check.number("beta", beta)
        _check.one_of("largest_of", largest_of, ("batch", "table"))
        least = self.min_probability if largest_of == "table" else self.probabilities.min()
        return ((least / self.probabilities) ** beta).astype(np.float32)
