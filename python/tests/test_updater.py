"""Updates of priorities without waiting for each answer. [e2e]"""

import queue
import threading
import unittest
import unittest.mock

import numpy as np
from support import COLUMNS, PATIENCE, Proxy, Server, ServerTest, fill

import waggle_client as waggle
from waggle_client import _wire
from waggle_client import updater as updater_module
from waggle_client.updater import MAX_KEYS, PriorityUpdater


class UpdaterTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.client.create_table(waggle.Table(self.name, COLUMNS, sampler=waggle.prioritized(1.0), max_items=10))
        with self.client.writer(self.name) as writer:
            fill(writer, 10)
        self.batch = self.client.sample(self.name, 10)  # Stratified with equal priorities: every item once.
        self.names = (self.batch.keys, self.batch.generations)

    def test_updates_are_applied_in_their_order_and_counted(self):
        with self.client.priority_updater(self.name) as updater:
            updater.update([], [], [])
            for round_ in range(100):
                priorities = (self.batch["number"] == round_ % 10).astype(np.float64)
                updater.update(*self.names, priorities)
                priorities[:] = -1  # The updater has copied them.
            counts = updater.flush(PATIENCE)
            self.assertEqual((counts.applied, counts.stale, counts.unknown), (1000, 0, 0))
            self.assertEqual(updater.counts(), counts)
        self.assertEqual(set(self.client.sample(self.name, 20)["number"].tolist()), {9})

    def test_closing_flushes_and_then_it_is_closed(self):
        updater = self.client.priority_updater(self.name)
        updater.update(*self.names, np.ones(10))
        updater.close()
        self.assertEqual(updater.counts().applied, 10)
        updater.close()
        for call in (updater.flush, lambda: updater.update(*self.names, np.ones(10))):
            with self.assertRaisesRegex(waggle.FailedPrecondition, "closed"):
                call()

    def test_a_refusal_of_the_server_is_raised_by_the_next_call(self):
        updater = self.client.priority_updater(self.name)
        updater.update(*self.names, np.full(10, -1.0))
        with self.assertRaisesRegex(waggle.InvalidArgument, "updating priorities of table.*-1") as refused:
            updater.flush(PATIENCE)
        self.assertEqual(refused.exception.reason, "bad_priority")
        with self.assertRaisesRegex(waggle.InvalidArgument, "-1"):
            updater.update(*self.names, np.ones(10))
        with self.assertRaisesRegex(waggle.InvalidArgument, "-1"):
            updater.close()
        updater.close()
        with self.assertRaisesRegex(waggle.NotFound, f'did you mean "{self.name}"'):
            self.client.priority_updater(self.name + "s")

    def test_updates_gather_while_the_server_is_away(self):
        proxy = Proxy(self.server.port)
        self.addCleanup(proxy.close)
        with waggle.Client(proxy.address, timeout=PATIENCE) as far, far.priority_updater(self.name) as updater:
            proxy.accepts = False
            proxy.cut()
            for _ in range(5):
                updater.update(*self.names, np.full(10, 2.0))
            with self.assertRaisesRegex(waggle.DeadlineExceeded, "updating priorities.*not answered after 0.1 s"):
                updater.flush(0.1)
            many = 40_000
            for _ in range(10):  # More than are kept.
                updater.update(np.tile(self.names[0], many // 10), np.tile(self.names[1], many // 10), np.ones(many))
            self.assertGreater(updater.counts().unknown, 0)
            proxy.accepts = True
            counts = updater.flush(PATIENCE)
            self.assertEqual(counts.applied + counts.unknown, 50 + 10 * many)
            self.assertGreaterEqual(counts.applied, many)

    def test_closing_never_hangs_on_a_paused_server(self):
        updater = self.client.priority_updater(self.name)
        self.server.pause()
        self.addCleanup(self.server.resume)
        updater.update(*self.names, np.ones(10))
        with self.assertRaisesRegex(waggle.DeadlineExceeded, "not answered after 0.1 s"):
            self.soon(lambda: updater.close(timeout=0.1))
        self.soon(self.client.close)


class RestartedServerTest(unittest.TestCase):
    def test_items_that_went_with_a_server_are_counted_as_unknown(self):
        server = Server()
        self.addCleanup(lambda: server.kill())
        with waggle.Client(server.address, timeout=PATIENCE) as client:
            client.create_table(waggle.Table("table", COLUMNS))
            with client.writer("table") as writer:
                fill(writer, 4)
            batch = client.sample("table", 4)
            with client.priority_updater("table") as updater:
                port = server.port
                server.kill()
                server = Server(port)
                updater.update(batch.keys, batch.generations, np.ones(4))
                self.assertEqual(updater.flush(PATIENCE).unknown, 4)

    def restarted(self):
        """Two clients that share a table, the second's updater, and the server without the table."""
        server = Server()
        self.addCleanup(lambda: server.kill())
        actor, learner = (waggle.Client(server.address, timeout=PATIENCE) for _ in range(2))
        for client in (actor, learner):
            self.addCleanup(client.close)
        actor.create_table(waggle.Table("table", COLUMNS))
        updater = learner.priority_updater("table")
        port = server.port
        server.kill()
        server = Server(port)
        return actor, learner, updater

    def test_a_table_that_another_client_makes_again_may_be_missing_meanwhile(self):
        actor, learner, updater = self.restarted()
        updater.update([1, 2], [1, 2], [1.0, 1.0])
        self.assertEqual(updater.flush(PATIENCE).unknown, 2)
        actor.create_table(waggle.Table("table", COLUMNS))
        with actor.writer("table") as writer:
            fill(writer, 4)
        batch = learner.sample("table", 4)
        updater.update(batch.keys, batch.generations, np.ones(4))
        self.assertEqual(updater.flush(PATIENCE), waggle.UpdateCounts(4, 0, 2))
        updater.close()

    def test_a_table_that_is_not_made_again_is_an_error_in_the_end(self):
        _, _, updater = self.restarted()
        with unittest.mock.patch.object(updater_module, "NOT_FOUND_PATIENCE", 0.0):
            updater.update([1], [1], [1.0])
            with self.assertRaisesRegex(waggle.NotFound, "table"):
                updater.flush(PATIENCE)
        with self.assertRaises(waggle.NotFound):
            updater.close()


class HeldLink:
    """Stands in for a server: answers when the test says so."""

    address = "held:1"

    def __init__(self):
        self._requests, self._answers = queue.Queue(), queue.Queue()

    def request(self, name):
        return _wire.method(name)[1]

    def call(self, name, request, *_, **__):
        self._requests.put(list(self.request(name).FromString(request).keys))
        answer = self._answers.get()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def closed(self):
        return False

    def where_to_look(self):
        return "nowhere"

    def next(self):
        """The keys of the current request."""
        return self._requests.get(timeout=PATIENCE)

    def answer(self, keys):
        self._answers.put(_wire.method("UpdatePriorities")[2](applied=len(keys)))

    def fail(self):
        self._answers.put(waggle.Unavailable("away"))


class HeldBackoff:
    def __init__(self):
        self.waiting, self.over = threading.Semaphore(0), threading.Semaphore(0)

    def next(self):
        self.waiting.release()
        self.over.acquire(timeout=PATIENCE)
        return 0.0

    def reset(self):
        pass


class HeldUpdatesTest(unittest.TestCase):
    def setUp(self):
        self.link = HeldLink()
        self.updater = PriorityUpdater(self.link, "table")
        self.addCleanup(self.end)

    def end(self):
        self.updater._core.end()
        self.link.fail()
        self.updater._core._thread.join(PATIENCE)

    def update(self, keys):
        self.updater.update(keys, keys, np.ones(len(keys)))

    def test_flushing_does_not_wait_for_later_updates(self):
        flushing, changed, counts = threading.Event(), self.updater._core.changed, []
        thread = threading.Thread(target=lambda: counts.append(self.updater.flush(PATIENCE)), daemon=True)
        wait = changed.wait

        def noting_wait(timeout=None):
            if threading.current_thread() is thread:
                flushing.set()
            return wait(timeout)

        self.update([1])
        first = self.link.next()
        with unittest.mock.patch.object(changed, "wait", noting_wait):
            thread.start()
            self.assertTrue(flushing.wait(PATIENCE))
            self.update([2])
            self.link.answer(first)
            second = self.link.next()  # Other threads could go on adding for ever.
            thread.join()  # Ends at the latest at its flush's timeout.
        self.assertEqual([each.applied for each in counts], [1])
        self.link.answer(second)
        self.assertEqual(self.updater.flush(PATIENCE).applied, 2)

    def test_the_limit_includes_the_update_that_is_being_sent_and_the_oldest_is_dropped_first(self):
        backoff = self.updater._core.backoff = HeldBackoff()
        self.addCleanup(backoff.over.release)
        size = MAX_KEYS // 2
        updates = [np.arange(1 + i * size, 1 + (i + 1) * size) for i in range(8)]
        self.update(updates[0])
        self.assertEqual(self.link.next(), updates[0].tolist())
        for keys in updates[1:7]:  # The limit of a quarter of a million has room for five of them.
            self.update(keys)
        self.assertEqual(self.updater.counts().unknown, 2 * size)
        self.link.fail()
        self.assertTrue(backoff.waiting.acquire(timeout=PATIENCE))
        self.update(updates[7])  # The update that was being sent is dropped for it.
        self.assertEqual(self.updater.counts().unknown, 3 * size)
        backoff.over.release()
        sent = []
        while len(sent) < 5 * size:
            keys = self.link.next()
            self.assertLessEqual(len(keys), MAX_KEYS)
            self.link.answer(keys)
            sent += keys
        self.assertEqual(sent, np.concatenate(updates[3:]).tolist())
        self.assertEqual(self.updater.flush(PATIENCE), waggle.UpdateCounts(5 * size, 0, 3 * size))

    def test_updates_without_an_answer_are_sent_again_in_their_order(self):
        self.update([0])
        first = self.link.next()
        for key in (1, 2, 3):
            self.update([key])
        self.link.answer(first)
        self.assertEqual(self.link.next(), [1, 2, 3])
        self.update([4])
        self.link.fail()
        again = self.link.next()
        self.assertEqual(again, [1, 2, 3, 4])
        self.link.answer(again)
        self.assertEqual(self.updater.flush(PATIENCE).applied, 5)

    def test_a_large_update_is_sent_in_parts_and_flushed_as_one(self):
        keys = np.arange(2 * MAX_KEYS + 1)
        self.update(keys)
        for begin in range(0, len(keys), MAX_KEYS):
            part = self.link.next()
            self.assertEqual(part, keys[begin : begin + MAX_KEYS].tolist())
            with self.assertRaises(waggle.DeadlineExceeded):
                self.updater.flush(0)
            self.link.answer(part)
        self.assertEqual(self.updater.flush(PATIENCE).applied, len(keys))


if __name__ == "__main__":
    unittest.main()
