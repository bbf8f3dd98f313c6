"""Tables: what their rows are, which items are sampled from them and how."""

import dataclasses
from typing import Dict, Mapping, Optional, Sequence, Tuple, Union

from waggle_client import _wire
from waggle_client.dtypes import dtype_name
from waggle_client.errors import InvalidArgument

TableConfig = _wire.message("TableConfig")
_DTYPES = _wire.enum_names(_wire.message("ArraySpec").DESCRIPTOR.fields_by_name["dtype"].enum_type)
_DTYPE_NAMES = {number: name for name, number in _DTYPES.items()}
_ROWS = _wire.enum_names(_wire.message("ViewField").DESCRIPTOR.fields_by_name["rows"].enum_type)
_ROWS_NAMES = {number: name for name, number in _ROWS.items()}
# No limit in practice.
_MUCH_MEMORY = 1 << 40


@dataclasses.dataclass(frozen=True)
class Column:
    """One column of a row: its element type ("float32", numpy.uint8, …) and its shape, () for a scalar."""

    dtype: str
    shape: Tuple[int, ...] = ()

    def __post_init__(self):
        object.__setattr__(self, "dtype", dtype_name(self.dtype))
        try:
            shape = (self.shape,) if isinstance(self.shape, int) else tuple(int(size) for size in self.shape)
        except TypeError:
            raise InvalidArgument(f"shape: {self.shape!r} is no shape, such as (4,)") from None
        object.__setattr__(self, "shape", shape)

    def __str__(self):
        return f"{self.dtype}{list(self.shape)}"


@dataclasses.dataclass(frozen=True)
class Field:
    """One field of a sampled item; made by first, last and all_rows."""

    column: str
    rows: str
    stack: int = 1


def first(column: str, stack: int = 1) -> Field:
    """The column in the window's first row; with `stack` above 1 in the rows before it too, oldest first."""
    return Field(column, "first", stack)


def last(column: str, stack: int = 1) -> Field:
    """The column in the window's last row; with `stack` above 1 in the rows before it too, oldest first."""
    return Field(column, "last", stack)


def all_rows(column: str, stack: int = 1) -> Field:
    """The column in every row of the window, padded with zeros to the table's max_window."""
    return Field(column, "all", stack)


@dataclasses.dataclass(frozen=True)
class Selector:
    """How items are picked: to be sampled, or to leave a full table. Made by uniform, prioritized, fifo and so on.

    options: those of SamplerConfig in replay.proto; what is 0 or False there by default need not be said.
    """

    kind: str
    options: Mapping[str, Union[float, bool]] = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        object.__setattr__(self, "options", {name: value for name, value in self.options.items() if value})


@dataclasses.dataclass(frozen=True)
class Recent:
    """Emphasis on what is new: `share` of the draws are made among the newest items only.

    These are `items`, or with a `decay` (eta in arXiv 1906.04009) all of them in the first batch of every `period`, and
    ever fewer in those after it, down to `items`.
    """

    share: float = 1.0
    items: int = 5000
    decay: float = 0.0
    period: int = 1000

    def options(self):
        return {f"recent_{name}": value for name, value in dataclasses.asdict(self).items()}


def uniform(*, without_replacement: bool = False, recent: Optional[Recent] = None) -> Selector:
    """Every item equally often. without_replacement: a batch has no item twice."""
    return Selector("uniform", {"without_replacement": without_replacement, **(recent.options() if recent else {})})


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
    """In proportion to (priority + epsilon) ** exponent.

    absolute: priorities may be negative, and count by their magnitude.
    uniform_share: this share of the draws is made uniformly.
    without_replacement: a batch has no item twice.
    independent_draws: the draws of a batch do not know of each other; otherwise a batch is stratified.
    """
    options = {
        "priority_exponent": float(exponent),
        "priority_epsilon": float(epsilon),
        "absolute_priorities": absolute,
        "uniform_share": float(uniform_share),
        "without_replacement": without_replacement,
        "independent_draws": independent_draws,
    }
    return Selector("prioritized", {**options, **(recent.options() if recent else {})})


def fifo() -> Selector:
    """The oldest item."""
    return Selector("fifo")


def lifo() -> Selector:
    """The newest item."""
    return Selector("lifo")


def min_heap() -> Selector:
    """The item of the lowest priority."""
    return Selector("min_heap")


def max_heap() -> Selector:
    """The item of the highest priority."""
    return Selector("max_heap")


@dataclasses.dataclass(frozen=True)
class RateLimiter:
    """When a table may be sampled from and inserted into.

    Nothing is sampled before there are `min_items`. With samples_per_insert above 0 whoever is too fast, writers or
    samplers, waits so that this ratio is kept, within `error_buffer` samples: by default a tenth of what min_items
    make. Instead of it, min_difference and max_difference bound inserts * samples_per_insert - samples. The exact rule
    is at RateLimiterConfig in replay.proto.
    """

    min_items: int = 1
    samples_per_insert: float = 0.0
    error_buffer: Optional[float] = None
    min_difference: Optional[float] = None
    max_difference: Optional[float] = None

    def __post_init__(self):
        if self.error_buffer is None:
            ratio = self.samples_per_insert
            wanted = ratio > 0 and self.min_difference is None
            buffer = max(0.1 * self.min_items * ratio, (ratio + 1) / 2) if wanted else 0.0
            object.__setattr__(self, "error_buffer", buffer)


@dataclasses.dataclass(frozen=True)
class Table:
    """All there is to say about a table.

    columns: what a row is, by name.
    view: what a sampled item has: for each of its fields a column and which rows of the item's window. By default every
        column under its own name, from all rows, or from the one row where max_window is 1.
    sampler, remover: how items are picked to be sampled, and to leave when the table is full.
    max_items, max_bytes: past these items leave. Bytes are those of rows in the server's memory.
    max_window: the most rows that an item may have.
    max_times_sampled: an item leaves once it was sampled this often; 0 is never.
    seed: which items are drawn follows from it and the name, as far as the order of requests does.
    compression: "lz4" or "zstd" of columns by name: how their rows travel and are kept. The writer compresses them, with
        the packages lz4 and zstandard.
    durability: "none", "checkpoint" or "log": what of the table outlives its server.
    log_sync: with "log", acknowledged is what is on the disk, so that it outlives the machine as well.
    memory_limit: bytes of rows in memory, past which they are kept on disk; 0 is no limit. Needs a server with --data-dir.
    """

    name: str
    columns: Dict[str, Column]
    view: Optional[Dict[str, Field]] = None
    sampler: Selector = uniform()
    remover: Selector = fifo()
    max_items: int = 1_000_000
    max_bytes: int = _MUCH_MEMORY
    max_window: int = 1
    max_times_sampled: int = 0
    rate_limiter: RateLimiter = RateLimiter()
    seed: int = 0
    compression: Dict[str, str] = dataclasses.field(default_factory=dict)
    durability: str = "none"
    log_sync: bool = False
    memory_limit: int = 0

    def __post_init__(self):
        for name, column in self.columns.items():
            if not isinstance(column, Column):
                raise InvalidArgument(f'table "{self.name}": columns: {name} is {column!r}; a Column is wanted')
        if self.view is None:
            rows = first if self.max_window == 1 else all_rows
            object.__setattr__(self, "view", {name: rows(name) for name in self.columns})
        for name, field in self.view.items():
            if not isinstance(field, Field):
                raise InvalidArgument(
                    f'table "{self.name}": view: {name} is {field!r}; first(…), last(…) or all_rows(…) is wanted'
                )

    @property
    def longest_stack(self) -> int:
        return max(field.stack for field in self.view.values()) if self.view else 1

    def __str__(self):
        columns = ", ".join(f"{name}: {column}" for name, column in self.columns.items())
        return f'table "{self.name}" of {columns}'


def queue(name: str, columns: Dict[str, Column], max_items: int, **options) -> Table:
    """A table from which every item is sampled once, the oldest first; a full one makes writers wait."""
    limiter = RateLimiter(samples_per_insert=1.0, min_difference=0.0, max_difference=float(max_items))
    fixed = {"sampler": fifo(), "max_items": max_items, "max_times_sampled": 1, "rate_limiter": limiter}
    return Table(name, columns, **{**fixed, **options})


def stack(name: str, columns: Dict[str, Column], max_items: int, **options) -> Table:
    """As a queue, with the newest item first."""
    return queue(name, columns, max_items, **{"sampler": lifo(), **options})


def _set(message, where, **values):
    """Sets fields of a message; the errors name them as the caller knows them."""
    for name, value in values.items():
        if name not in message.DESCRIPTOR.fields_by_name:
            raise InvalidArgument(f"{where}there is no option {name}")
        try:
            setattr(message, name, value.item() if hasattr(value, "item") else value)
        except (TypeError, ValueError) as error:
            raise InvalidArgument(f"{where}{name}: {value!r}: {error}") from None


def _set_enum(message, field, where, name):
    names = _wire.enum_names(message.DESCRIPTOR.fields_by_name[field].enum_type)
    if name not in names:
        raise InvalidArgument(f"{where}: {name!r} is none of {', '.join(names)}")
    setattr(message, field, names[name])


def _enum_name(message, field):
    names = _wire.enum_names(message.DESCRIPTOR.fields_by_name[field].enum_type)
    return next((name for name, number in names.items() if number == getattr(message, field)), "unknown")


def specs_to_proto(columns: Mapping[str, Column], specs) -> None:
    """Adds the columns to a repeated field of ArraySpec."""
    for name, column in columns.items():
        spec = specs.add()
        _set(spec, "columns: ", name=name, dtype=_DTYPES[column.dtype])
        spec.shape.extend(column.shape)


def spec_from_proto(spec) -> Tuple[str, Column]:
    return spec.name, Column(_DTYPE_NAMES.get(spec.dtype, f"unknown ({spec.dtype})"), tuple(spec.shape))


def _selector_to_proto(selector, where, proto):
    if not isinstance(selector, Selector):
        raise InvalidArgument(f"{where}: {selector!r} is none; uniform(), prioritized(…), fifo() or the like is wanted")
    _set_enum(proto, "kind", where, selector.kind)
    _set(proto, f"{where}: ", **selector.options)


def _selector_from_proto(proto):
    options = {field.name: value for field, value in proto.ListFields() if field.name != "kind"}
    return Selector(_enum_name(proto, "kind"), options)


def to_proto(table: Table):
    """InvalidArgument names the field that no message could hold; the rest is the server's to check."""
    proto = TableConfig()
    where = f'table "{table.name}": '
    _set(proto, where, name=table.name, seed=table.seed)
    for name in ("max_items", "max_bytes", "max_times_sampled", "max_window", "log_sync", "memory_limit"):
        _set(proto, where, **{name: getattr(table, name)})
    specs_to_proto(table.columns, proto.signature)
    for name, field in table.view.items():
        added = proto.view.add()
        _set(added, f"{where}view: ", name=name, column=field.column)
        _set_enum(added, "rows", f"{where}view: {name}", field.rows)
        if field.stack != 1:
            _set(added, f"{where}view: ", stack=field.stack)
    _selector_to_proto(table.sampler, f"{where}sampler", proto.sampler)
    _selector_to_proto(table.remover, f"{where}remover", proto.remover)
    limiter = {name: value for name, value in dataclasses.asdict(table.rate_limiter).items() if value is not None}
    _set(proto.rate_limiter, f"{where}rate_limiter: ", **limiter)
    for column, codec in table.compression.items():
        added = proto.compression.add()
        _set(added, f"{where}compression: ", column=column)
        _set_enum(added, "codec", f"{where}compression: {column}", codec)
    if table.durability != "none":
        _set_enum(proto, "durability", f"{where}durability", table.durability)
    return proto


def from_proto(proto) -> Table:
    limiter = proto.rate_limiter
    return Table(
        name=proto.name,
        columns=dict(spec_from_proto(spec) for spec in proto.signature),
        view={
            field.name: Field(field.column, _ROWS_NAMES.get(field.rows, "unknown"), max(1, field.stack))
            for field in proto.view
        },
        sampler=_selector_from_proto(proto.sampler),
        remover=_selector_from_proto(proto.remover),
        max_items=proto.max_items,
        max_bytes=proto.max_bytes,
        max_window=proto.max_window,
        max_times_sampled=proto.max_times_sampled,
        rate_limiter=RateLimiter(
            limiter.min_items,
            limiter.samples_per_insert,
            limiter.error_buffer,
            limiter.min_difference if limiter.HasField("min_difference") else None,
            limiter.max_difference if limiter.HasField("max_difference") else None,
        ),
        seed=proto.seed,
        compression={entry.column: _enum_name(entry, "codec") for entry in proto.compression},
        durability=_enum_name(proto, "durability"),
        log_sync=proto.log_sync,
        memory_limit=proto.memory_limit,
    )


def table_names(tables: Union[str, Sequence[str]]) -> Tuple[str, ...]:
    names = (tables,) if isinstance(tables, str) else tuple(tables)
    if not names or not all(isinstance(name, str) for name in names):
        raise InvalidArgument(f"tables: {tables!r} is neither a table's name nor a list of some")
    return names
