"""Processes that are forked while a client is in use: the new one gets errors, the old one goes on. [e2e]"""

import contextlib
import os
import signal
import threading
import unittest

import numpy as np
from support import COLUMNS, PATIENCE, ServerTest, fill, row

import waggle_client as waggle


@unittest.skipUnless(hasattr(os, "fork"), "this system has no fork")
class ForksTest(ServerTest):
    def in_a_child(self, function):
        """The string that the function returned in a forked process."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                signal.alarm(int(PATIENCE))
                os.write(writing, function().encode())
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            told = pipe.read()
        self.assertEqual(os.waitpid(child, 0)[1], 0, "the child hung")
        return told

    @contextlib.contextmanager
    def held(self, *users, locks=()):
        """Another thread holds the locks of these, which nothing in a new process will release."""
        inside, over = threading.Event(), threading.Event()

        def use():
            with contextlib.ExitStack() as stack:
                for user in users:
                    stack.enter_context(user._core.changed)
                for lock in locks:
                    stack.enter_context(lock)
                inside.set()
                over.wait()

        thread = threading.Thread(target=use)
        thread.start()
        inside.wait()
        try:
            yield
        finally:
            over.set()
            thread.join()

    @staticmethod
    def told(function):
        try:
            return f"it returned {function()}"
        except waggle.Error as error:
            return f"{type(error).__name__}: {error}"

    def test_objects_from_before_a_fork_are_refused_in_the_new_process_and_go_on_in_the_old_one(self):
        self.client.create_table(waggle.Table(self.name, COLUMNS))
        writer = self.client.writer(self.name)
        fill(writer, 1)
        writer.flush(PATIENCE)
        sampler, updater = self.client.sampler(self.name, 1), self.client.priority_updater(self.name)
        batch = sampler.next(PATIENCE)
        writer.append(row(1))
        calls = {
            "describe": self.client.describe,
            "append": lambda: writer.append(row(2)),
            "flush": writer.flush,
            "writer": lambda: self.client.writer(self.name),
            "take": lambda: [sampler.next() for _ in range(9)],
            "update": lambda: updater.update(batch.keys, batch.generations, np.ones(1)),
            "client": lambda: waggle.Client(self.server.address).describe(),
        }
        for name, call in calls.items():
            with self.subTest(name), self.held(writer, sampler, updater):
                self.assertRegex(self.in_a_child(lambda: self.told(call)), "FailedPrecondition: .*forked.*before")
        # It ends there without waiting, and without sending the old process's rows.
        ends = lambda: [self.told(end) for end in (writer.close, sampler.close, updater.close, self.client.close)][-1]
        with self.held(writer, sampler, updater, locks=[self.client._children._lock]):
            self.assertRegex(self.in_a_child(ends), "it returned None")
        writer.create_item()
        writer.close()
        self.assertEqual(self.client.table(self.name).items_inserted, 2)
        updater.update(batch.keys, batch.generations, np.ones(1))
        self.assertEqual(updater.flush(PATIENCE).applied, 1)
        self.assertEqual(len(sampler.next(PATIENCE)), 1)
        sampler.close()

    def test_a_fork_while_nothing_is_open_does_no_harm(self):
        self.client.create_table(waggle.Table(self.name, COLUMNS))
        with self.client.writer(self.name) as writer:
            fill(writer, 1)
        self.client.sample(self.name, 1)
        describe = lambda: f"{len(waggle.Client(self.server.address, timeout=PATIENCE).describe().tables)} tables"
        self.assertRegex(self.in_a_child(lambda: self.told(describe)), "it returned . tables")
        self.client.describe()
        self.assertEqual(len(self.client.sample(self.name, 1)), 1)
        self.assertRegex(
            self.in_a_child(lambda: self.told(lambda: self.client.sample(self.name, 1))), "FailedPrecondition: .*forked"
        )


if __name__ == "__main__":
    unittest.main()
