#!/usr/bin/env python3
"""A client of replay servers that writes down what it was promised. A program of its own: waggle_chaos.py starts it.

usage: recording_client.py --stage FOLDER --history FILE --server NAME=HOST:PORT ... [--seed N] [--lie NAME]

It writes, samples and deletes until its input ends. Then it waits until everything is acknowledged, and exits with 0; with
1 if that takes longer than --patience seconds.
"""

import argparse
import logging
import random
import sys
import threading
import time
import traceback

import numpy

import recorded_tables
from history import History

waggle = None  # The client's package, once its folder is known.


class Recorder:
    """What all threads share."""

    def __init__(self, arguments):
        self.history = History(arguments.history)
        self.lie = recorded_tables.LIES[arguments.lie]
        self.seed = arguments.seed
        self.stop = threading.Event()
        self.give_up = float("inf")  # The time after which nothing is waited for any more.
        self.unfinished = []

    def over(self):
        return time.monotonic() > self.give_up


class RecordingWriter(threading.Thread):
    """Writes items with numbers of its own to one table, a block at a time."""

    def __init__(self, recorder, server, client, table, index):
        super().__init__(name=f"writer {server} {table} {index}")
        self._recorder = recorder
        self._client = client
        self._facts = {"server": server, "table": table}
        self._table = table
        self._random = random.Random(f"{recorder.seed} {self.name}")
        self._next = index * recorded_tables.NUMBERS_OF_A_WRITER
        self._rows = 0  # In the present writer's stream.
        self._writer = None

    def run(self):
        while not self._recorder.stop.is_set():
            try:
                self._write_block()
            except waggle.Error as error:
                self._lose_writer(error)
            self._recorder.stop.wait(self._random.uniform(0, 0.2))
        if self._writer is not None:
            try:
                self._writer.close()
            except waggle.Error as error:
                self._lose_writer(error)

    def _tell(self, kind, numbers, **more):
        self._recorder.history.add(op="insert", type=kind, numbers=numbers, **self._facts, **more)

    def _open(self):
        while self._writer is None:
            try:
                self._client.create_table(recorded_tables.table(waggle, self._table, self._recorder.lie), timeout=5)
                self._writer = self._client.writer(self._table, timeout=5)
                self._rows = 0
            except (waggle.DeadlineExceeded, waggle.Unavailable, waggle.NotFound):
                if self._recorder.stop.is_set():
                    return False
        return True

    def _lose_writer(self, error):
        self._recorder.history.add(op="refused", error=f"{error.code}: {error}", **self._facts)
        self._writer = None
        self._recorder.stop.wait(0.5)

    def _write_block(self):
        if not self._open():
            return
        numbers = []
        for _ in range(self._random.choice((1, 1, 2, 5, 20, 60))):
            numbers.append(self._next)
            self._next += 1
        self._tell("invoke", numbers)
        if self._recorder.lie.acknowledge_early:
            self._tell("ok", numbers)
        for number in numbers:
            self._add(number)
        asked = False
        while True:
            try:
                self._writer.flush(timeout=5)
                break
            except waggle.DeadlineExceeded as error:
                if not asked:
                    self._tell("unknown", numbers, error=str(error))
                asked = True
                if self._recorder.over():
                    self._recorder.unfinished.append(f"{self.name}: {error}")
                    return
        lost = self._writer.stats().items_without_rows
        if lost > 0:
            # Only after a server has lost acknowledged rows, which the checker knows: windows reach back to them.
            self._recorder.history.add(op="refused", error=f"{lost} items were left out, because their rows are lost",
                                       **self._facts)
            self._writer = None
        elif not self._recorder.lie.acknowledge_early:
            self._tell("ok", numbers)

    def _add(self, number):
        row = {"number": number, "payload": numpy.frombuffer(recorded_tables.payload(number), numpy.uint8)}
        while True:
            try:
                self._writer.append(row)
                break
            except waggle.DeadlineExceeded:  # The writer is full; nothing was added.
                if self._recorder.over():
                    raise
        self._rows += 1
        self._writer.create_item(rows=min(self._rows, recorded_tables.WINDOW), priority=1.0)


class RecordingSampler(threading.Thread):
    """Samples from one table, checks the rows, sets priorities, and deletes an item now and then."""

    def __init__(self, recorder, server, client, table):
        super().__init__(name=f"sampler {server} {table}")
        self._recorder = recorder
        self._client = client
        self._facts = {"server": server, "table": table}
        self._table = table
        self._random = random.Random(f"{recorder.seed} {self.name}")
        self._deleted = set()

    def run(self):
        while not self._recorder.stop.wait(self._random.uniform(0.02, 0.2)):
            try:
                batch = self._client.sample(self._table, 32, timeout=5)
                self._check(batch)
                self._client.update_priorities(self._table, batch.keys, batch.generations,
                                               numpy.asarray([self._random.uniform(0.1, 2) for _ in batch.keys]), timeout=5)
                if recorded_tables.RULES[self._table].max_items is None and self._random.random() < 0.3:
                    self._delete_one(batch)
            except (waggle.DeadlineExceeded, waggle.Unavailable, waggle.NotFound, waggle.Cancelled, waggle.Aborted):
                pass
            except waggle.Error as error:
                self._recorder.history.add(op="refused", error=f"sampler: {error.code}: {error}", **self._facts)

    def _check(self, batch):
        for i, number in enumerate(batch["number"]):
            number, rows = int(number), int(batch.lengths[i])
            rows_right = list(batch["numbers"][i][:rows]) == list(range(number - rows + 1, number + 1))
            right = rows_right and recorded_tables.row_is_right(number, batch["payload"][i])
            if not right or i == 0:  # One of each good batch is enough.
                self._recorder.history.add(op="read", number=number, right=right, **self._facts)

    def _delete_one(self, batch):
        number = int(batch["number"][0])
        if number in self._deleted:
            return
        self._deleted.add(number)
        self._recorder.history.add(op="delete", type="invoke", numbers=[number], **self._facts)
        counts = self._client.delete(self._table, batch.keys[:1], batch.generations[:1], timeout=5)
        self._recorder.history.add(op="delete", type="ok", numbers=[number], counts=str(counts), **self._facts)


def threads_of(recorder, server, address):
    for table in recorded_tables.RULES:
        for index in range(2):
            yield RecordingWriter(recorder, server, waggle.Client(address), table, index)
        yield RecordingSampler(recorder, server, waggle.Client(address), table)


def main():
    global waggle
    parser = argparse.ArgumentParser()
    parser.add_argument("--stage", required=True)
    parser.add_argument("--history", required=True)
    parser.add_argument("--server", action="append", required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lie", choices=sorted(recorded_tables.LIES), default="")
    parser.add_argument("--patience", type=float, default=180)
    arguments = parser.parse_args()
    sys.path.insert(0, arguments.stage)
    import waggle_client

    waggle = waggle_client
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(threadName)s %(message)s")
    recorder = Recorder(arguments)
    threads = [thread for server in arguments.server
               for thread in threads_of(recorder, *server.split("=", 1))]
    failed = []
    threading.excepthook = lambda hook: (failed.append(hook), traceback.print_exception(hook.exc_value))
    for thread in threads:
        thread.start()
    sys.stdin.read()
    recorder.give_up = time.monotonic() + arguments.patience
    recorder.stop.set()
    for thread in threads:
        thread.join()
    recorder.history.close()
    for text in recorder.unfinished:
        print(f"not acknowledged: {text}")
    return 1 if failed or recorder.unfinished else 0


if __name__ == "__main__":
    sys.exit(main())
