"""Shared by the tests: a replay server as a process, a proxy that breaks connections, tables, and waiting."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time
import unittest

import numpy as np

import waggle_client as waggle

PATIENCE = 60.0  # Seconds after which an expected event counts as missing; never a limit on a duration.

COLUMNS = {"number": waggle.Column("int64"), "vector": waggle.Column("float32", (3,))}


def row(number):
    return {"number": number, "vector": np.full(3, number, np.float32)}


def rows_of(numbers):
    """These rows as arrays."""
    numbers = np.asarray(numbers)
    return {"number": numbers, "vector": np.repeat(numbers[:, None], 3, 1).astype(np.float32)}


def fill(writer, *bounds, **item):
    """Writes the rows of a range of numbers, each with an item."""
    for number in range(*bounds):
        writer.append(row(number))
        writer.create_item(**item)


def in_threads(count, function):
    """Runs the function in so many threads, each with its number."""
    threads = [threading.Thread(target=function, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def queue_table(name, **options):
    """First in, first out, each item once: draining it gives the inserted items, in their order."""
    options = {"max_items": 100_000, "max_window": 4, "max_times_sampled": 1, **options}
    return waggle.Table(name, COLUMNS, sampler=waggle.fifo(), **options)


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain until {what}")
        time.sleep(0.005)


class Server:
    """A replay server, started as a user starts it."""

    def __init__(self, port=0, *flags):
        self.process = subprocess.Popen(
            [os.environ["WAGGLE_REPLAY_SERVER"], "--listen", f"127.0.0.1:{port}", *flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.output = []
        for line in self.process.stdout:
            self.output.append(line)
            found = re.search(r"serving replay on (\S+)", line)
            if found:
                self.address = found[1]
                break
        else:
            raise AssertionError(f"the replay server does not start: {''.join(self.output)}")
        # Its output is read all the time, so that it never waits for that.
        self._reader = threading.Thread(target=lambda: self.output.extend(self.process.stdout), daemon=True)
        self._reader.start()

    @property
    def port(self):
        return int(self.address.rpartition(":")[2])

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)
        status = pathlib.Path(f"/proc/{self.process.pid}/stat")
        wait_until(lambda: status.read_text().rpartition(")")[2].split()[0] == "T", "the server is paused")

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._reader.join()
        self.process.stdout.close()


class Proxy:
    """Passes bytes on to a server, until it is told to stop."""

    def __init__(self, target):
        self._target = ("127.0.0.1", target)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._sockets = []
        self.drop_answers = False  # True: the server's answers are lost.
        self.drop_requests = False
        self.dropped = 0  # Bytes.
        self.accepts = True
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                inner, _ = self._listener.accept()
            except OSError:
                return
            if not self.accepts:
                inner.close()
                continue
            outer = socket.create_connection(self._target)
            with self._lock:
                self._sockets += [inner, outer]
            for source, sink, switch in ((inner, outer, "drop_requests"), (outer, inner, "drop_answers")):
                threading.Thread(target=self._pass_on, args=(source, sink, switch), daemon=True).start()

    def _pass_on(self, source, sink, switch):
        try:
            while True:
                data = source.recv(1 << 16)
                if not data:
                    break
                if getattr(self, switch):
                    self.dropped += len(data)
                else:
                    sink.sendall(data)
        except OSError:
            pass
        self._end(source)
        self._end(sink)

    @staticmethod
    def _end(ended):
        try:
            ended.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def cut(self):
        """Breaks every connection; new ones can be made."""
        with self._lock:
            sockets, self._sockets = self._sockets, []
        for each in sockets:
            self._end(each)
            each.close()

    def close(self):
        self._listener.close()
        self.cut()


class ServerTest(unittest.TestCase):
    """Tests against one server; each makes its own tables."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.kill)

    def setUp(self):
        self.client = waggle.Client(self.server.address, timeout=PATIENCE)
        self.addCleanup(self.client.close)
        self.name = self.id().rpartition(".")[2]

    def drain(self, client, table, count):
        """The numbers of the next items of a queue, each from the last row of its window."""
        return client.sample(table, count, timeout=PATIENCE)["last"].tolist()

    def begin(self, function):
        """Runs the function in a thread. The returned function waits for its end, and returns or raises its result."""
        outcome = []

        def run():
            try:
                outcome.append((function(), None))
            except BaseException as error:
                outcome.append((None, error))

        thread = threading.Thread(target=run, daemon=True)
        thread.start()

        def end():
            thread.join(PATIENCE)
            self.assertTrue(outcome, "it hangs")
            value, error = outcome[0]
            if error is not None:
                raise error
            return value

        return end

    def soon(self, function):
        """Runs the function in a thread, and fails unless it ends; returns its result or raises its error."""
        return self.begin(function)()
