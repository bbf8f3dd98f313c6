"""Large rows, steps of many lanes and batches that just fit, and those that do not. [e2e]"""

import unittest

import numpy as np
from support import PATIENCE, ServerTest

import waggle_client as waggle

MIB = 1 << 20


class SizesTest(ServerTest):
    def create(self, row_bytes, **options):
        columns = {"number": waggle.Column("int64"), "frame": waggle.Column("uint8", (row_bytes,))}
        self.client.create_table(waggle.Table(self.name, columns, sampler=waggle.fifo(), max_bytes=1 << 30, **options))

    def row(self, number, row_bytes):
        return {"number": number, "frame": np.full(row_bytes, number, np.uint8)}

    def test_rows_of_most_of_a_message_travel_also_beside_others(self):
        size = 40 * MIB
        self.create(size, max_times_sampled=1)
        # A row is larger than block_bytes, and two never fit into one message.
        with self.client.writer(self.name, block_bytes=32 * MIB, max_delay=1000) as writer:
            for number in range(2):
                stream = writer.stream()
                stream.append(self.row(number, size))
                stream.create_item()
            writer.lanes(1).append({"number": [7], "frame": np.zeros((1, size), np.uint8)})
            writer.append_rows({"number": [2], "frame": np.full((1, size), 2, np.uint8)}, waggle.Items([0]))
            writer.flush(PATIENCE)
        batch = self.client.sample(self.name, 3, timeout=PATIENCE)
        self.assertEqual(sorted(batch["number"].tolist()), [0, 1, 2])
        self.assertEqual(batch["frame"][:, size // 2].tolist(), batch["number"].tolist())

    def test_rows_that_would_be_too_much_together_travel_apart(self):
        size = 15 * MIB
        self.create(size, max_times_sampled=1)
        with self.client.writer(self.name, block_bytes=32 * MIB, max_delay=1000) as writer:
            for number in range(2):  # Together smaller than block_bytes.
                stream = writer.stream()
                stream.append(self.row(number, size))
                stream.create_item()
            lanes = writer.lanes(3)  # Together with them larger than a message.
            lanes.append({"number": [2, 3, 4], "frame": np.zeros((3, size), np.uint8)})
            lanes.create_items()
            writer.flush(PATIENCE)
            self.assertEqual(writer.stats().items_inserted, 5)
        batch = self.client.sample(self.name, 5, timeout=PATIENCE)
        self.assertEqual(sorted(batch["number"].tolist()), list(range(5)))

    def test_a_row_that_no_message_could_hold_is_refused_when_the_table_is_created(self):
        with self.assertRaisesRegex(
            waggle.InvalidArgument, f"{self.name}.*got a row of {100 * MIB + 8} bytes; wanted at most {63 * MIB}"
        ) as refused:
            self.create(100 * MIB)
        self.assertEqual(refused.exception.reason, "bad_configuration")
        self.create(63 * MIB - 8)  # The number takes the other 8 bytes.

    def test_a_row_that_this_client_cannot_send_is_refused_when_the_writer_is_made(self):
        self.create(60 * MIB)
        with self.assertRaisesRegex(waggle.InvalidArgument, f'{60 * MIB + 8} bytes .*"frame".* {56 * MIB}'):
            self.client.writer(self.name)

    def test_lanes_whose_rows_are_too_much_together_are_refused_with_the_most_that_may_be(self):
        self.create(MIB)
        with self.client.writer(self.name) as writer:
            self.assertEqual(len(writer.lanes(55)), 55)
            with self.assertRaisesRegex(
                waggle.InvalidArgument, f"count: 100 lanes .*add {100 * (MIB + 8)} bytes.*fewer"
            ):
                writer.lanes(100)
            lanes = writer.lanes(40)
            lanes.append({"number": np.arange(40), "frame": np.zeros((40, MIB), np.uint8)})
            lanes.create_items()
            writer.flush(PATIENCE)
        self.assertEqual(self.client.table(self.name).items, 40)

    def test_a_batch_that_is_too_large_is_refused_with_the_limit(self):
        self.create(MIB)
        before = self.client.describe().refusals.get("batch_too_large", 0)
        for items, message in ((600, f"{512 * MIB}|512 MiB"), (70_000, "65536")):
            with self.assertRaisesRegex(waggle.ResourceExhausted, message) as refused:
                self.client.sample(self.name, items, timeout=PATIENCE)
            self.assertEqual(refused.exception.reason, "batch_too_large")
        self.assertEqual(self.client.describe().refusals["batch_too_large"], before + 2)


if __name__ == "__main__":
    unittest.main()
