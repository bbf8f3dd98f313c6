"""Streams: they add a writer's rows, and make items of them."""

import bisect
import dataclasses
import math
from typing import TYPE_CHECKING, Any, Mapping, Optional

import numpy as np

from waggle_client import _check, errors
from waggle_client._insert import WriterCore

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_MAX_STREAMS = 65_536  # The server's limit for a writer.
_WANTED_PRIORITY = "it must be finite, and >= 0 unless the table's sampler takes magnitudes"


@dataclasses.dataclass(frozen=True)
class Items:
    """Items of rows that are appended with them; see Stream.append_rows.

    last_rows: the last row of each window; an array of indices of the appended rows.
    rows: how many rows the windows have. They may reach back to rows that were appended before.
    priorities: None is the highest priority that an item of the table has.
    rows and priorities are one number for all, or one for each of last_rows; priorities may have the shape [items, 1].
    table: may be left out if the writer has one table.
    """

    last_rows: "ArrayLike"
    rows: "ArrayLike" = 1
    priorities: Optional["ArrayLike"] = None
    table: Optional[str] = None


class _Prepared:
    """Items that are checked, in the order of their last rows."""

    def __init__(self, table, last_rows=(), first_rows=(), rows=(), contexts=(), priorities=()):
        self.table = table
        self._last_rows = last_rows
        self._lists = (first_rows, rows, contexts, priorities)

    def between(self, begin, end):
        """The table, and first rows, rows, context rows and priorities of items whose last row is in [begin, end)."""
        part = slice(bisect.bisect_left(self._last_rows, begin), bisect.bisect_left(self._last_rows, end))
        return (self.table, *(values[part] for values in self._lists))


def _count(prepared, begin, end):
    """The number of items whose last row is in [begin, end), and the number of rows of their windows together."""
    parts = [entry.between(begin, end) for entry in prepared]
    return sum(len(part[2]) for part in parts), sum(sum(part[2]) for part in parts)


def _of(values, array):
    """The argument as text for messages: scalars by value, arrays by type and shape."""
    return f"{array.dtype}{list(array.shape)}" if array.ndim else _check.got(values)


def _numbers(name, values, count, dtype):
    """One number for each of `count` items, from one for all or one each."""
    kind = "integers" if dtype is np.int64 else "numbers"
    array = _check.array(name, values, kind)
    if array.dtype.kind not in ("iu" if dtype is np.int64 else "iuf"):
        raise errors.InvalidType(f"{name}: got {_of(values, array)}; wanted are {kind}, one for all or {count}")
    flat = array if dtype is np.int64 else _check.as_float64(_check.flat(array))
    if flat.shape not in ((), (count,)):
        raise errors.InvalidArgument(f"{name}: got {_of(values, array)}; wanted are {kind}, one for all or {count}")
    return flat.astype(dtype, copy=False) if flat.ndim else np.full(count, flat, dtype)


def _indices(name, values, count):
    """Indices below `count`, given as such or as a boolean each; True is all, None and False are none."""
    if isinstance(values, np.bool_):
        values = bool(values)
    if values is None or values is False:
        return np.arange(0)
    if values is True:
        return np.arange(count)
    wanted = f"indices below {count}, or as many booleans"
    array = _check.array(name, values, wanted)
    if array.dtype == bool and array.shape == (count,):
        return np.flatnonzero(array)
    if array.shape == (0,):
        return np.arange(0)
    if array.dtype.kind not in "iub":
        raise errors.InvalidType(f"{name}: got {_of(values, array)}; wanted are {wanted}")
    if array.ndim != 1 or array.dtype == bool:
        raise errors.InvalidArgument(f"{name}: got {_of(values, array)}; wanted are {wanted}")
    if array.min() < 0 or array.max() >= count:
        raise errors.InvalidArgument(f"{name}: got {array.min()} to {array.max()}; wanted are {wanted}")
    return array.astype(np.int64)


class _Rows:
    """Streams that get their rows together."""

    def __init__(self, core: WriterCore, lanes: int, writer: Any = None):
        self._core = core
        self._writer = writer  # It would end when it is no longer referenced.
        self._buffer = core.new_buffer(lanes)

    @property
    def next_row(self) -> int:
        """The index in the stream of the next row; it counts from 0, over all episodes."""
        return self._buffer.next_row

    def _table_index(self, table):
        index = self._core.table_index.get(_check.text("table", table)) if table is not None else 0
        if index is None or (table is None and len(self._core.tables) > 1):
            tables = ", ".join(self._core.tables)
            raise errors.InvalidArgument(f"table: got {table!r}; wanted one of this writer's: {tables}")
        return index

    def _check_lengths(self, table, rows):
        least, longest = self._core.min_windows[table], self._core.max_windows[table]
        for extreme in (rows.min(), rows.max()):
            if not least <= extreme <= longest:
                name = self._core.tables[table]
                raise errors.InvalidArgument(
                    f'rows: {extreme} is outside [{least}, {longest}], what table "{name}" allows'
                )

    def _check_priorities(self, table, values, count):
        """One number for each item; empty if the values are None."""
        if values is None:
            return np.empty(0)
        priorities = _numbers("priorities", values, count, np.float64)
        low, high = self._core.priority_bounds[table]
        bad = np.flatnonzero(~((low <= priorities) & (priorities <= high)))  # NaN is bad, too.
        if bad.size:
            value = priorities[bad[0]]
            raise self._bad_priority(f"priorities: entry {bad[0]} is {value}", value, table)
        return priorities

    def _bad_priority(self, got, value, table):
        low, high = self._core.priority_bounds[table]
        if not math.isfinite(value) or value < low == 0:
            return errors.InvalidArgument(f"{got}; {_WANTED_PRIORITY}")
        name = self._core.tables[table]
        return errors.InvalidArgument(f'{got}; with the priority_exponent of table "{name}" the most is {high:.6g}')

    def _append(self, values, begins):
        """Adds a row to each lane; an episode begins with it in the lanes of `begins`."""
        buffer, core = self._buffer, self._core
        with core.changed:
            core.make_room_locked(buffer.rows == buffer.capacity, buffer.step_bytes)
            if len(begins) > 0:
                buffer.begin_episodes(begins)
            buffer.append(values)
            core.gathered_locked(buffer.step_bytes, buffer.rows == buffer.capacity)


class Stream(_Rows):
    """One stream of rows, such as the steps of one environment. One thread at a time; different threads may use
    different streams of a writer."""

    def __init__(self, core: WriterCore, writer: Any = None):
        super().__init__(core, 1, writer)

    def append(self, row: Mapping[str, Any], *, begins_episode: bool = False) -> None:
        """Adds a row: a dictionary with a value for each column.

        begins_episode: no window or stack reaches from this row or a later one to an earlier row. Make the items of an
        episode before the next one begins.

        Blocks while too much is unacknowledged. Raises InvalidArgument, and changes nothing, for a value that its
        column cannot have.
        """
        if begins_episode is not False:
            begins_episode = _check.boolean("begins_episode", begins_episode)
        self._append(self._buffer.admit(row, ()), (0,) if begins_episode else ())

    def create_item(
        self,
        table: Optional[str] = None,
        *,
        rows: int = 1,
        priority: Optional[float] = None,
        first_row: Optional[int] = None,
    ) -> None:
        """Makes an item of a window: the stream's last `rows` rows, or as many from `first_row` on.

        The window must lie within the episode, and within the stream's newest rows, as many as the longest window of
        the writer's tables has. Without a priority the item gets the highest that an item of the table has. `table` may
        be left out if the writer has one. Blocks like append.
        """
        buffer, core = self._buffer, self._core
        index = self._table_index(table)
        rows = _check.integer("rows", rows)
        if not core.min_windows[index] <= rows <= core.max_windows[index]:
            self._check_lengths(index, np.array(rows))
        end = buffer.first_row + buffer.rows
        begin = buffer.episode_start[0]
        first = end - rows if first_row is None else _check.integer("first_row", first_row)
        if not max(begin, end - core.longest_window) <= first <= end - rows:
            name = "rows" if first_row is None else "first_row"
            which = "up to the last one" if first_row is None else f"from row {first} on"
            episode = f", in an episode that began with row {begin}" if begin > 0 else ""
            raise errors.InvalidArgument(
                f"{name}: {rows} rows {which} are not among the newest {core.longest_window} rows of the stream, "
                f"which has {end}{episode}"
            )
        if priority is not None:
            low, high = core.priority_bounds[index]
            if not (type(priority) is float and low <= priority <= high):
                priority = self._checked_priority(index, priority)
        context = min(core.max_contexts[index], first - begin)
        with core.changed:
            priorities = () if priority is None else (priority,)
            core.add_items_locked((buffer.first_stream,), index, (first,), (rows,), (context,), priorities)

    def _checked_priority(self, table, priority):
        try:
            number = _check.number("priority", priority)
        except errors.InvalidType:
            raise _check.wrong_type("priority", priority, "a number, or None for the highest of the table") from None
        except errors.InvalidArgument:
            raise errors.InvalidArgument(f"priority: {priority} was given; {_WANTED_PRIORITY}") from None
        low, high = self._core.priority_bounds[table]
        if low <= number <= high:
            return number
        raise self._bad_priority(f"priority: {number} was given", number, table)

    def append_rows(
        self, columns: Mapping[str, Any], *items: Items, begins_episode: Optional["ArrayLike"] = None
    ) -> int:
        """Adds many rows at once, each column an array [rows, …], and makes items of them.

        begins_episode: the rows at which an episode begins: indices, or a boolean a row.

        Returns the stream's index of the first row. If waiting for room times out, `next_row` says how many were added,
        with the items whose last row is among them.
        """
        buffer, core = self._buffer, self._core
        try:
            count = len(next(iter(columns.values())))
        except (AttributeError, TypeError, StopIteration):
            raise _check.wrong_type("columns", columns, "a dictionary of arrays [rows, …]") from None
        values = buffer.admit(columns, (count,))
        begins = np.unique(_indices("begins_episode", begins_episode, count))
        first, done = buffer.next_row, 0
        episodes = np.concatenate([buffer.episode_start, first + begins])
        prepared = [self._prepare(entry, first, count, episodes) for entry in items]
        highest = {entry.priorities is None for entry in items}
        if len(highest) > 1:
            raise errors.InvalidArgument("items: some have priorities and some have none; append them apart")
        while done < count:
            with core.changed:
                full = buffer.rows == buffer.capacity or core.other_kind_locked(highest)
                core.make_room_locked(full, buffer.step_bytes)
                step = min(count - done, buffer.capacity - buffer.rows, core.rows_that_fit_locked(buffer.step_bytes))
                while step > 1 and not core.items_fit_locked(*_count(prepared, done, done + step)):
                    step //= 2
                for row in begins[np.searchsorted(begins, done) : np.searchsorted(begins, done + step)]:
                    buffer.begin_episode_at(int(row) - done)
                buffer.extend(values, done, done + step)
                # Items go into the block of their rows. A later block may come too late, when the rows are forgotten.
                size = step * buffer.step_bytes
                for entry in prepared:
                    table, *lists = entry.between(done, done + step)
                    size += core.put_items_locked([buffer.first_stream] * len(lists[0]), table, *lists)
                done += step
                core.gathered_locked(size, buffer.rows == buffer.capacity)
        return first

    def _prepare(self, items, first, count, episodes):
        """Checks the items of `count` rows that will be added from row `first` on; `episodes` are the first rows of the
        present episode and of those that begin."""
        if not isinstance(items, Items):
            raise _check.wrong_type("items", items, "Items(…)")
        table = self._table_index(items.table)
        last = _check.array("last_rows", items.last_rows, "integers [items]")
        if last.size == 0:
            return _Prepared(table)
        if last.dtype.kind not in "iu":
            raise errors.InvalidType(f"last_rows: got {_of(items.last_rows, last)}; wanted are integers [items]")
        if last.ndim != 1:
            raise errors.InvalidArgument(f"last_rows: got {_of(items.last_rows, last)}; wanted are integers [items]")
        rows = _numbers("rows", items.rows, last.size, np.int64)
        priorities = self._check_priorities(table, items.priorities, last.size)
        self._check_lengths(table, rows)
        if last.min() < 0 or last.max() >= count:
            raise errors.InvalidArgument(
                f"last_rows: {last.min()} to {last.max()} are not all among the {count} rows that are added"
            )
        first_rows = first + last + 1 - rows
        begins = episodes[np.searchsorted(episodes, first + last, side="right") - 1]
        early = np.flatnonzero(first_rows < begins)
        if early.size:
            raise errors.InvalidArgument(
                f"last_rows: entry {early[0]}: its window of {rows[early[0]]} rows begins before its episode, or "
                "before the stream"
            )
        contexts = np.minimum(self._core.max_contexts[table], first_rows - begins)
        order = np.argsort(last, kind="stable")
        sorted_lists = [array[order].tolist() for array in (last, first_rows, rows, contexts)]
        return _Prepared(table, *sorted_lists, priorities[order].tolist() if priorities.size else [])


class Lanes(_Rows):
    """Several streams that get one row each at a time, such as the steps of a vectorised environment. One thread at a
    time."""

    def __init__(self, core: WriterCore, count: int, writer: Any = None):
        super().__init__(core, _check.integer("count", count, 1, _MAX_STREAMS), writer)

    def __len__(self) -> int:
        return self._buffer.lanes

    def append(self, rows: Mapping[str, Any], *, begins_episode: Optional["ArrayLike"] = None) -> None:
        """Adds a row to each lane: each column is an array [lanes, …].

        begins_episode: the lanes in which an episode begins with this row: indices, or a boolean a lane.
        """
        values = self._buffer.admit(rows, (len(self),))
        if len(self) == 1:
            values = [value[0] for value in values]
        begins = ()
        if begins_episode is not None:
            begins = np.unique(_indices("begins_episode", begins_episode, len(self))).tolist()
        self._append(values, begins)

    def create_items(
        self,
        table: Optional[str] = None,
        *,
        rows: "ArrayLike" = 1,
        priorities: Optional["ArrayLike"] = None,
        lanes: "ArrayLike" = True,
    ) -> None:
        """Makes an item of the last `rows` rows of each lane, or of those in `lanes`: indices, or a boolean a lane.

        `rows` and `priorities` are one number for all, or one for each of these lanes; priorities may have the shape
        [lanes, 1]. Without priorities each item gets the highest that an item of the table has.
        """
        buffer, core = self._buffer, self._core
        index = self._table_index(table)
        chosen = _indices("lanes", lanes, len(self))
        if chosen.size == 0:
            return
        rows = _numbers("rows", rows, len(chosen), np.int64)
        priorities = self._check_priorities(index, priorities, len(chosen))
        self._check_lengths(index, rows)
        first_rows = buffer.next_row - rows
        before = first_rows - np.array(buffer.episode_start)[chosen]
        if before.min() < 0:
            lane = before.argmin()
            raise errors.InvalidArgument(
                f"rows: lane {chosen[lane]} has {rows[lane] + before[lane]} rows in its episode; {rows[lane]} were "
                "asked for"
            )
        contexts = np.minimum(core.max_contexts[index], before)
        streams = chosen + buffer.first_stream
        lists = [array.tolist() for array in (first_rows, rows, contexts, priorities)]
        with core.changed:
            core.add_items_locked(streams.tolist(), index, *lists)
