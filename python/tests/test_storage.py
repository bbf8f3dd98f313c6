"""Tables that outlive their server: checkpoints, a full disk, coming back. [e2e]"""

import dataclasses
import resource
import tempfile
import unittest

import numpy as np
from support import COLUMNS, PATIENCE, Server, fill, queue_table, wait_until

import waggle_client as waggle

VIEW = {"last": waggle.last("number")}


class StorageTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.flags = ("--data-dir", folder.name, "--checkpoint-seconds", "0")
        self.server = Server(0, *self.flags)
        self.addCleanup(lambda: self.server.kill())
        self.client = waggle.Client(self.server.address, timeout=PATIENCE)
        self.addCleanup(self.client.close)

    def restart(self):
        port = self.server.port
        self.server.kill()
        self.server = Server(port, *self.flags)

    def limit_files(self, size):
        """Makes the server's disk full once a file has so many bytes; -1 is no limit."""
        _, hard = resource.prlimit(self.server.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.server.process.pid, resource.RLIMIT_FSIZE, (size, hard))

    def test_describe_tells_of_checkpoints(self):
        self.assertEqual(self.client.describe().storage, waggle.StorageInfo(0, None, "", ""))
        number = self.client.checkpoint()
        self.assertEqual(self.client.checkpoint(), number + 1)
        storage = self.client.describe().storage
        self.assertEqual(
            (storage.checkpoint_number, storage.checkpoint_problem, storage.write_problem), (number + 1, "", "")
        )
        self.assertGreaterEqual(storage.checkpoint_ago, 0)
        server = Server()
        self.addCleanup(server.kill)
        with waggle.Client(server.address, timeout=PATIENCE) as client:
            self.assertIsNone(client.describe().storage)
            with self.assertRaisesRegex(waggle.FailedPrecondition, "--data-dir"):
                client.checkpoint()

    def test_describe_has_the_bytes_of_a_table_in_memory_and_on_disk(self):
        column = waggle.Column("uint8", (1 << 16,))
        self.client.create_table(waggle.Table("large", {"frame": column}, memory_limit=1 << 20, max_items=1000))
        with self.client.writer("large") as writer:
            for number in range(100):
                writer.append({"frame": np.full(1 << 16, number, np.uint8)})
                writer.create_item()
        wait_until(lambda: self.client.table("large").disk_bytes > 4 << 20, "most of it is on disk")
        info = self.client.table("large")
        self.assertGreater(info.memory_bytes, 0)
        self.assertGreaterEqual(info.bytes, 100 << 16)
        self.client.sample("large", 100)
        self.assertGreater(self.client.table("large").disk_reads, 0)

    def test_calls_that_wait_for_a_full_disk_say_so(self):
        self.client.create_table(queue_table("kept", view=VIEW, durability="log"))
        self.client.create_table(queue_table("saved", view=VIEW, durability="checkpoint"))
        writer = self.client.writer("kept")
        fill(writer, 0, 10)
        writer.flush(PATIENCE)
        with self.client.writer("saved") as saved:
            fill(saved, 0, 10)
        self.limit_files(1)
        with self.assertRaisesRegex(waggle.DeadlineExceeded, f"{self.server.address}.*written to disk.*waggle why"):
            self.client.checkpoint(timeout=2)
        self.assertIn("cannot be written to disk", self.client.describe().storage.write_problem)
        fill(writer, 10, 20)
        with self.assertRaisesRegex(waggle.DeadlineExceeded, "not acknowledged after 2 s.*written to disk.*waggle why"):
            writer.flush(2)
        self.limit_files(-1)
        writer.close(PATIENCE)
        number = self.client.checkpoint()
        storage = self.client.describe().storage
        self.assertEqual((storage.checkpoint_number, storage.write_problem), (number, ""))
        self.assertEqual(self.client.sample("kept", 20)["last"].tolist(), list(range(20)))

    def test_a_saved_table_that_differs_is_refused_kept_or_replaced(self):
        table = queue_table("kept", durability="checkpoint", max_items=10)
        larger = dataclasses.replace(table, max_items=20)
        self.client.create_table(table)
        with self.client.writer("kept") as writer:
            fill(writer, 0, 5)
        self.client.checkpoint()
        with self.assertRaisesRegex(waggle.FailedPrecondition, "max_items: 10 and 20"):  # It is not saved yet.
            self.client.create_table(larger, if_saved_differs="replace")
        for policy in (None, "refuse"):
            self.restart()
            with waggle.Client(self.server.address, timeout=PATIENCE) as client:
                with self.assertRaisesRegex(waggle.FailedPrecondition, "max_items: 10 and 20.*if_saved_differs"):
                    client.create_table(larger, if_saved_differs=policy)
        with waggle.Client(self.server.address, timeout=PATIENCE) as client:
            self.assertFalse(client.create_table(larger, if_saved_differs="keep"))
            self.assertEqual((client.table("kept").table.max_items, client.table("kept").items), (10, 5))
        self.restart()
        with waggle.Client(self.server.address, timeout=PATIENCE) as client:
            self.assertTrue(client.create_table(larger, if_saved_differs="replace"))
            self.assertEqual((client.table("kept").table.max_items, client.table("kept").items), (20, 0))

    def test_a_saved_table_is_not_replaced_for_the_order_of_its_columns(self):
        table = queue_table("kept", durability="checkpoint", max_items=10)
        names = sorted(table.columns, reverse=True)
        link = self.client._link
        self.assertTrue(link._create(table, names, list(table.view), link.deadline(None), None))
        with self.client.writer("kept") as writer:
            fill(writer, 0, 5)
        self.client.checkpoint()
        self.restart()
        with waggle.Client(self.server.address, timeout=PATIENCE) as client:
            self.assertFalse(client.create_table(table, if_saved_differs="replace"))
            self.assertEqual(client.table("kept").items, 5)

    def test_a_writer_goes_on_over_crashes_and_every_item_is_there_once(self):
        self.client.create_table(queue_table("kept", view=VIEW, durability="log"))
        with self.client.writer("kept", block_bytes=100) as writer:
            for begin in range(0, 400, 100):
                fill(writer, begin, begin + 50)
                if begin % 200 == 0:
                    writer.flush(PATIENCE)  # Else the server is killed with blocks on their way.
                self.restart()
                fill(writer, begin + 50, begin + 100)
            writer.flush(PATIENCE)
            stats = writer.stats()
        self.assertEqual((stats.items_inserted, stats.items_without_rows), (400, 0))
        self.assertEqual(self.client.table("kept").items, 400)
        self.assertEqual(self.client.sample("kept", 400)["last"].tolist(), list(range(400)))

    def test_a_sampler_goes_on_over_a_crash(self):
        self.client.create_table(waggle.Table("kept", COLUMNS, durability="log"))
        with self.client.writer("kept") as writer:
            fill(writer, 0, 10)
        with self.client.sampler("kept", 4, prefetch=2) as sampler:
            before = {sampler.next(PATIENCE).table_incarnation for _ in range(3)}
            self.restart()
            for _ in range(10):
                self.assertLess(sampler.next(PATIENCE)["number"].max(), 10)
            self.assertEqual(len(before), 1)


if __name__ == "__main__":
    unittest.main()
