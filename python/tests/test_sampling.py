"""Batches: their fields, facts and probabilities; big ones; waiting and closing. [e2e]"""

import dataclasses
import gc
import importlib.util
import unittest

import numpy as np
from support import COLUMNS, PATIENCE, ServerTest, fill, in_threads, queue_table, row, wait_until

import waggle_client as waggle
from waggle_client import _wire
from waggle_client._link import Deadline
from waggle_client.sampler import SamplerCore, SamplerOptions


class SamplingTest(ServerTest):
    def fill(self, table, count, priority=lambda number: 1.0, rows=1):
        with self.client.writer(table) as writer:
            for number in range(count):
                writer.append(row(number))
                if number + 1 >= rows:
                    writer.create_item(rows=rows, priority=priority(number))

    def test_a_batch_taken_while_a_stream_begins_is_asked_for_once(self):
        self.client.create_table(queue_table(self.name))
        with self.client.sampler(self.name, batch_size=1, prefetch=2, timeout=PATIENCE) as sampler:
            running = sampler._core
            options = SamplerOptions(1, 2, PATIENCE, "never-started", "none")
            core = SamplerCore(running.link, running.config, options)
        with core.changed:
            core._ready.extend(["one", "two"])
            core.reset_locked()
        self.assertEqual(core.take(Deadline(0)), "one")
        with core.changed:
            opening, _ = core.next_request_locked()
            self.assertEqual(_wire.message("SampleRequest").FromString(opening).credits, 1)
            self.assertEqual(core.next_request_locked(), (None, None))

    def test_a_batch_has_the_fields_of_the_view_and_the_facts(self):
        view = {"vector": waggle.last("vector"), "numbers": waggle.all_rows("number")}
        table = waggle.Table(self.name, COLUMNS, view, sampler=waggle.prioritized(1.0), max_items=100, max_window=3)
        self.client.create_table(table)
        self.fill(self.name, 12, priority=float, rows=2)
        with self.client.sampler(self.name, batch_size=7, prefetch=2, timeout=PATIENCE) as sampler:
            batch = sampler.next()
        self.assertEqual(list(batch.fields), ["vector", "numbers"])
        self.assertEqual(len(batch), 7)
        self.assertEqual((batch["vector"].shape, batch["numbers"].shape), ((7, 3), (7, 3)))
        self.assertEqual((batch.keys.dtype, batch.generations.dtype), (np.uint64, np.uint64))
        last = batch["vector"][:, 0]
        self.assertEqual(batch["numbers"].tolist(), [[n - 1, n, 0] for n in last])
        self.assertEqual(batch.lengths.tolist(), [2] * 7)
        self.assertEqual(batch.priorities.tolist(), last.tolist())
        self.assertEqual((batch.table_items, batch.priority_sum), (11, sum(range(1, 12))))
        np.testing.assert_allclose(batch.probabilities, last / 66)
        self.assertTrue((batch.times_sampled >= 1).all())
        self.assertIn("vector", batch)
        with self.assertRaisesRegex(KeyError, "vector, numbers"):
            batch["nothing"]

    def test_future_fields_have_one_later_row_of_the_episode(self):
        view = {
            "number": waggle.first("number"),
            "numbers": waggle.all_rows("number"),
            "goal": waggle.future("number"),
            "goals": waggle.future("vector", stack=2),
        }
        table = waggle.Table(self.name, COLUMNS, view, max_window=30, transition_rows=2, seed=3)
        self.client.create_table(table)
        self.assertEqual(self.client.table(self.name).table, table)
        lengths = (30, 7, 2, 19)
        ends = []  # By row: the number behind its episode's last row.
        with self.client.writer(self.name) as writer:
            for length in lengths:
                begin = len(ends)
                ends += [begin + length] * length
                for number in range(begin, begin + length):
                    writer.append(row(number), begins_episode=number == begin)
                with self.assertRaisesRegex(waggle.InvalidArgument, r"rows: 1 is outside \[2, 30\]"):
                    writer.create_item(rows=1)
                for rows in range(length, 1, -1):
                    writer.create_item(rows=rows)
        with self.client.sampler(self.name, batch_size=500, timeout=PATIENCE) as sampler:
            batch = sampler.next()
        self.assertEqual(list(batch.fields), list(view))
        self.assertEqual(batch["numbers"].tolist(), [[n, n + 1] for n in batch["number"]])
        self.assertEqual(batch.lengths.tolist(), [2] * 500)
        self.assertEqual(batch.future_offsets.dtype, np.int64)
        self.assertTrue((batch.future_offsets >= 1).all())
        np.testing.assert_array_equal(batch["goal"], batch["number"] + batch.future_offsets)
        self.assertTrue((batch["goal"] < np.array(ends)[batch["number"]]).all())
        np.testing.assert_array_equal(batch["goals"][:, 1, 0], batch["goal"])
        np.testing.assert_array_equal(batch["goals"][:, 0, 0], batch["goal"] - 1)
        # The episode's last row can be drawn: the bound above is reached.
        self.assertTrue((batch["goal"] + 1 == np.array(ends)[batch["number"]]).any())

    def test_future_rows_may_be_the_last_of_the_episode_or_any(self):
        view = {"number": waggle.first("number"), "goal": waggle.future("number")}
        for future_row, seen in (("last", range(1, 6)), ("episode", range(-4, 6))):
            name = f"{self.name}-{future_row}"
            table = waggle.Table(name, COLUMNS, view, max_window=6, transition_rows=2, future_row=future_row)
            self.client.create_table(table)
            self.assertEqual(self.client.table(name).table, table)
            with self.client.writer(name) as writer:
                for number in range(12):  # Two episodes of six rows.
                    writer.append(row(number), begins_episode=number % 6 == 0)
                    if number % 6 == 5:
                        for rows in range(6, 1, -1):
                            writer.create_item(rows=rows)
            with self.client.sampler(name, batch_size=500, timeout=PATIENCE) as sampler:
                batch = sampler.next()
            np.testing.assert_array_equal(batch["goal"], batch["number"] + batch.future_offsets)
            np.testing.assert_array_equal(batch["goal"] // 6, batch["number"] // 6)
            self.assertEqual(set(batch.future_offsets.tolist()), set(seen))
        with self.assertRaisesRegex(waggle.InvalidArgument, "future_row: got 'next'"):
            self.client.create_table(waggle.Table(self.name, COLUMNS, view, future_row="next"))

    def test_future_offsets_are_for_tables_with_a_future_field(self):
        self.client.create_table(queue_table(self.name))
        self.fill(self.name, 1)
        with self.assertRaisesRegex(waggle.FailedPrecondition, "no field of the view takes a future row"):
            self.client.sample(self.name, 1).future_offsets
        for options in ({"transition_rows": 2}, {"view": {"goal": waggle.future("number")}, "max_window": 4}):
            with self.assertRaisesRegex(waggle.InvalidArgument, "transition_rows"):
                self.client.create_table(waggle.Table(f"{self.name}-wrong", COLUMNS, **options))

    def test_batches_may_travel_compressed(self):
        columns = {"frame": waggle.Column("uint8", (84, 84)), "number": waggle.Column("int64")}
        self.client.create_table(waggle.Table(self.name, columns))
        with self.client.writer(self.name) as writer:
            for number in range(50):
                writer.append({"frame": np.full((84, 84), number, np.uint8), "number": number})
                writer.create_item()
        for codec, package in (("none", "json"), ("lz4", "lz4"), ("zstd", "zstandard")):
            if importlib.util.find_spec(package) is None:
                with self.assertRaisesRegex(waggle.InvalidArgument, package):
                    self.client.sampler(self.name, 400, compression=codec)
                continue
            with self.client.sampler(self.name, 400, timeout=PATIENCE, compression=codec) as sampler:
                for _ in range(3):
                    batch = sampler.next()
                    expected = np.broadcast_to(batch["number"][:, None, None], (400, 84, 84))
                    self.assertTrue(np.array_equal(batch["frame"], expected))

    def test_the_arrays_are_aligned_views_of_one_block_that_is_the_batchs_own(self):
        self.client.create_table(waggle.Table(self.name, COLUMNS))
        self.fill(self.name, 10)
        with self.client.sampler(self.name, 5, timeout=PATIENCE) as sampler:
            one, other = sampler.next(), sampler.next()
        block = lambda array: array if array.base is None else block(array.base)
        self.assertIs(block(one["vector"]), block(one["number"]))
        self.assertIsNot(block(one["vector"]), block(other["vector"]))
        for array in (*one.fields.values(), one.keys, one.probabilities):
            self.assertEqual(array.ctypes.data % 64, 0)
            self.assertTrue(array.flags.writeable and array.flags.aligned and array.flags.c_contiguous)
        kept = other["vector"].copy()
        one["vector"][:] = -1
        self.assertTrue(np.array_equal(other["vector"], kept))

    def test_importance_weights_undo_the_probabilities(self):
        self.client.create_table(waggle.Table(self.name, COLUMNS, sampler=waggle.prioritized(1.0)))
        self.fill(self.name, 50, priority=lambda number: number + 1)
        batch = self.client.sample(self.name, 16)
        weights = batch.importance_weights(beta=0.4)
        reference = (batch.table_items * batch.probabilities) ** -0.4
        np.testing.assert_allclose(weights, reference / reference.max(), rtol=1e-5)
        self.assertEqual(weights.dtype, np.float32)
        least = 1 / sum(range(1, 51))
        np.testing.assert_allclose(
            batch.importance_weights(beta=1.0, largest_of="table"), least / batch.probabilities, rtol=1e-5
        )

    def test_items_are_drawn_in_proportion_to_their_priorities(self):
        self.client.create_table(waggle.Table(self.name, COLUMNS, sampler=waggle.prioritized(0.5), seed=3))
        self.fill(self.name, 10, priority=lambda number: (number + 1) ** 2)
        counts = np.zeros(10)
        with self.client.sampler(self.name, 500, timeout=PATIENCE) as sampler:
            for _ in range(40):
                counts += np.bincount(sampler.next()["number"], minlength=10)
        wanted = np.arange(1, 11) / 55 * 20_000
        self.assertTrue((abs(counts - wanted) < 6 * np.sqrt(wanted)).all(), counts)

    def test_big_batches_come_in_pieces(self):
        column = waggle.Column("uint8", (256, 1024))
        table = waggle.Table(self.name, {"frame": column}, sampler=waggle.fifo(), max_items=100, max_times_sampled=2)
        self.client.create_table(table)
        frames = np.random.default_rng(0).integers(0, 256, (40, *column.shape), np.uint8)
        with self.client.writer(self.name) as writer:
            writer.append_rows({"frame": frames}, waggle.Items(np.arange(40)))
        with self.client.sampler(self.name, 20, prefetch=2, timeout=PATIENCE) as sampler:  # 5 MiB each.
            batches = [sampler.next() for _ in range(4)]
        drawn = np.sort(np.concatenate([batch["frame"][:, 0, 0] for batch in batches]))
        self.assertTrue(np.array_equal(drawn, np.sort(np.repeat(frames[:, 0, 0], 2))))
        for batch in batches:
            for frame in batch["frame"]:
                self.assertTrue((frames == frame).all((1, 2)).any())

    def test_other_selectors_pick_by_age_and_priority(self):
        for sampler, wanted in ((waggle.lifo(), 9), (waggle.fifo(), 0), (waggle.max_heap(), 3), (waggle.min_heap(), 6)):
            name = f"{self.name}/{sampler.kind}"
            self.client.create_table(waggle.Table(name, COLUMNS, sampler=sampler))
            self.fill(name, 10, priority=lambda number: {3: 9.0, 6: 0.5}.get(number, 1.0))
            self.assertEqual(self.client.sample(name, 1)["number"].tolist(), [wanted])
        self.client.create_table(waggle.Table(self.name, COLUMNS, sampler=waggle.uniform(without_replacement=True)))
        self.fill(self.name, 10)
        self.assertEqual(sorted(self.client.sample(self.name, 10)["number"].tolist()), list(range(10)))

    def test_a_queue_gives_each_item_once_in_order(self):
        self.client.create_table(queue_table(self.name, view={"last": waggle.last("number")}))
        self.fill(self.name, 1300)
        self.assertEqual(self.drain(self.client, self.name, 300), list(range(300)))
        with self.client.sampler(self.name, 1, prefetch=64, timeout=PATIENCE) as sampler:
            numbers = [int(sampler.next()["last"][0]) for _ in range(1000)]
        self.assertEqual(numbers, list(range(300, 1300)))
        wait_until(lambda: self.client.table(self.name).items == 0, "the queue is empty")

    def test_waiting_for_a_batch_says_what_for(self):
        limiter = waggle.RateLimiter(min_items=100)
        self.client.create_table(waggle.Table(self.name, COLUMNS, rate_limiter=limiter))
        self.fill(self.name, 3)
        with self.client.sampler(self.name, 4) as sampler:
            with self.assertRaisesRegex(waggle.DeadlineExceeded, "no batch after 0.1 s.*3 items.*min_items is 100"):
                sampler.next(timeout=0.1)
            self.fill(self.name, 100)
            self.assertEqual(len(sampler.next(PATIENCE)), 4)

    def test_a_sampler_counts_what_was_taken_and_waited_for(self):
        self.client.create_table(waggle.Table(self.name, COLUMNS))
        with self.client.sampler(self.name, 1, prefetch=2) as sampler:
            self.assertEqual(sampler.stats(), waggle.SamplerStats(0, 0, 0.0))
            with self.assertRaises(waggle.DeadlineExceeded):
                sampler.next(timeout=0.01)
            self.fill(self.name, 1)
            sampler.next(PATIENCE)
            wait_until(lambda: sampler.stats().batches_ready > 0, "another one is fetched ahead")
            self.assertEqual(sampler.stats().batches, 1)
            self.assertGreaterEqual(sampler.stats().seconds_waited, 0.01)

    def test_closing_ends_a_wait_in_another_thread(self):
        self.client.create_table(waggle.Table(self.name, COLUMNS))
        sampler = self.client.sampler(self.name, 4)
        ended = self.begin(sampler.next)
        wait_until(lambda: self.client.table(self.name).samples_waiting > 0, "the sampler waits")
        self.soon(sampler.close)
        self.assertRaises(waggle.Cancelled, ended)
        with self.assertRaisesRegex(waggle.FailedPrecondition, "closed"):
            sampler.next()

    def test_threads_may_share_a_sampler(self):
        self.client.create_table(queue_table(self.name, view={"last": waggle.last("number")}))
        self.fill(self.name, 400)
        numbers = []
        with self.client.sampler(self.name, 2, timeout=PATIENCE) as sampler:

            def take(_):
                for _ in range(50):
                    numbers.extend(sampler.next()["last"].tolist())

            in_threads(4, take)
        self.assertEqual(sorted(numbers), list(range(400)))


class SingleBatchesTest(ServerTest):
    """Client.sample, whose sampler stays open from one call to the next."""

    def setUp(self):
        super().setUp()
        self.client.create_table(queue_table(self.name, view={"last": waggle.last("number")}))

    def fill(self, count):
        with self.client.writer(self.name) as writer:
            fill(writer, count)

    def samplers(self):
        """By sampler that the server remembers: True if it is connected."""
        request = self.client._link.request("Explain")(table=self.name)
        parties = self.client._link.call("Explain", request, "explaining").tables[0].parties
        return [party.connected for party in parties if party.kind == 2]

    def test_batches_of_any_size_come_from_one_sampler_which_draws_nothing_ahead(self):
        self.fill(100)
        taken = []
        for count in (20, 1, 7, 20, 2):
            batch = self.client.sample(self.name, count, timeout=PATIENCE)
            self.assertEqual((len(batch), len(batch["last"]), len(batch.keys)), (count, count, count))
            taken += batch["last"].tolist()
            table = self.client.table(self.name)
            self.assertEqual((table.items_sampled, table.samples_waiting), (len(taken), 0))
        self.assertEqual(taken, list(range(50)))
        self.assertEqual(self.samplers(), [True])

    def test_a_larger_batch_than_before_takes_the_place_of_the_sampler(self):
        self.fill(100)
        self.drain(self.client, self.name, 1)
        self.assertEqual(self.drain(self.client, self.name, 30), list(range(1, 31)))
        self.assertEqual(self.drain(self.client, self.name, 2), [31, 32])
        wait_until(lambda: sorted(self.samplers()) == [False, True], "the first one has ended")

    def test_a_call_that_timed_out_draws_nothing_later(self):
        self.fill(1)
        self.assertEqual(self.drain(self.client, self.name, 1), [0])
        for _ in range(2):
            with self.assertRaisesRegex(waggle.DeadlineExceeded, "no batch after 0.01 s"):
                self.client.sample(self.name, 1, timeout=0.01)
        wait_until(lambda: self.client.table(self.name).samples_waiting == 0, "nobody waits any more")
        self.fill(3)
        self.assertEqual(self.client.table(self.name).items_sampled, 1)
        self.assertEqual(self.drain(self.client, self.name, 3), [0, 1, 2])

    def test_threads_get_batches_of_their_own(self):
        self.fill(400)
        numbers = []

        def take(_):
            for _ in range(50):
                numbers.extend(self.drain(self.client, self.name, 2))

        in_threads(4, take)
        self.assertEqual(sorted(numbers), list(range(400)))
        self.assertLessEqual(sum(self.samplers()), 4)

    def test_the_sampler_ends_with_its_client(self):
        self.fill(10)
        for end in ("close", "__del__"):
            other = waggle.Client(self.server.address, timeout=PATIENCE)
            other.sample(self.name, 1)
            self.assertEqual(sum(self.samplers()), 1, end)
            if end == "close":
                other.close()
                with self.assertRaisesRegex(waggle.FailedPrecondition, "closed"):
                    other.sample(self.name, 1)
            del other
            gc.collect()
            wait_until(lambda: sum(self.samplers()) == 0, "the server knows of the end")

    def test_closing_the_client_ends_a_call_in_another_thread(self):
        self.fill(1)
        other = waggle.Client(self.server.address, timeout=PATIENCE)
        other.sample(self.name, 1)
        ended = self.begin(lambda: other.sample(self.name, 1))
        wait_until(lambda: self.client.table(self.name).samples_waiting > 0, "the call waits")
        self.soon(other.close)
        self.assertRaises(waggle.Cancelled, ended)

    def test_limits_that_are_changed_between_two_calls_hold(self):
        self.fill(5)
        self.drain(self.client, self.name, 1)
        config = self.client.table(self.name).table
        limiter = waggle.RateLimiter(min_items=10)
        self.client.reconfigure(dataclasses.replace(config, rate_limiter=limiter))
        with self.assertRaisesRegex(waggle.DeadlineExceeded, "min_items is 10"):
            self.client.sample(self.name, 1, timeout=0.01)


class PrioritiesTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.client.create_table(waggle.Table(self.name, COLUMNS, sampler=waggle.prioritized(1.0), max_items=10))
        with self.client.writer(self.name) as writer:
            fill(writer, 10)
        self.batch = self.client.sample(self.name, 10)  # Stratified with equal priorities: every item once.
        self.assertEqual(sorted(self.batch["number"].tolist()), list(range(10)))

    def test_priorities_may_have_the_shape_of_td_errors(self):
        errors = (self.batch["number"] == 4).astype(np.float32)[:, None]
        counts = self.client.update_priorities(self.name, self.batch.keys, self.batch.generations, errors)
        self.assertEqual((counts.applied, counts.stale, counts.unknown), (10, 0, 0))
        self.assertEqual(set(self.client.sample(self.name, 20)["number"].tolist()), {4})
        with self.client.priority_updater(self.name) as updater:
            updater.update(self.batch.keys, self.batch.generations, 1 - errors)
            self.assertEqual(updater.flush(PATIENCE).applied, 10)
        self.assertNotIn(4, self.client.sample(self.name, 20)["number"].tolist())

    def test_deleted_items_are_gone_and_their_updates_counted(self):
        odd = self.batch["number"] % 2 == 1
        keys, generations = self.batch.keys[odd], self.batch.generations[odd]
        counts = self.client.delete(self.name, keys, generations)
        self.assertEqual((counts.applied, counts.stale, counts.unknown), (5, 0, 0))
        self.assertEqual(set(self.client.sample(self.name, 50)["number"] % 2), {0})
        counts = self.client.update_priorities(self.name, self.batch.keys, self.batch.generations, np.ones(10))
        self.assertEqual((counts.applied, counts.stale + counts.unknown), (5, 5))

    def test_an_item_that_was_replaced_is_left_alone(self):
        with self.client.writer(self.name) as writer:
            fill(writer, 100, 110, priority=2.0)
        counts = self.client.update_priorities(self.name, self.batch.keys, self.batch.generations, np.zeros(10))
        self.assertEqual((counts.applied, counts.stale), (0, 10))
        self.assertTrue((self.client.sample(self.name, 10)["number"] >= 100).all())

    def test_many_updates_travel_in_several_requests(self):
        repeat = 30_000
        counts = self.client.update_priorities(
            self.name,
            np.tile(self.batch.keys, repeat),
            np.tile(self.batch.generations, repeat),
            np.full(10 * repeat, 3.0),
        )
        self.assertEqual(counts.applied, 10 * repeat)
        self.assertEqual(self.client.update_priorities(self.name, [], [], []).applied, 0)


if __name__ == "__main__":
    unittest.main()
