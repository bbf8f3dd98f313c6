"""Keeps a bidirectional stream to the server open: opens it again after every loss, until it is closed."""

import atexit
import threading
import time
import weakref

import grpc

from waggle_client import _fork, _wire, errors
from waggle_client._link import NOT_FOUND_PATIENCE, Backoff, from_rpc_error, log, may_pass

_WARN_AFTER = 30.0
_started = weakref.WeakSet()  # The streams of this process.


@atexit.register
def _end_all():
    """Closes every stream, and then its connections. If the ending interpreter closed a connection, that would wait for
    its calls' last events, and the thread that takes those is gone by then."""
    cores = list(_started)
    for core in cores:
        core.forsake()
    for core in cores:
        core.link.close()


class Requests:
    """The requests of one stream, for gRPC's thread to take: asks `next_request` until it or the stream is over."""

    def __init__(self, core):
        self._core = core

    def __iter__(self):
        return self

    def __next__(self):
        request = self._core.next_request(self)
        if request is None:
            raise StopIteration
        return request


class StreamCore:
    """The base of writers and samplers: a stream, its failure, and waiting for a change.

    Everything that begins with an underscore is guarded by `changed`, which a thread may take again, because the
    collector may end a writer anywhere. Subclasses make the requests and handle the messages. Threads refer only to the
    core, so that a forgotten writer or sampler can be collected.
    """

    def __init__(self, link, method, purpose, what, tables):
        self.link = link
        self.what = what  # "writing to", "sampling from".
        self.tables = tables
        self.changed = threading.Condition()
        self._path, _, self.response_class = _wire.method(method)
        self._call_method = link.channel(purpose).stream_stream(self._path)
        self._requests = None  # Those of the current stream; a new one ends the old ones.
        self._call = None
        self._closed = False
        self._failure = None  # Final.
        self._away = None  # Why the last stream ended, while there is no other.
        self._waited = 0.0  # Seconds, over all threads.
        self._thread = threading.Thread(target=self._run, name=f"waggle-{purpose}", daemon=True)

    def forked(self):
        """In a new process, which has neither the thread nor the connection, and may find the lock held for ever."""
        self.changed = threading.Condition()
        _fork.left_behind.append((self._call, self._call_method, self._requests))
        in_use = not self._closed and self._failure is None
        self._call = self._requests = None
        self._failure = errors.FailedPrecondition(_fork.message(f"{self.what} {self.link.address}"))
        return in_use

    def start(self):
        _fork.watch(self)  # Only now: a fork cannot harm a core that is incomplete or never started.
        _started.add(self)
        self._thread.start()

    # For subclasses. All but the last are called with `changed` held.

    def reset_locked(self):
        """A new stream begins."""

    def next_request_locked(self):
        """The encoded request to send next, or None if there is none yet; and the longest time to wait for one."""
        raise NotImplementedError

    def unused_locked(self):
        """True if no further stream is needed once this one has broken."""
        return False

    def on_message(self, message, data, first):
        """Takes the next message; raises errors.Error if it is not allowed here."""
        raise NotImplementedError

    def next_request(self, requests):
        with self.changed:
            while self._requests is requests and not self._closed:
                request, wait = self.next_request_locked()
                if request is not None:
                    return request
                self.changed.wait(wait)
        return None

    def _run(self):
        backoff = Backoff()
        missing_since = None
        while True:
            opened, error = self._run_stream()
            with self.changed:
                self._closed = self._closed or self.unused_locked()
                if self._closed:
                    return
                was_away, self._away = self._away, error
            if opened:
                backoff.reset()
                was_away = missing_since = None
            if self.link.closed():
                self.fail(errors.FailedPrecondition(f"{self.what} {self.link.address}: the client is closed"))
                return
            final = None
            if isinstance(error, errors.NotFound):
                final, missing_since = self._restore(error, missing_since)
            else:
                missing_since = None
                final = None if may_pass(error) else error
            if final is not None:
                self.fail(errors.from_code(final.code, f"{self.what} {self.link.address}: {final}", final.reason))
                return
            if was_away is None:
                log.warning("%s %s: %s; trying again until it works", self.what, self.link.address, error)
            with self.changed:
                if not self._closed:
                    self.changed.wait_for(lambda: self._closed, backoff.next())

    def _run_stream(self):
        """Runs one stream to its end. Returns whether the server had answered, and the error that ended it."""
        opened = False
        requests = Requests(self)
        with self.changed:
            self._requests = requests
            self.reset_locked()
            if self._closed:
                return opened, errors.Cancelled("closed")
        error = errors.Unavailable("the server ended the stream")
        try:
            call = self._call_method(requests)
            with self.changed:
                self._call = call
                if self._closed:
                    call.cancel()
            for encoded in call:
                message, data = _wire.split_data(self.response_class, encoded)
                self.on_message(message, data, not opened)
                if not opened:
                    opened = True
                    with self.changed:
                        away, self._away = self._away, None
                    if away is not None:
                        log.warning("%s %s: the server is there again", self.what, self.link.address)
        except grpc.RpcError as rpc_error:
            error = from_rpc_error(rpc_error)
        except errors.Error as raised:
            # The server sent a wrong message: final, whatever its code.
            error = errors.Internal(str(raised)) if may_pass(raised) else raised
        except Exception as raised:  # The user's thread must raise it; this thread has no caller.
            closed = errors.FailedPrecondition("the client is closed")
            error = closed if self.link.closed() else errors.Internal(f"{type(raised).__name__}: {raised}")
        with self.changed:
            self._requests = self._call = None
            self.reset_locked()
            self.changed.notify_all()
        return opened, error

    def _restore(self, error, missing_since):
        """After NOT_FOUND: makes this client's tables again. Returns a final error, and since when it is missing."""
        try:
            self.link.restore_tables()
        except errors.Error as raised:
            return (None if may_pass(raised) else raised), None
        now = time.monotonic()
        if missing_since is None or now - missing_since < NOT_FOUND_PATIENCE:
            return None, missing_since or now
        return error, missing_since

    def fail(self, error):
        with self.changed:
            self._failure = self._failure or error
            self.changed.notify_all()

    def check_locked(self):
        if self._failure is not None:
            raise errors.again(self._failure)
        if self._closed:
            raise errors.FailedPrecondition(f"{self.what} {self.link.address}: closed")

    def _check_waiting_locked(self):
        if self._closed and self._failure is None:
            raise errors.Cancelled(f"{self.what} {self.link.address}: closed meanwhile")
        self.check_locked()

    def wait_locked(self, ready, deadline, doing, purpose, counted=True):
        """Waits until `ready()`. Logs the cause of the wait now and then, and raises it at the deadline.
        `counted`: adds the wait to the seconds of the statistics."""
        if ready():
            return
        self.check_locked()
        began = time.monotonic()
        try:
            self._wait_locked(ready, deadline, doing, purpose, began + _WARN_AFTER)
        finally:
            if counted:
                self._waited += time.monotonic() - began

    def _wait_locked(self, ready, deadline, doing, purpose, warn_at):
        while not ready():
            self._check_waiting_locked()
            left = deadline.left()
            self.changed.wait(min(_WARN_AFTER, _WARN_AFTER if left is None else left))
            if ready():
                return
            self._check_waiting_locked()
            if deadline.over():
                raise errors.DeadlineExceeded(f"{doing()} after {deadline.timeout:g} s: {self._why_locked(purpose)}")
            if time.monotonic() >= warn_at:
                log.warning("%s: still waiting: %s", doing(), self._why_locked(purpose))
                warn_at = time.monotonic() + _WARN_AFTER

    def _why_locked(self, purpose):
        away = self._away
        if away is not None and away.reason:
            return f"the server at {self.link.address} cannot do it now: {away} ({self.link.where_to_look()})"
        if away is not None:
            return f"the server at {self.link.address} is away: {away}"
        self.changed.release()  # Other threads must go on while this one asks the server.
        try:
            return self.link.explain(self.tables, purpose)
        finally:
            self.changed.acquire()

    def forsake(self):
        """Ends the stream of an owner that is collected without close()."""
        self.end()

    def end(self):
        """Ends the stream at once. May be called again, and from any thread."""
        with self.changed:
            self._closed = True
            call = self._call
            self.changed.notify_all()
        if call is not None:
            call.cancel()
        if threading.current_thread() is not self._thread and self._thread.is_alive():
            self._thread.join(2.0)
