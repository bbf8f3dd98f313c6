"""The state of one replay server that its clients share: channels, calls with deadlines, known tables."""

import dataclasses
import logging
import os
import random
import re
import secrets
import socket
import threading
import time
from typing import Optional

import grpc

from waggle_client import _check, _fork, _table_proto, _wire, errors
from waggle_client._security import Security

log = logging.getLogger("waggle_client")

_OPTIONS = (
    ("grpc.max_receive_message_length", _wire.MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", _wire.MAX_MESSAGE_BYTES),
    # A dead peer is found within half a minute.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    # Servers restart in seconds; the library's own back-off grows to two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    ("grpc.min_reconnect_backoff_ms", 5_000),
    # A lost connection is only made again with a look-up of its name, by default every half minute.
    ("grpc.dns_min_time_between_resolutions_ms", 100),
    # A stray http_proxy variable must not stand between two processes of a cluster.
    ("grpc.enable_http_proxy", 0),
)
_STATUS_DETAILS = "grpc-status-details-bin"
_ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
_MAY_PASS = (errors.Unavailable, errors.Cancelled, errors.DeadlineExceeded, errors.Aborted)
_EXPLAIN_TIMEOUT = 1.0
# Seconds that a table may be missing after a restart, for its creator to make it again.
NOT_FOUND_PATIENCE = 5.0
_SAVED_POLICIES = _wire.enum_names(
    _wire.message("CreateTableRequest").DESCRIPTOR.fields_by_name["if_saved_differs"].enum_type
)
SAVED_POLICIES = tuple(_SAVED_POLICIES)


def _reason_in(details: bytes) -> str:
    """A server's reason for a refusal, from the status' details; empty if they have none."""
    try:
        for detail in _wire.message("ErrorStatus").FromString(details).details:
            if detail.type_url == _ERROR_INFO:
                info = _wire.message("ErrorInfo").FromString(detail.value)
                if info.domain == "waggle":
                    return info.reason
    except _wire.DecodeError:
        pass
    return ""


def from_rpc_error(error: grpc.RpcError) -> errors.Error:
    """The error of a failed call; see docs/errors.md."""
    code, message = error.code().name, error.details() or "no message"
    details = next((value for key, value in error.trailing_metadata() or () if key == _STATUS_DETAILS), None)
    # The transport's errors for a broken connection.
    if (code == "INTERNAL" and details is None) or (code == "UNKNOWN" and message == "Stream removed"):
        code = "UNAVAILABLE"
    if (code, message) == ("UNAVAILABLE", "Cancelling all calls"):
        message = "the server has ended"
    return errors.from_code(code, message, _reason_in(details) if details else "")


def may_pass(error: errors.Error) -> bool:
    """True if a call with this error may succeed later: the server is away, restarting or overloaded."""
    return isinstance(error, _MAY_PASS)


def new_id() -> str:
    """A name that no other writer or sampler has."""
    host = re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname())[:64]
    return f"python/{host}/{os.getpid()}/{secrets.token_hex(4)}"


def _in_order_of(there, names):
    """The names in a table's order, if the table has the same names."""
    order = [entry.name for entry in there]
    return order if set(order) == set(names) else names


class Deadline:
    """The end of a wait, on the monotonic clock; None is never. InvalidArgument unless it is a number of seconds."""

    def __init__(self, timeout: Optional[float], name: str = "timeout"):
        self.timeout = _check.seconds(name, timeout)  # As the caller gave it, for messages.
        self._end = None if self.timeout is None else time.monotonic() + self.timeout

    def left(self):
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def over(self):
        return self._end is not None and time.monotonic() >= self._end


class Backoff:
    """Growing, jittered pauses between attempts, in seconds."""

    def __init__(self, first=0.1, longest=2.0):
        self._first = self._next = first
        self._longest = longest

    def next(self):
        pause, self._next = self._next, min(2 * self._next, self._longest)
        return pause * random.uniform(0.5, 1.0)

    def reset(self):
        self._next = self._first


_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[A-Za-z0-9._:%-]+\]")


def check_address(address) -> None:
    """InvalidArgument unless it is HOST:PORT, with a name, an IPv4 or a bracketed IPv6 address as host."""
    wanted = "HOST:PORT, such as 127.0.0.1:7001, with a port in [1, 65535]"
    if not isinstance(address, str):
        raise _check.wrong_type("address", address, wanted)
    host, _, port = address.rpartition(":")
    if not _HOST.fullmatch(host) or not re.fullmatch(r"[0-9]{1,5}", port) or not 1 <= int(port) <= 65535:
        raise _check.wrong_value("address", address, wanted)


class Link:
    """Thread-safe."""

    def __init__(self, address: str, timeout: Optional[float], security: Optional[Security] = None):
        check_address(address)
        self._security = security or Security(None, None, None)
        self._stamp = self._security.stamp()
        _fork.check()
        self.address = address
        self.timeout = _check.seconds("timeout", timeout)
        self._lock = threading.Lock()
        self._channels = {}
        self._replaced = []  # Channels with certificates that have been replaced.
        self._closed = False
        self._forked = False
        self._created = {}  # The tables made by this client, and what to do if saved ones differ.
        self._methods = {}
        _fork.watch(self)

    def channel(self, purpose):
        """Bulk data has connections of its own, so that it does not hold up other calls behind it."""
        with self._lock:
            if self._forked:
                raise errors.FailedPrecondition(_fork.message(f"the client of {self.address}"))
            if self._closed:
                raise errors.FailedPrecondition("the client is closed")
            stamp = self._security.stamp()
            if stamp != self._stamp:
                # Open streams go on with the old channels.
                self._replaced += self._channels.values()
                self._stamp, self._channels = stamp, {}
            if purpose not in self._channels:
                options = (*_OPTIONS, ("waggle.purpose", purpose))  # Equal options would share a connection.
                self._channels[purpose] = self._security.channel(self.address, options)
            return self._channels[purpose]

    def _method(self, name):
        channel = self.channel("control")
        made_for, method = self._methods.get(name, (None, None))
        if made_for is not channel:
            path, request, response = _wire.method(name)
            encode = lambda message: message if isinstance(message, bytes) else message.SerializeToString()
            method = (channel.unary_unary(path, encode, response.FromString), request)
            self._methods[name] = (channel, method)
        return method

    def request(self, name):
        return _wire.method(name)[1]

    def deadline(self, timeout) -> Deadline:
        """A call's deadline: None is the client's own timeout. A Deadline is passed on, for calls of several parts."""
        if isinstance(timeout, Deadline):
            return timeout
        return Deadline(self.timeout if timeout is None else timeout)

    def call(self, name, request, what, timeout=None, repeatable=True, explain=True):
        """A unary call. While the server is away, a repeatable call is tried again until the deadline."""
        deadline = self.deadline(timeout)
        backoff = Backoff()
        what = f"{what} at {self.address}"
        away = None  # Why the last attempt failed.
        waits = False  # For a connection. Not in the first attempts: their error says why there is none.
        while True:
            self.channel("control")  # FailedPrecondition once closed.
            try:
                return self._method(name)[0](request, timeout=deadline.left(), wait_for_ready=waits)
            except grpc.RpcError as rpc_error:
                error = from_rpc_error(rpc_error)
            except ValueError as error:  # The library's way to say that another thread has closed the channel.
                raise errors.Cancelled(f"{what}: the client was closed meanwhile") from error
            if isinstance(error, errors.Unavailable) and repeatable and not self.closed():
                away = error
            elif not isinstance(error, errors.DeadlineExceeded):
                raise errors.from_code(error.code, f"{what}: {error}", error.reason) from None
            if isinstance(error, errors.DeadlineExceeded) or deadline.over():
                why = ""
                if away is not None:
                    why = f"; the last attempt: {away}"
                elif explain:
                    why = f": {self._explain_call()}"
                raise errors.DeadlineExceeded(f"{what}: no answer within {deadline.timeout:g} s{why}") from None
            pause, left = backoff.next(), deadline.left()
            waits = left is not None and left <= pause
            time.sleep(left / 2 if waits else pause)

    def create_table(self, table, timeout=None, if_saved_differs=None) -> bool:
        deadline = self.deadline(timeout)
        # The order of a dictionary has no meaning, that of a signature has. So an existing table's order is used: a
        # table with the same columns is then equal to it, and does not replace a saved one.
        columns, view = sorted(table.columns), list(table.view)
        for info in self.describe(deadline, f'creating table "{table.name}"').tables:
            if info.config.name == table.name:
                columns = _in_order_of(info.config.signature, columns)
                view = _in_order_of(info.config.view, view)
        created = self._create(table, columns, view, deadline, if_saved_differs)
        with self._lock:
            # When it is made again later, it must not replace a table that was saved meanwhile.
            self._created[table.name] = (table, "keep" if if_saved_differs == "keep" else None)
        return created

    def _create(self, table, columns, view, deadline, if_saved_differs) -> bool:
        ordered = dataclasses.replace(
            table,
            columns={name: table.columns[name] for name in columns},
            view={name: table.view[name] for name in view},
        )
        request = self.request("CreateTable")(config=_table_proto.to_proto(ordered))
        if if_saved_differs is not None:
            request.if_saved_differs = _SAVED_POLICIES[if_saved_differs]
        return self.call("CreateTable", request, f'creating table "{table.name}"', deadline, explain=False).created

    def reconfigured(self, table) -> None:
        with self._lock:
            if table.name in self._created:
                self._created[table.name] = (table, self._created[table.name][1])

    def has_created(self, name) -> bool:
        """True if this client has created a table of this name."""
        with self._lock:
            return name in self._created

    def restore_tables(self) -> None:
        """Creates this client's tables again, trying once."""
        with self._lock:
            created = list(self._created.values())
        for table, if_saved_differs in created:
            self.create_table(table, timeout=5, if_saved_differs=if_saved_differs)

    def describe(self, timeout=None, purpose="describing the replay server"):
        request = self.request("Describe")()
        return self.call("Describe", request, purpose, timeout, explain=False)

    def _explain_call(self) -> str:
        """Why a call may have had no answer, as text for messages. Never fails."""
        try:
            storage = self.describe(_EXPLAIN_TIMEOUT).storage
        except errors.Error as error:
            return f"the server does not answer: {error}"
        problem = storage.write_problem or storage.checkpoint_problem
        why = problem or "the server answers other calls, and knows of no problem"
        return f"{why}. It may have been carried out, or may yet be; {self.where_to_look()}"

    def where_to_look(self):
        return f"`waggle why --replay-server {self.address}` and the server's log say more"

    def explain(self, names, purpose) -> str:
        """Why inserts into or samples from these tables may be waiting, as text for messages. Never fails."""
        try:
            described = {info.config.name: info for info in self.describe(_EXPLAIN_TIMEOUT).tables}
        except errors.Error as error:
            return f"the server does not answer: {error}"
        reasons = []
        for name in names:
            if name not in described:
                reasons.append(f'there is no table "{name}"')
            elif described[name].blocked_because:
                reasons.append(f'table "{name}" has {described[name].items} items: {described[name].blocked_because}')
        why = "; ".join(reasons) or f"the server answers, and its tables say of nothing that would hold up {purpose}"
        return f"{why} ({self.where_to_look()})"

    def closed(self) -> bool:
        with self._lock:
            return self._closed

    def forked(self):
        self._lock = threading.Lock()
        self._forked = True
        _fork.left_behind.append((self._channels, self._replaced, self._methods))
        self._channels, self._replaced, self._methods = {}, [], {}
        return False

    def close(self):
        with self._lock:
            self._closed = True
            channels = [*self._channels.values(), *self._replaced]
        for channel in channels:
            channel.close()
