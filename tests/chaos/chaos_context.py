"""What a fault may use, and where it reports."""

import threading
import time

import grpc

import wire

PATIENCE = 120.0  # Seconds after which a wait is a problem: far longer than anything takes, for busy machines.


class Skipped(Exception):
    """A fault that this machine or this moment does not allow; says why."""


class Chaos:
    """The state of a run that its faults share. Any thread."""

    def __init__(self, pool, messages, history, say):
        self.pool, self.messages, self.history = pool, messages, history
        self.start = time.monotonic()
        self.violations = []
        self.unsaved = []  # Pairs of times between which the hub's disk may have refused its files.
        self.skipped = {}
        self.over = threading.Event()
        self._say = say
        self._lock = threading.Lock()

    def now(self):
        return time.monotonic() - self.start

    def say(self, text):
        with self._lock:
            self._say(f"{self.now():7.1f} s  {text}")

    def violation(self, text):
        with self._lock:
            self.violations.append(text)
            self._say(f"{self.now():7.1f} s  VIOLATION: {text}")

    def skip(self, fault, why):
        with self._lock:
            self.skipped[fault] = why
            self._say(f"{self.now():7.1f} s  SKIPPED: {fault}: {why}")

    def ended(self, ending):
        """Called for each process that has ended."""
        self.history.add(op="ended", process=ending.name, status=ending.status, expected=ending.expected)
        if ending.expected is None and not (self.over.is_set() and ending.status == 0):
            self.violation(f"{ending}, and nothing had ended it: {ending.log.name}")

    def wait(self, seconds):
        time.sleep(seconds)

    def lossy(self, server, levels, why):
        """The tables of these levels may have lost what came before now."""
        time.sleep(2)  # The client may not have written down all answers that it has.
        self.history.add(op="lossy", server=server, levels=list(levels), why=why)

    def serves(self, name, seconds):
        """True if the server answers gRPC's health protocol within this time."""
        with wire.channel(self.pool.address[name]) as channel:
            check = channel.unary_unary("/grpc.health.v1.Health/Check")
            try:
                # The answer is field 1 = SERVING (1).
                return check(b"", timeout=seconds, wait_for_ready=True) == b"\x08\x01"
            except grpc.RpcError:
                return False

    def await_service(self, name, seconds=PATIENCE):
        """True once the server serves; reports a violation if it does not in time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.serves(name, max(1.0, end - time.monotonic())):
                return True
            time.sleep(0.2)
        self.violation(f"{name} does not serve within {seconds:g} s: {self.pool[name].log.name}")
        return False
