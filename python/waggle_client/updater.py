"""Updates of priorities from a thread of their own, without waiting for each answer."""

import collections
import threading
import time
from typing import TYPE_CHECKING, Optional

import numpy as np

from waggle_client import _check, _fork, _wire, errors
from waggle_client._link import NOT_FOUND_PATIENCE, Backoff, Deadline, log, may_pass
from waggle_client.info import UpdateCounts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# 24 bytes each; the server allows a few hundred thousand at a time.
MAX_KEYS = 100_000
_MAX_PENDING = 1 << 18
_ATTEMPT_SECONDS = 10.0


def unsigned(name: str, values) -> np.ndarray:
    """The values as uint64 [items]."""
    wanted = "an array of uint64 [items]"
    array = _check.array(name, values, wanted)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size > 0):
        raise errors.InvalidType(f"{name}: got {array.dtype}{list(array.shape)}; wanted is {wanted}")
    if array.dtype.kind == "i" and array.size > 0 and array.min() < 0:
        bad = np.flatnonzero(array < 0)[0]
        raise errors.InvalidArgument(f"{name}: entry {bad} is {array[bad]}; wanted is {wanted}")
    return array.astype(np.uint64, copy=False)


def checked_updates(keys, generations, *priorities) -> dict:
    """The arrays of an update, or without priorities those of a deletion, by name."""
    arrays = {"keys": unsigned("keys", keys), "generations": unsigned("generations", generations)}
    if priorities:
        wanted = "an array of numbers [items] or [items, 1]"
        array = _check.array("priorities", priorities[0], wanted)
        flat = _check.flat(array)
        if flat.ndim != 1 or (array.dtype.kind not in "fiu" and array.size > 0):
            raise errors.InvalidType(f"priorities: got {array.dtype}{list(array.shape)}; wanted is {wanted}")
        arrays["priorities"] = _check.as_float64(flat)
    if len({len(array) for array in arrays.values()}) > 1:
        raise errors.InvalidArgument("got " + ", ".join(f"{len(array)} {name}" for name, array in arrays.items()))
    if priorities:
        bad = np.flatnonzero(~np.isfinite(arrays["priorities"]))
        if bad.size:
            raise errors.InvalidArgument(
                f"priorities: entry {bad[0]} is {arrays['priorities'][bad[0]]}; it must be finite"
            )
    return arrays


def encode(request_class, table, arrays, begin, end) -> bytes:
    """The request with entries `begin` to `end`."""
    return request_class(table=table).SerializeToString() + b"".join(
        _wire.packed(request_class.DESCRIPTOR, name, array[begin:end]) for name, array in arrays.items()
    )


class _Core:
    """The thread's part of an updater, so that a forgotten updater can be collected. Everything that begins with an
    underscore is guarded by `changed`."""

    def __init__(self, link, table):
        self.link = link
        self.table = table
        self.what = f'updating priorities of table "{table}"'
        self.changed = threading.Condition()
        # Updates as they came: their number, counted from 1, and their arrays by name. Parts of one have its number.
        self._pending = collections.deque()
        self._sending = collections.deque()  # Updates of the current request; older than the pending ones.
        self._given = 0  # The number of the last update.
        self._entries = 0  # Entries of all unanswered updates.
        self._counts = UpdateCounts(0, 0, 0)
        self._failure = None  # Final.
        self._away = None  # Why the last attempt failed, while none has succeeded since.
        self._closed = False
        # Used only by the thread.
        self.backoff = Backoff()
        self.missing_since = None  # On the monotonic clock.
        self._thread = threading.Thread(target=self._run, name="waggle-priorities", daemon=True)
        _fork.watch(self)
        self._thread.start()

    def forked(self):
        self.changed = threading.Condition()
        in_use = bool(self._sending)
        self._failure = errors.FailedPrecondition(_fork.message(f"{self.what} at {self.link.address}"))
        return in_use

    def check_locked(self):
        if self._failure is not None:
            raise errors.again(self._failure)
        if self._closed:
            raise errors.FailedPrecondition(f"{self.what} at {self.link.address}: closed")

    def add(self, arrays):
        with self.changed:
            self.check_locked()
            self._given += 1
            self._pending.append((self._given, arrays))
            self._entries += len(arrays["keys"])
            while self._entries > _MAX_PENDING and len(self._pending) > 1:
                dropped = len(self._pending.popleft()[1]["keys"])
                self._entries -= dropped
                self._count_locked(0, 0, dropped)
            self.changed.notify_all()

    def _count_locked(self, applied, stale, unknown):
        counts = self._counts
        self._counts = UpdateCounts(counts.applied + applied, counts.stale + stale, counts.unknown + unknown)

    def _oldest_locked(self):
        """The number of the first unanswered update."""
        first = self._sending or self._pending
        return first[0][0] if first else self._given + 1

    def _take(self):
        """The arrays of the next request; None once closed."""
        with self.changed:
            self.changed.wait_for(lambda: self._pending or self._closed)
            if self._closed:
                return None
            room = MAX_KEYS
            while self._pending and room > 0:
                number, arrays = self._pending.popleft()
                if len(arrays["keys"]) > room:
                    self._pending.appendleft((number, {name: array[room:] for name, array in arrays.items()}))
                    arrays = {name: array[:room] for name, array in arrays.items()}
                self._sending.append((number, arrays))
                room -= len(arrays["keys"])
            taken = [arrays for _, arrays in self._sending]
        return {name: np.concatenate([arrays[name] for arrays in taken]) for name in taken[0]}

    def _run(self):
        try:
            while True:
                arrays = self._take()
                if arrays is None:
                    return
                self._send(arrays)
        except errors.Error as error:
            self._fail(error)
        except Exception as error:  # The user's thread must raise it; this thread has no caller.
            self._fail(errors.Internal(f"{self.what}: {type(error).__name__}: {error}"))

    def _fail(self, error):
        with self.changed:
            self._failure = self._failure or error
            self._sending.clear()
            self.changed.notify_all()

    def _send(self, arrays):
        """Tries once to send the arrays. They are then answered, or pending again."""
        count = len(arrays["keys"])
        request = encode(self.link.request("UpdatePriorities"), self.table, arrays, 0, count)
        try:
            answer = self.link.call("UpdatePriorities", request, self.what, _ATTEMPT_SECONDS, repeatable=False)
            counts = (answer.applied, answer.stale, answer.unknown)
            self.missing_since = None
        except errors.NotFound:
            if not self._may_be_made_again():
                raise
            counts = (0, 0, count)  # The table existed before, so a restart of the server has lost these items.
        except errors.Error as error:
            if self.link.closed() or not may_pass(error):
                raise
            self.missing_since = None
            self._wait(error)
            return
        self.backoff.reset()
        with self.changed:
            self._away = None
            self._sending.clear()
            self._entries -= count
            self._count_locked(*counts)
            self.changed.notify_all()

    def _may_be_made_again(self):
        """True if the missing table may still come back: this client's streams make its own tables again, and other
        clients have NOT_FOUND_PATIENCE seconds for theirs."""
        now = time.monotonic()
        if self.missing_since is None:
            self.missing_since = now
        return self.link.has_created(self.table) or now - self.missing_since < NOT_FOUND_PATIENCE

    def _wait(self, error):
        """Waits before another attempt, or until closed. Meanwhile the arrays are pending, and the first to be
        dropped."""
        with self.changed:
            self._pending.extendleft(reversed(self._sending))
            self._sending.clear()
            told, self._away = self._away is not None, error
        if not told:
            log.warning("%s; trying again until it works", error)
        pause = self.backoff.next()
        with self.changed:
            self.changed.wait_for(lambda: self._closed, pause)

    def flush(self, deadline):
        with self.changed:
            self.check_locked()
            last = self._given  # Other threads may go on adding.
            while self._oldest_locked() <= last:
                if deadline.over():
                    raise errors.DeadlineExceeded(
                        f"{self.what} at {self.link.address}: not answered after {deadline.timeout:g} s: "
                        f"{self._away or self.link.where_to_look()}"
                    )
                self.changed.wait(deadline.left())
                self.check_locked()

    def counts(self):
        with self.changed:
            return self._counts

    def end(self):
        with self.changed:
            self._closed = True
            self.changed.notify_all()


class PriorityUpdater:
    """Sends new priorities of a table's items without waiting for each answer; see Client.priority_updater.
    Thread-safe.

    Updates that come during a request go with the next one, in their order. While the server is away or slow updates
    gather, up to a quarter of a million entries with those that are being sent, or the last update, however large. Then
    the oldest ones that are not being sent are dropped and counted as unknown, because a server that was away for so
    long has most likely lost their items. Updates of a table that was lost with its server also count as unknown. The
    next call raises final errors, and also if a table is still missing after five seconds, unless this client had
    created it.
    """

    def __init__(self, link, table: str):
        self._core = _Core(link, table)

    def update(self, keys: "ArrayLike", generations: "ArrayLike", priorities: "ArrayLike") -> None:
        """Like Client.update_priorities, without waiting: the arrays are copied."""
        arrays = checked_updates(keys, generations, priorities)
        if len(arrays["keys"]) > 0:
            self._core.add({name: array.copy() for name, array in arrays.items()})

    def flush(self, timeout: Optional[float] = 60.0) -> UpdateCounts:
        """Waits until all earlier updates are answered, and returns the counts so far. DeadlineExceeded after `timeout`
        seconds; None waits without a limit."""
        self._core.flush(Deadline(timeout))
        return self._core.counts()

    def counts(self) -> UpdateCounts:
        """The counts of all answered updates."""
        return self._core.counts()

    def close(self, timeout: Optional[float] = 10.0) -> None:
        """Flushes and ends; it also ends if the flush raises. May be called again."""
        deadline = Deadline(timeout)
        with self._core.changed:
            closed = self._core._closed
        try:
            if not closed:
                self._core.flush(deadline)
        finally:
            self._core.end()

    def __repr__(self):
        return f'<waggle_client.PriorityUpdater of table "{self._core.table}" at {self._core.link.address}>'

    def __enter__(self) -> "PriorityUpdater":
        return self

    def __exit__(self, kind, error, traceback) -> None:
        if kind is None:
            self.close()
            return
        try:
            self.close(1.0)
        except errors.Error as lost:
            log.warning("%s", lost)  # The block's own exception is more important.

    def __del__(self):
        core = getattr(self, "_core", None)
        if core is not None:
            core.end()
