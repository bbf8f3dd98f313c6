"""The way to a replay server."""

import dataclasses
import difflib
import time
import weakref
from typing import Dict, Optional, Sequence, Tuple, Union

import numpy as np

from waggle_client import _wire, errors
from waggle_client import table as tables
from waggle_client._insert import WriterCore, WriterOptions
from waggle_client._link import Backoff, Deadline, Link, new_id
from waggle_client.batch import Batch
from waggle_client.sampler import Sampler, SamplerCore
from waggle_client.table import Table
from waggle_client.writer import Writer

# 24 bytes each; the server takes some hundred thousand at a time.
_MAX_KEYS = 100_000


@dataclasses.dataclass(frozen=True)
class UpdateCounts:
    """What became of priority updates, or of deletions. stale: the key holds another item by now. unknown: it holds
    none."""

    applied: int
    stale: int
    unknown: int


@dataclasses.dataclass(frozen=True)
class Reconfiguration:
    """What a change of a table's configuration changes: each field that differs, as it was and as it is to be, and how
    many items leave because of it, at least."""

    differences: Tuple[str, ...]
    items_removed: int
    config_generation: int


@dataclasses.dataclass(frozen=True)
class TableInfo:
    """The state of a table. blocked_because: in words, what its rate limiter waits for; empty where nobody waits.
    config_generation: counts the changes of its configuration."""

    table: Table
    items: int
    bytes: int
    items_inserted: int
    items_sampled: int
    items_removed: int
    priorities_applied: int
    priorities_stale: int
    priorities_unknown: int
    inserts_waiting: int
    samples_waiting: int
    blocked_because: str
    priority_sum: float
    config_generation: int


@dataclasses.dataclass(frozen=True)
class ServerInfo:
    """The state of a server. writer_bytes: what writers keep in its memory beside the tables' items. refusals: how many
    calls and streams it has refused since it was started, by reason (docs/errors.md). memory_bytes: memory that the rows
    of all tables take; max_memory_bytes: how much they may take. seconds_running: since the server was started."""

    tables: Dict[str, TableInfo]
    writers: int
    writer_bytes: int
    refusals: Dict[str, int]
    memory_bytes: int
    max_memory_bytes: int
    software_version: str
    seconds_running: float


def _table_info(proto):
    names = [field.name for field in dataclasses.fields(TableInfo) if field.name != "table"]
    return TableInfo(tables.from_proto(proto.config), **{name: getattr(proto, name) for name in names})


def _uint64s(name, values):
    array = np.asarray(values)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size > 0):
        raise errors.InvalidArgument(f"{name}: got {array.dtype}{list(array.shape)}; wanted is uint64 [items]")
    return array.astype(np.uint64, copy=False)


def _same_lengths(**arrays):
    if len({len(array) for array in arrays.values()}) > 1:
        raise errors.InvalidArgument("got " + ", ".join(f"{len(array)} {name}" for name, array in arrays.items()))


class Client:
    """The client of the replay server at `address` (HOST:PORT). Thread-safe.

    The server need not be there yet: calls try again while it is away, for at most their `timeout`, by default the
    client's. What is written and sampled goes over connections that are made again after every loss. A server that
    came back without its tables gets those again that this client had created.

    A process that forks makes its clients after that.
    """

    def __init__(self, address: str, timeout: float = 10.0):
        Deadline(timeout)
        self._link = Link(address, timeout)
        self._open = weakref.WeakSet()  # Writers and samplers.

    @property
    def address(self) -> str:
        return self._link.address

    # Tables.

    def create_table(self, table: Table, timeout: Optional[float] = None) -> bool:
        """Creates the table; False if an equal one is there. FailedPrecondition, saying what differs, if another one of
        that name is."""
        return self._link.create_table(table, timeout)

    def describe(self, timeout: Optional[float] = None) -> ServerInfo:
        """The state of the server and of every table."""
        answer = self._link.describe(timeout)
        return ServerInfo(
            {info.config.name: _table_info(info) for info in answer.tables},
            answer.writers,
            answer.writer_bytes,
            dict(answer.refusals),
            answer.memory_bytes,
            answer.max_memory_bytes,
            answer.software_version,
            answer.seconds_running,
        )

    def table(self, name: str, timeout: Optional[float] = None) -> TableInfo:
        """The state of one table. NotFound, with those that there are, if it is none of them."""
        return self._find([name], timeout)[0]

    def wait_for_table(self, name: str, timeout: Optional[float] = None) -> TableInfo:
        """Waits until somebody has created the table. DeadlineExceeded if nobody does."""
        deadline = Deadline(self._link.timeout if timeout is None else timeout)
        backoff = Backoff()
        missing = None
        while True:
            try:
                return self.table(name, deadline.left())
            except errors.NotFound as error:
                missing = error
            except errors.DeadlineExceeded as error:
                missing = missing or error
            if deadline.over():
                raise errors.DeadlineExceeded(f"waited {deadline.timeout:g} s: {missing}") from None
            time.sleep(min(backoff.next(), deadline.left()))

    def _find(self, names, timeout):
        described = {info.config.name: info for info in self._link.describe(timeout).tables}
        for name in names:
            if name not in described:
                near = difflib.get_close_matches(name, described, 1)
                raise errors.NotFound(
                    f'there is no table "{name}" at {self.address}'
                    + (f'; did you mean "{near[0]}"?' if near else "")
                    + (f" (there are {', '.join(described)})" if described else " (there is none at all)")
                )
        return [_table_info(described[name]) for name in names]

    def reconfigure(
        self, table: Table, *, dry_run: bool = False, generation: Optional[int] = None, timeout: Optional[float] = None
    ) -> Reconfiguration:
        """Changes a table to what is given, all or nothing: its limits, rate limiter and the numbers of its sampler can
        be changed while it is in use. FailedPrecondition where something else differs.

        dry_run: nothing is changed; says what would be.
        generation: of the configuration that this is a change of, from TableInfo: Aborted where it has changed
            meanwhile. By default that of now.
        """
        if generation is None:
            generation = self.table(table.name, timeout).config_generation
        request = self._link.request("Reconfigure")(config_generation=generation, dry_run=dry_run)
        request.config.CopyFrom(tables.to_proto(table))
        what = f'reconfiguring table "{table.name}"'
        answer = self._link.call("Reconfigure", request, what, timeout, repeatable=dry_run)
        if not dry_run:
            self._link.reconfigured(table)
        return Reconfiguration(tuple(answer.differences), answer.items_removed, answer.config_generation)

    def clear(self, table: str, timeout: Optional[float] = None) -> int:
        """Removes every item of the table; returns how many there were."""
        request = self._link.request("Clear")(table=table)
        # Not repeated: items that came in between would go as well.
        return self._link.call("Clear", request, f'clearing table "{table}"', timeout, repeatable=False).deleted

    def checkpoint(self, timeout: Optional[float] = None) -> int:
        """Saves all tables whose durability is not "none", as they are at one moment, while everybody goes on. Returns the
        number of the copy that the server keeps in its folder. FailedPrecondition if the server has none."""
        return self._link.call("Checkpoint", self._link.request("Checkpoint")(), "making a checkpoint", timeout).number

    # Writing and sampling.

    def writer(
        self,
        table: Union[str, Sequence[str]],
        *,
        writer_id: Optional[str] = None,
        block_bytes: int = 256 << 10,
        max_delay: float = 0.1,
        max_unacknowledged_blocks: int = 64,
        max_unacknowledged_bytes: int = 64 << 20,
        timeout: Optional[float] = None,
    ) -> Writer:
        """A writer to a table, or to several of equal columns.

        Rows and items gather until a block of them has `block_bytes`, or the first has waited for `max_delay` seconds.
        Blocks are kept until the server acknowledges them, and sent again over a new connection after a loss; the
        server applies each once. While as much as max_unacknowledged_… say is kept, adding more blocks: because the server is
        away, or the table's rate limiter holds inserts up. The log then says why; with a `timeout` in seconds adding
        raises DeadlineExceeded, and may be tried again.

        writer_id: names the writer to the server; by default it is made up.
        """
        names = tables.table_names(table)
        configs = [info.table for info in self._find(names, None)]
        for config in configs[1:]:
            if list(config.columns.items()) != list(configs[0].columns.items()):
                raise errors.InvalidArgument(
                    f"a writer's tables have equal columns; here are {configs[0]} and {config}"
                )
        options = WriterOptions(
            writer_id or new_id(),
            block_bytes,
            max_delay,
            max_unacknowledged_blocks,
            max_unacknowledged_bytes,
            timeout,
        )
        core = WriterCore(self._link, configs, options)
        core.start()
        writer = Writer(core)
        self._open.add(writer)
        return writer

    def sampler(
        self,
        table: str,
        batch_size: int,
        *,
        prefetch: int = 4,
        timeout: Optional[float] = None,
        sampler_id: Optional[str] = None,
        compression: str = "none",
    ) -> Sampler:
        """A sampler of batches of `batch_size` items.

        It asks for `prefetch` batches ahead: they are drawn early, and count as samples whether they are used or not.
        `timeout` is how many seconds a batch is waited for; None waits, and the log says for what.

        sampler_id: names the sampler to whoever asks the server what a table waits for; by default it is made up.
        compression: "lz4" or "zstd" has the server compress what becomes much shorter by it, such as frames, with the
            packages lz4 and zstandard here. It pays on a slow network, and for frames on a fast one too.
        """
        config = self._find([table], None)[0].table
        core = SamplerCore(self._link, config, batch_size, prefetch, timeout, sampler_id or new_id(), compression)
        core.start()
        sampler = Sampler(core)
        self._open.add(sampler)
        return sampler

    def sample(self, table: str, batch_size: int, timeout: Optional[float] = None) -> Batch:
        """One batch, drawn now. For many a sampler is far faster."""
        with self.sampler(table, batch_size, prefetch=1) as sampler:
            return sampler.next(self._link.timeout if timeout is None else timeout)

    # Priorities and deletion.

    def update_priorities(
        self, table: str, keys, generations, priorities, timeout: Optional[float] = None
    ) -> UpdateCounts:
        """Sets the priorities of items, named by the keys and generations with which they were sampled."""
        keys, generations = _uint64s("keys", keys), _uint64s("generations", generations)
        priorities = np.asarray(priorities)
        if priorities.ndim != 1 or (priorities.dtype.kind not in "fiu" and priorities.size > 0):
            raise errors.InvalidArgument(
                f"priorities: got {priorities.dtype}{list(priorities.shape)}; wanted are numbers [items]"
            )
        priorities = priorities.astype(np.float64, copy=False)
        _same_lengths(keys=keys, generations=generations, priorities=priorities)
        bad = np.flatnonzero(~np.isfinite(priorities))
        if bad.size:
            raise errors.InvalidArgument(f"priorities: entry {bad[0]} is {priorities[bad[0]]}; it has to be finite")
        what = f'updating priorities of table "{table}"'
        return self._by_keys(
            "UpdatePriorities",
            "applied",
            what,
            table,
            timeout,
            keys=keys,
            generations=generations,
            priorities=priorities,
        )

    def delete(self, table: str, keys, generations, timeout: Optional[float] = None) -> UpdateCounts:
        """Removes items, named by the keys and generations with which they were sampled."""
        keys, generations = _uint64s("keys", keys), _uint64s("generations", generations)
        _same_lengths(keys=keys, generations=generations)
        what = f'deleting from table "{table}"'
        return self._by_keys("Delete", "deleted", what, table, timeout, keys=keys, generations=generations)

    def _by_keys(self, method, done, what, table, timeout, **arrays):
        request_class = self._link.request(method)
        prefix = request_class(table=table).SerializeToString()
        deadline = Deadline(self._link.timeout if timeout is None else timeout)
        applied = stale = unknown = 0
        for begin in range(0, max(1, len(arrays["keys"])), _MAX_KEYS):
            request = prefix + b"".join(
                _wire.packed(request_class.DESCRIPTOR, name, array[begin : begin + _MAX_KEYS])
                for name, array in arrays.items()
            )
            answer = self._link.call(method, request, what, deadline.left())
            applied += getattr(answer, done)
            stale += answer.stale
            unknown += answer.unknown
        return UpdateCounts(applied, stale, unknown)

    # The end.

    def close(self) -> None:
        """Closes the client's writers, as Writer.close does, its samplers, and the connections."""
        failure = None
        for child in list(self._open):
            try:
                child.close()
            except errors.Error as error:
                failure = failure or error
        self._link.close()
        if failure is not None:
            raise failure

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind, error, traceback) -> None:
        if kind is None:
            self.close()
            return
        for child in list(self._open):
            child.__exit__(kind, error, traceback)
        self._link.close()

    def __repr__(self):
        return f"<waggle_client.Client of {self.address}>"
