"""Priorities that are sent without waiting for each answer. [e2e]"""

import unittest

import numpy as np
from support import COLUMNS, PATIENCE, Proxy, Server, ServerTest, row

import waggle_client as waggle


def fill(client, name, count):
    with client.writer(name) as writer:
        for number in range(count):
            writer.append(row(number))
            writer.create_item()


class UpdaterTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.client.create_table(waggle.Table(self.name, COLUMNS, sampler=waggle.prioritized(1.0), max_items=10))
        fill(self.client, self.name, 10)
        self.batch = self.client.sample(self.name, 10)  # Stratified, of equal priorities: every item once.
        self.names = (self.batch.keys, self.batch.generations)

    def test_updates_are_applied_in_their_order_and_counted(self):
        with self.client.priority_updater(self.name) as updater:
            for round_ in range(100):
                priorities = (self.batch["number"] == round_ % 10).astype(np.float64)
                updater.update(*self.names, priorities)
                priorities[:] = -1  # It has been copied.
            counts = updater.flush(PATIENCE)
            self.assertEqual((counts.applied, counts.stale, counts.unknown), (1000, 0, 0))
            self.assertEqual(updater.counts(), counts)
        self.assertEqual(set(self.client.sample(self.name, 20)["number"].tolist()), {9})

    def test_items_that_have_left_are_counted(self):
        self.client.delete(self.name, self.names[0][:3], self.names[1][:3])
        with self.client.priority_updater(self.name) as updater:
            updater.update([], [], [])
            updater.update(*self.names, np.ones(10))
            counts = updater.flush(PATIENCE)
        self.assertEqual((counts.applied, counts.stale + counts.unknown), (7, 3))

    def test_closing_flushes_and_then_it_is_closed(self):
        updater = self.client.priority_updater(self.name)
        updater.update(*self.names, np.ones(10))
        updater.close()
        self.assertEqual(updater.counts().applied, 10)
        updater.close()
        for call in (updater.flush, lambda: updater.update(*self.names, np.ones(10))):
            with self.assertRaisesRegex(waggle.FailedPrecondition, "closed"):
                call()

    def test_what_the_server_refuses_is_told_by_the_next_call(self):
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
            fill(client, "table", 4)
            batch = client.sample("table", 4)
            with client.priority_updater("table") as updater:
                port = server.port
                server.kill()
                server = Server(port)
                updater.update(batch.keys, batch.generations, np.ones(4))
                self.assertEqual(updater.flush(PATIENCE).unknown, 4)


if __name__ == "__main__":
    unittest.main()
