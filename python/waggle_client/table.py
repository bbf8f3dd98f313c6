"""Tables: their rows, their items, and how items are sampled."""

import dataclasses
from typing import TYPE_CHECKING, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from waggle_client import _check
from waggle_client.dtypes import dtype_name
from waggle_client.errors import InvalidArgument, InvalidType

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

# No limit in practice.
_MUCH_MEMORY = 1 << 40
_MAX_RANK = 8
_INT64_MAX = (1 << 63) - 1


@dataclasses.dataclass(frozen=True)
class Column:
    """One column of a row: its element type ("float32", numpy.uint8, …) and its shape, () for a scalar."""

    dtype: str
    shape: Tuple[int, ...] = ()

    if TYPE_CHECKING:

        def __init__(self, dtype: "DTypeLike", shape: Union[int, Sequence[int]] = ()):
            ...

    def __post_init__(self):
        object.__setattr__(self, "dtype", dtype_name(self.dtype))
        object.__setattr__(self, "shape", self._sizes(self.shape))

    @staticmethod
    def _sizes(shape):
        wanted = "a shape, such as (84, 84), or () for a scalar"
        if isinstance(shape, (str, bytes)):
            raise _check.wrong_type("shape", shape, wanted)
        try:
            sizes = tuple(shape)
        except TypeError:
            sizes = (shape,)
        try:
            return tuple(_check.integer("shape", size, -_INT64_MAX, _INT64_MAX) for size in sizes)
        except InvalidType:
            raise _check.wrong_type("shape", shape, wanted) from None

    def __str__(self):
        return f"{self.dtype}{list(self.shape)}"


@dataclasses.dataclass(frozen=True)
class Field:
    """One field of a sampled item; made by first, last, all_rows and future."""

    column: str
    rows: str
    stack: int = 1

    def __post_init__(self):
        _check.text("column", self.column)
        _check.text("rows", self.rows)
        object.__setattr__(self, "stack", _check.integer("stack", self.stack, 1, (1 << 31) - 1))


def first(column: str, stack: int = 1) -> Field:
    """The column in the window's first row; with `stack` above 1 also in the rows before it, oldest first."""
    return Field(column, "first", stack)


def last(column: str, stack: int = 1) -> Field:
    """The column in the window's last row; with `stack` above 1 also in the rows before it, oldest first."""
    return Field(column, "last", stack)


def all_rows(column: str, stack: int = 1) -> Field:
    """The column in every row of the window, padded with zeros to the table's max_window.

    If the table has transition_rows, only the transition's rows, padded to transition_rows.
    """
    return Field(column, "all", stack)


def future(column: str, stack: int = 1) -> Field:
    """The column in a random row that the table's future_row names, drawn anew for each sample of the item.

    For goals in hindsight (HER, arXiv 1707.01495). All such fields of an item have the same row, and
    batch.future_offsets says which. A table with such a field needs transition_rows, and items of two rows or more,
    whose windows go on behind their transition, up to the end of the episode.
    """
    return Field(column, "future", stack)


@dataclasses.dataclass(frozen=True)
class Selector:
    """How items are picked, for sampling or for leaving a full table. Made by uniform, prioritized, fifo and so on.

    options: those of SamplerConfig in replay.proto; options that are 0 or False by default may be left out.
    """

    kind: str
    options: Mapping[str, Union[float, bool]] = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        _check.text("kind", self.kind)
        _check.instance("options", self.options, Mapping, "a dictionary of numbers and booleans by name")
        for name, value in self.options.items():
            if not isinstance(value, (bool, np.bool_)):
                _check.number(_check.text("options", name), value)
        object.__setattr__(self, "options", {name: value for name, value in self.options.items() if value})


@dataclasses.dataclass(frozen=True)
class Recent:
    """Emphasis on new items: `share` of the draws are made among the newest items only.

    Their number is `items`. With a `decay` (eta in arXiv 1906.04009) it begins with all items in the first batch of
    every `period`, and falls to `items` in the batches after it.
    """

    share: float = 1.0
    items: int = 5000
    decay: float = 0.0
    period: int = 1000

    def __post_init__(self):
        for name in ("share", "decay"):
            object.__setattr__(self, name, _check.number(name, getattr(self, name), 0, 1))
        for name in ("items", "period"):
            object.__setattr__(self, name, _check.integer(name, getattr(self, name), 1, 1 << 31))

    def options(self):
        return {f"recent_{name}": value for name, value in dataclasses.asdict(self).items()}


def _recent_options(recent):
    if recent is None:
        return {}
    return _check.instance("recent", recent, Recent, "Recent(…), or None").options()


def uniform(*, without_replacement: bool = False, recent: Optional[Recent] = None) -> Selector:
    """Picks every item equally often. without_replacement: a batch has no item twice."""
    without_replacement = _check.boolean("without_replacement", without_replacement)
    return Selector("uniform", {"without_replacement": without_replacement, **_recent_options(recent)})


def prioritized(
    exponent: float = 0.6,
    *,
    epsilon: float = 0.0,
    absolute: bool = False,
    uniform_share: float = 0.0,
    without_replacement: bool = False,
    independent_draws: bool = False,
    recent: Optional[Recent] = None,
) -> Selector:
    """Picks items in proportion to (priority + epsilon) ** exponent.

    absolute: priorities may be negative, and count by their magnitude.
    uniform_share: this share of the draws is made uniformly.
    without_replacement: a batch has no item twice.
    independent_draws: the draws of a batch are independent; by default a batch is stratified.
    """
    options = {
        "priority_exponent": _check.number("exponent", exponent, 0),
        "priority_epsilon": _check.number("epsilon", epsilon, 0),
        "absolute_priorities": _check.boolean("absolute", absolute),
        "uniform_share": _check.number("uniform_share", uniform_share, 0, 1),
        "without_replacement": _check.boolean("without_replacement", without_replacement),
        "independent_draws": _check.boolean("independent_draws", independent_draws),
    }
    return Selector("prioritized", {**options, **_recent_options(recent)})


def fifo() -> Selector:
    """Picks the oldest item."""
    return Selector("fifo")


def lifo() -> Selector:
    """Picks the newest item."""
    return Selector("lifo")


def min_heap() -> Selector:
    """Picks the item of the lowest priority."""
    return Selector("min_heap")


def max_heap() -> Selector:
    """Picks the item of the highest priority."""
    return Selector("max_heap")


@dataclasses.dataclass(frozen=True)
class RateLimiter:
    """When a table may be sampled from and inserted into.

    Sampling begins with `min_items`. With samples_per_insert above 0 the faster of writers and samplers waits, so that
    this ratio is kept within `error_buffer` samples: by default a tenth of the samples for min_items. Instead of it,
    min_difference and max_difference bound inserts * samples_per_insert - samples. RateLimiterConfig in replay.proto
    has the exact rule.
    """

    min_items: int = 1
    samples_per_insert: float = 0.0
    error_buffer: Optional[float] = None
    min_difference: Optional[float] = None
    max_difference: Optional[float] = None

    def __post_init__(self):
        object.__setattr__(self, "min_items", _check.integer("min_items", self.min_items, -_INT64_MAX, _INT64_MAX))
        ratio = _check.number("samples_per_insert", self.samples_per_insert, 0)
        object.__setattr__(self, "samples_per_insert", ratio)
        for name, low in (("error_buffer", 0), ("min_difference", None), ("max_difference", None)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _check.number(name, getattr(self, name), low))
        if self.error_buffer is None:
            wanted = ratio > 0 and self.min_difference is None
            buffer = max(0.1 * self.min_items * ratio, (ratio + 1) / 2) if wanted else 0.0
            object.__setattr__(self, "error_buffer", buffer)


@dataclasses.dataclass(frozen=True)
class Table:
    """The configuration of a table.

    columns: the columns of a row, by name.
    view: the fields of a sampled item: for each a column and which rows of the item's window. By default every column
        under its own name, from all rows, or from the one row if max_window is 1.
    sampler, remover: how items are picked for sampling, and for leaving when the table is full.
    max_items, max_bytes: past these items leave. Bytes are those of rows in the server's memory.
    max_window: the most rows that an item may have.
    transition_rows: if the view has a future field, how many of a window's first rows first, last and all_rows are
        about: n + 1 for a transition of n steps. Otherwise 0.
    future_row: the row of future fields: "later" is one behind the window's first, all equally likely, "last" the
        window's last, and "episode" one of the window or of the max_window - 1 rows before it in its episode.
    max_times_sampled: an item leaves once it was sampled this often; 0 is never.
    seed: the drawn items follow from the seed, the table's name and the order of requests.
    compression: "lz4" or "zstd" by column: how rows are sent and kept. The writer compresses them, with the packages
        lz4 and zstandard.
    durability: "none", "checkpoint" or "log": the part of the table that outlives its server.
    log_sync: with "log", rows are on the disk before they are acknowledged, so that they outlive the machine as well.
    memory_limit: bytes of rows in memory, past which they are kept on disk; 0 is no limit. Needs a server with
        --data-dir.

    InvalidArgument for an impossible configuration; the server checks the rest when it creates the table.
    """

    name: str
    columns: Mapping[str, Column]
    view: Optional[Mapping[str, Field]] = None
    sampler: Selector = uniform()
    remover: Selector = fifo()
    max_items: int = 1_000_000
    max_bytes: int = _MUCH_MEMORY
    max_window: int = 1
    max_times_sampled: int = 0
    rate_limiter: RateLimiter = RateLimiter()
    seed: int = 0
    compression: Mapping[str, str] = dataclasses.field(default_factory=dict)
    durability: str = "none"
    log_sync: bool = False
    memory_limit: int = 0
    transition_rows: int = 0
    future_row: str = "later"

    def __post_init__(self):
        where = f'table "{_check.identifier("name", self.name)}": '
        self._check_columns(where)
        for name, kind, wanted in (
            ("sampler", Selector, "uniform(), prioritized(…), fifo() or the like"),
            ("remover", Selector, "fifo(), prioritized(…) or the like"),
            ("rate_limiter", RateLimiter, "RateLimiter(…)"),
            ("compression", Mapping, "a dictionary of codecs by column"),
        ):
            _check.instance(where + name, getattr(self, name), kind, wanted)
        for name in ("max_items", "max_bytes", "max_window", "max_times_sampled", "memory_limit", "transition_rows"):
            value = _check.integer(where + name, getattr(self, name), -_INT64_MAX, _INT64_MAX)
            object.__setattr__(self, name, value)
        object.__setattr__(self, "seed", _check.integer(where + "seed", self.seed, 0, (1 << 64) - 1))
        object.__setattr__(self, "log_sync", _check.boolean(where + "log_sync", self.log_sync))
        _check.text(where + "durability", self.durability)
        _check.text(where + "future_row", self.future_row)
        for column, codec in self.compression.items():
            _check.text(f"{where}compression: {_check.text(where + 'compression', column)}", codec)
        self._check_view(where)

    def _check_columns(self, where):
        _check.instance(where + "columns", self.columns, Mapping, "a dictionary of Columns by name")
        for name, column in self.columns.items():
            _check.identifier(where + "columns", name)
            if not isinstance(column, Column):
                raise InvalidType(f"{where}columns: {name} is {column!r}; a Column is wanted")
            if any(size < 0 for size in column.shape):
                raise InvalidArgument(f"{where}columns: {name}: {column} has a negative dimension")
            if len(column.shape) > _MAX_RANK:
                raise InvalidArgument(
                    f"{where}columns: {name}: {column} has {len(column.shape)} dimensions; at most {_MAX_RANK} are "
                    "possible"
                )

    def _check_view(self, where):
        if self.view is None:
            rows = first if self.max_window == 1 else all_rows
            object.__setattr__(self, "view", {name: rows(name) for name in self.columns})
        kinds = "first(…), last(…), all_rows(…) or future(…)"
        _check.instance(where + "view", self.view, Mapping, f"a dictionary of {kinds} by name")
        for name, field in self.view.items():
            _check.identifier(where + "view", name)
            if not isinstance(field, Field):
                raise InvalidType(f"{where}view: {name} is {field!r}; {kinds} is wanted")

    @property
    def longest_stack(self) -> int:
        return max(field.stack for field in self.view.values()) if self.view else 1

    @property
    def max_context(self) -> int:
        """The most rows before an item's window that belong to the item."""
        return max(self.longest_stack, self.max_window if self.future_row == "episode" else 1) - 1

    @property
    def has_future(self) -> bool:
        return any(field.rows == "future" for field in self.view.values())

    @property
    def min_window(self) -> int:
        """The fewest rows that an item may have."""
        return 2 if self.has_future else 1

    def __str__(self):
        columns = ", ".join(f"{name}: {column}" for name, column in self.columns.items())
        return f'table "{self.name}" of {columns}'


def queue(name: str, columns: Mapping[str, Column], max_items: int, **options) -> Table:
    """A table from which every item is sampled once, the oldest first. Writers wait while it is full."""
    max_items = _check.integer("max_items", max_items, 1)
    limiter = RateLimiter(samples_per_insert=1.0, min_difference=0.0, max_difference=float(max_items))
    fixed = {"sampler": fifo(), "max_items": max_items, "max_times_sampled": 1, "rate_limiter": limiter}
    return Table(name, columns, **{**fixed, **options})


def stack(name: str, columns: Mapping[str, Column], max_items: int, **options) -> Table:
    """Like a queue, but the newest item comes first."""
    return queue(name, columns, max_items, **{"sampler": lifo(), **options})


def table_names(tables: Union[str, Sequence[str]]) -> Tuple[str, ...]:
    wanted = "a table's name, or a list of some"
    try:
        names = (tables,) if isinstance(tables, str) else tuple(tables)
    except TypeError:
        raise _check.wrong_type("table", tables, wanted) from None
    if not names:
        raise _check.wrong_value("table", tables, wanted)
    for name in names:
        if not isinstance(name, str):
            raise _check.wrong_type("table", tables, wanted)
        if names.count(name) > 1:
            raise InvalidArgument(f'table: "{name}" is there twice')
    return names
