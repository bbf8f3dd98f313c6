"""The class of writers that users get."""

from typing import TYPE_CHECKING, Any, Mapping, Optional

from waggle_client import _check, errors
from waggle_client._insert import WriterCore, WriterStats
from waggle_client._link import Deadline, log
from waggle_client.streams import Items, Lanes, Stream

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_CLOSE_AFTER_ERROR = 1.0


class Writer:
    """Writes rows and items; see Client.writer. Threads may share it: each stream is for one of them at a time.

    append and the other methods that add are those of its first stream. At the end of a `with` block it flushes and
    closes. A final refusal by the server, such as of another writer with the same id, is raised by the next call, and
    by close() if no call has raised it.
    """

    def __init__(self, core: WriterCore):
        self._core = core
        self._first: Optional[Stream] = None

    @property
    def writer_id(self) -> str:
        """The writer's name in the server and in `waggle why`."""
        return self._core.options.writer_id

    def __repr__(self):
        core = self._core
        return f'<waggle_client.Writer "{core.options.writer_id}" to {", ".join(core.tables)} at {core.link.address}>'

    def stream(self) -> Stream:
        """A new stream, for one environment. A writer may have 65,536."""
        return Stream(self._core, self)

    def lanes(self, count: int) -> Lanes:
        """`count` streams that get their rows together, for a vectorised environment."""
        return Lanes(self._core, count, self)

    def _first_stream(self):
        if self._first is None:
            self._first = Stream(self._core)
        return self._first

    def append(self, row: Mapping[str, Any], *, begins_episode: bool = False) -> None:
        self._first_stream().append(row, begins_episode=begins_episode)

    def append_rows(
        self, columns: Mapping[str, Any], *items: Items, begins_episode: Optional["ArrayLike"] = None
    ) -> int:
        return self._first_stream().append_rows(columns, *items, begins_episode=begins_episode)

    def create_item(
        self,
        table: Optional[str] = None,
        *,
        rows: int = 1,
        priority: Optional[float] = None,
        first_row: Optional[int] = None,
    ) -> None:
        self._first_stream().create_item(table, rows=rows, priority=priority, first_row=first_row)

    append.__doc__, append_rows.__doc__ = Stream.append.__doc__, Stream.append_rows.__doc__
    create_item.__doc__ = Stream.create_item.__doc__

    def set_policy_version(self, version: int) -> None:
        """The version of the weights that choose the actions of the rows from now on; sampled as policy_versions."""
        self._core.set_policy_version(_check.integer("version", version, 0, (1 << 63) - 1))

    def flush(self, timeout: Optional[float] = 60.0) -> None:
        """Waits until all added rows and items are acknowledged: they are in their tables, and as safe as the
        durability promises. DeadlineExceeded after `timeout` seconds (None waits without a limit) says why they are
        not. It loses nothing, and flush may be called again."""
        self._core.flush(Deadline(timeout))

    def stats(self) -> WriterStats:
        """Any thread."""
        return self._core.stats()

    def close(self, timeout: Optional[float] = 10.0) -> None:
        """Flushes and ends. May be called again.

        DeadlineExceeded if blocks are unacknowledged after `timeout` seconds. The writer is closed all the same. The
        message says how much was never sent and is lost, and how much was sent. The server may apply sent blocks later,
        so that writing them again may insert them twice. To avoid that, call flush() until it returns before close().
        """
        self._core.close(Deadline(timeout))

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, kind, error, traceback) -> None:
        if kind is None:
            self.close()
            return
        try:
            self._core.close(Deadline(_CLOSE_AFTER_ERROR))
        except errors.Error as lost:
            log.warning("%s", lost)  # The block's own exception is more important.

    def __del__(self):
        core = getattr(self, "_core", None)
        if core is not None:
            core.forsake()
