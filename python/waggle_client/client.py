"""The client of a replay server."""

import difflib
import os
import threading
import time
import weakref
from typing import TYPE_CHECKING, Optional, Sequence, Union

from waggle_client import _check, _fork, _table_proto, errors
from waggle_client._draws import IdleSamplers
from waggle_client._insert import WriterCore, WriterOptions
from waggle_client._link import SAVED_POLICIES, Backoff, Link, log, new_id
from waggle_client._security import Security
from waggle_client.batch import Batch
from waggle_client.info import Reconfiguration, ServerInfo, TableInfo, UpdateCounts, server_info, table_info
from waggle_client.sampler import DrawCore, Sampler, SamplerCore, SamplerOptions
from waggle_client.table import Table, table_names
from waggle_client.updater import MAX_KEYS, PriorityUpdater, checked_updates, encode
from waggle_client.writer import Writer

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_A_TABLE = "waggle_client.Table(…)"


class _Children:
    """A client's writers, samplers and updaters, as long as they are referenced. Thread-safe."""

    def __init__(self):
        self._lock = threading.Lock()
        self._all: "weakref.WeakSet" = weakref.WeakSet()
        _fork.watch(self)

    def forked(self):
        self._lock = threading.Lock()
        return False

    def add(self, child):
        with self._lock:
            self._all.add(child)
        return child

    def all(self):
        with self._lock:
            return list(self._all)


class Client:
    """The client of the replay server at `address` (HOST:PORT). Thread-safe; use it in a `with` block, or close() it.

    The server may start later: the first call connects, and calls try again while the server is away, for at most their
    `timeout` in seconds, by default the client's; None has no limit. Then they raise DeadlineExceeded with the cause.
    Asking the server for the cause may take up to a second more, in all calls that wait. Writers and samplers reconnect
    after every loss. If a server came back without its tables, this client creates its own tables again.

    Arguments are checked before they are sent: InvalidArgument (a ValueError) names the argument, the value that it got
    and what it wanted. It is an InvalidType (a TypeError too) if the type is wrong.

    A client does not survive a fork: in the new process everything that uses it raises FailedPrecondition. Fork before
    you make clients, or start processes by "spawn".
    """

    def __init__(
        self,
        address: str,
        timeout: Optional[float] = 10.0,
        *,
        tls: Optional[os.PathLike] = None,
        token_file: Optional[os.PathLike] = None,
        server_name: Optional[str] = None,
    ):
        """tls: the folder with ca.crt and, unless there is a token_file, tls.crt and tls.key. server_name: the name that
        the server's certificate must have, by default server.waggle; "" is the host of `address`. None of them given, the
        environment variables WAGGLE_TLS, WAGGLE_TOKEN_FILE and WAGGLE_SERVER_NAME count: docs/security.md."""
        self._link = Link(address, timeout, Security(tls, token_file, server_name))
        self._children = _Children()
        self._idle = IdleSamplers()

    @property
    def address(self) -> str:
        """HOST:PORT, as it was given."""
        return self._link.address

    # Tables.

    def create_table(
        self, table: Table, timeout: Optional[float] = None, *, if_saved_differs: Optional[str] = None
    ) -> bool:
        """Creates the table; False if an equal one exists. FailedPrecondition, with the differences, if another one of
        that name exists.

        if_saved_differs: applies to another table that the server has restored from its folder and that no client has
            created since. "refuse" raises FailedPrecondition, "keep" uses it as it is, "replace" drops it with all its
            items. None is the server's --if-saved-differs.
        """
        _check.instance("table", table, Table, _A_TABLE)
        if if_saved_differs is not None:
            _check.one_of("if_saved_differs", if_saved_differs, SAVED_POLICIES)
        return self._link.create_table(table, timeout, if_saved_differs)

    def describe(self, timeout: Optional[float] = None) -> ServerInfo:
        """The state of the server, of every table, and of the server's folder."""
        return server_info(self._link.describe(timeout))

    def table(self, name: str, timeout: Optional[float] = None) -> TableInfo:
        """The state of one table. NotFound, with the names of the server's tables, if there is no such table."""
        return self._find([_check.text("name", name)], timeout)[0]

    def wait_for_table(self, name: str, timeout: Optional[float] = None) -> TableInfo:
        """Waits until the table exists, at most `timeout` seconds, by default the client's. DeadlineExceeded if it does
        not exist by then."""
        _check.text("name", name)
        deadline = self._link.deadline(timeout)
        backoff = Backoff()
        missing = None
        while True:
            try:
                return self._find([name], deadline)[0]
            except errors.NotFound as error:
                missing = error
            except errors.DeadlineExceeded as error:
                missing = missing or error
            if deadline.over():
                raise errors.DeadlineExceeded(
                    f'waiting for table "{name}": it is not there after {deadline.timeout:g} s: {missing}'
                ) from None
            pause, left = backoff.next(), deadline.left()
            time.sleep(pause if left is None else min(pause, left))

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
        return [table_info(described[name]) for name in names]

    def reconfigure(
        self, table: Table, *, dry_run: bool = False, generation: Optional[int] = None, timeout: Optional[float] = None
    ) -> Reconfiguration:
        """Changes a table's configuration to the given one, all or nothing. Limits, the rate limiter and the numbers of
        the sampler can be changed while it is in use. FailedPrecondition if anything else differs.

        dry_run: returns the changes without making them.
        generation: the generation in TableInfo of the configuration that is changed. Aborted if that has changed
            meanwhile. By default the present one.

        It is tried once: after DeadlineExceeded or Unavailable, `table(name)` tells if it was changed.
        """
        _check.instance("table", table, Table, _A_TABLE)
        _check.boolean("dry_run", dry_run)
        timeout = self._link.deadline(timeout)
        if generation is None:
            generation = self._find([table.name], timeout)[0].config_generation
        generation = _check.integer("generation", generation, 0, (1 << 64) - 1)
        request = self._link.request("Reconfigure")(config_generation=generation, dry_run=dry_run)
        request.config.CopyFrom(_table_proto.to_proto(table))
        what = f'reconfiguring table "{table.name}"'
        answer = self._link.call("Reconfigure", request, what, timeout, repeatable=dry_run)
        if not dry_run:
            self._link.reconfigured(table)
        return Reconfiguration(tuple(answer.differences), answer.items_removed, answer.config_generation)

    def clear(self, table: str, timeout: Optional[float] = None) -> int:
        """Removes every item of the table; returns how many there were. Its counters and the rate limiter's go on. It
        is tried once: after DeadlineExceeded or Unavailable the table may or may not be empty."""
        request = self._link.request("Clear")(table=_check.text("table", table))
        # Not repeated: items that came in between would be removed as well.
        return self._link.call("Clear", request, f'clearing table "{table}"', timeout, repeatable=False).deleted

    def checkpoint(self, timeout: Optional[float] = None) -> int:
        """Saves all tables whose durability is not "none", as they are at one moment, while clients go on. Returns the
        number of the copy that the server keeps in its folder.

        FailedPrecondition if the server has no folder. DeadlineExceeded if it is not done in time, with the reason,
        such as a full disk; the server goes on trying, so that the checkpoint may be made later. Large tables may take
        longer than the client's usual timeout.
        """
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
        server applies each once. At the limits of max_unacknowledged_… adding more waits, because the server is away or
        the table's rate limiter holds inserts up. The log then says why; with a `timeout` in seconds adding raises
        DeadlineExceeded, and may be tried again.

        writer_id: the writer's name, which no other writer of the server may have; by default a new one.

        NotFound if a table does not exist; InvalidArgument for tables of different columns, and for rows of more than
        56 MiB. A table with rows of more than 63 MiB is refused when it is created.
        """
        names = table_names(table)
        options = WriterOptions(
            new_id() if writer_id is None else writer_id,
            block_bytes,
            max_delay,
            max_unacknowledged_blocks,
            max_unacknowledged_bytes,
            timeout,
        )
        configs = [info.table for info in self._find(names, None)]
        for config in configs[1:]:
            if list(config.columns.items()) != list(configs[0].columns.items()):
                raise errors.InvalidArgument(
                    f"table: a writer's tables have equal columns; here are {configs[0]} and {config}"
                )
        core = WriterCore(self._link, configs, options)
        core.start()
        return self._children.add(Writer(core))

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
        `timeout` is the longest wait for a batch in seconds; None waits without a limit, and the log says why.

        NotFound if the table does not exist. The first next() raises the server's refusals, such as of a batch that is
        too large (it may have 65,536 items and 512 MiB).

        sampler_id: the sampler's name, for example in `waggle why`; by default a new one.
        compression: with "lz4" or "zstd" the server compresses fields that become much shorter, such as frames. It
            needs the package lz4 or zstandard here. It pays on a slow network, and for frames on a fast one too.
        """
        sampler_id = new_id() if sampler_id is None else sampler_id
        _check.text("table", table)
        options = SamplerOptions(batch_size, prefetch, timeout, sampler_id, compression)
        core = SamplerCore(self._link, self._find([table], None)[0].table, options)
        core.start()
        return self._children.add(Sampler(core))

    def sample(self, table: str, batch_size: int, timeout: Optional[float] = None) -> Batch:
        """One batch, without fetching ahead. Waits at most `timeout` seconds in all, by default the client's;
        DeadlineExceeded says for what.

        A sampler stays open for the next call for this table, and one more for each thread that calls meanwhile. For
        many batches `sampler`, which fetches ahead, is faster.
        """
        _check.text("table", table)
        options = SamplerOptions(batch_size, 1, None, new_id(), "none")
        deadline = self._link.deadline(timeout)
        sampler = self._idle.take(table, options.batch_size)
        if sampler is not None:
            try:
                return self._draw(sampler, options.batch_size, deadline)
            except (errors.DeadlineExceeded, errors.Cancelled):
                raise
            except errors.Error:
                pass  # The server was restarted, or has another table of this name: a new sampler raises what is wrong.
        config = self._find([table], deadline)[0].table
        sampler = self._children.add(Sampler(DrawCore(self._link, config, options)))
        return self._draw(sampler, options.batch_size, deadline)

    def _draw(self, sampler, items, deadline):
        core = sampler._core
        try:
            batch = core.draw(items, deadline)
        except BaseException:
            sampler.close()  # The batch may still come, and must not answer the next call.
            raise
        self._idle.give_back(core.config.name, sampler)
        return batch

    # Priorities and deletion.

    def update_priorities(
        self,
        table: str,
        keys: "ArrayLike",
        generations: "ArrayLike",
        priorities: "ArrayLike",
        timeout: Optional[float] = None,
    ) -> UpdateCounts:
        """Sets the priorities of items, named by the keys and generations of their batch: arrays [items]. Waits for the
        answer, which says how many still existed; PriorityUpdater does not wait."""
        arrays = checked_updates(keys, generations, priorities)
        what = f'updating priorities of table "{_check.text("table", table)}"'
        return self._by_keys("UpdatePriorities", "applied", what, table, timeout, **arrays)

    def priority_updater(self, table: str) -> PriorityUpdater:
        """An updater that sends new priorities of this table from its own thread, without waiting for each answer."""
        self._find([_check.text("table", table)], None)
        return self._children.add(PriorityUpdater(self._link, table))

    def delete(
        self, table: str, keys: "ArrayLike", generations: "ArrayLike", timeout: Optional[float] = None
    ) -> UpdateCounts:
        """Removes items, named by the keys and generations of their batch: arrays [items]."""
        arrays = checked_updates(keys, generations)
        what = f'deleting from table "{_check.text("table", table)}"'
        return self._by_keys("Delete", "deleted", what, table, timeout, **arrays)

    def _by_keys(self, method, done, what, table, timeout, **arrays):
        request_class = self._link.request(method)
        deadline = self._link.deadline(timeout)
        applied = stale = unknown = 0
        for begin in range(0, max(1, len(arrays["keys"])), MAX_KEYS):
            request = encode(request_class, table, arrays, begin, begin + MAX_KEYS)
            answer = self._link.call(method, request, what, deadline)
            applied += getattr(answer, done)
            stale += answer.stale
            unknown += answer.unknown
        return UpdateCounts(applied, stale, unknown)

    # The end.

    def close(self) -> None:
        """Closes the client's writers, as Writer.close does, its updaters, its samplers, and the connections, in
        parallel. Raises the first error once all are closed; the log has the others. May be called again."""
        failures = self._close_all(lambda child: child.close())
        for failure in failures[1:]:
            log.warning("%s", failure)
        if failures:
            raise failures[0]

    def _close_all(self, close):
        """Closes each in its own thread, so that one that waits for the server does not delay the others."""
        failures = []

        def run(child):
            try:
                close(child)
            except errors.Error as error:
                failures.append(error)

        threads = []
        for child in self._children.all():
            thread = threading.Thread(target=run, args=(child,), name="waggle-close", daemon=True)
            try:
                thread.start()
                threads.append(thread)
            except RuntimeError:  # A program that is ending cannot start threads.
                run(child)
        for thread in threads:
            thread.join()
        self._link.close()
        return failures

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind, error, traceback) -> None:
        if kind is None:
            self.close()
            return
        self._close_all(lambda child: child.__exit__(kind, error, traceback))

    def __repr__(self):
        return f"<waggle_client.Client of {self.address}>"
