"""Samples equal the written rows, however these were cut into blocks; impossible values are refused by name. [e2e]"""

import gc
import importlib.util
import unittest
import warnings

import numpy as np
from support import COLUMNS, PATIENCE, ServerTest, fill, in_threads, queue_table, row, rows_of, wait_until

import waggle_client as waggle

VIEW = {
    "first": waggle.first("number"),
    "last": waggle.last("number"),
    "all": waggle.all_rows("number"),
    "vectors": waggle.all_rows("vector"),
}


class WritingTest(ServerTest):
    def check_windows(self, table, windows):
        """Checks that the queue holds these windows, as lists of the numbers of their rows."""
        longest = self.client.table(table).table.max_window
        with self.client.sampler(table, 1, timeout=PATIENCE) as sampler:
            for window in windows:
                batch = sampler.next()
                padded = window + [0] * (longest - len(window))
                self.assertEqual(batch.lengths[0], len(window))
                self.assertEqual((batch["first"][0], batch["last"][0]), (window[0], window[-1]))
                self.assertEqual(batch["all"][0].tolist(), padded)
                self.assertEqual(batch["vectors"][0].tolist(), [[float(number)] * 3 for number in padded])

    def test_windows_reach_back_over_chunks_and_blocks(self):
        self.client.create_table(queue_table(self.name, view=VIEW))
        windows = []
        # A row has 20 bytes: blocks of two rows.
        with self.client.writer(self.name, block_bytes=40) as writer:
            for number in range(50):
                writer.append(row(number))
                rows = number % 4 + 1
                if number >= 3:
                    writer.create_item(self.name, rows=rows, priority=1.0)
                    windows.append(list(range(number + 1 - rows, number + 1)))
            writer.flush(PATIENCE)
            self.assertEqual(writer.stats().items_inserted, len(windows))
        self.check_windows(self.name, windows)

    def test_rows_may_come_as_arrays_with_their_items(self):
        self.client.create_table(queue_table(self.name, view=VIEW))
        windows = []
        with self.client.writer(self.name, block_bytes=1000) as writer:
            writer.append(row(0))
            for begin in (1, 301):
                numbers = np.arange(begin, begin + 300)
                last_rows = np.arange(0, 300, 3)
                first = writer.append_rows(
                    rows_of(numbers),
                    waggle.Items(last_rows, rows=2, priorities=np.linspace(1, 2, 100)),
                )
                self.assertEqual(first, begin)
                windows += [[number - 1, number] for number in range(begin, begin + 300, 3)]
            writer.flush(PATIENCE)
            self.assertEqual(writer.stats().items_inserted, len(windows))
        self.check_windows(self.name, windows)

    def test_lanes_are_streams_of_their_own(self):
        self.client.create_table(queue_table(self.name, view=VIEW))
        windows = []
        for count in (1, 5):
            with self.client.writer(self.name, block_bytes=300) as writer:
                lanes = writer.lanes(count)
                for step in range(40):
                    numbers = np.arange(count) * 1000 + step
                    lanes.append(rows_of(numbers))
                    chosen = np.arange(count) % 2 == step % 2
                    if step >= 2:
                        lanes.create_items(rows=np.where(chosen, 3, 2)[chosen], lanes=chosen)
                        windows += [
                            [lane * 1000 + step + back for back in (-2, -1, 0)] for lane in np.flatnonzero(chosen)
                        ]
                self.assertEqual(lanes.next_row, 40)
        self.check_windows(self.name, windows)

    def check_stacks(self, table, windows, stacks):
        """Checks that the queue holds windows of these lists of numbers, each with the stack of its last row."""
        with self.client.sampler(table, 1, timeout=PATIENCE) as sampler:
            for window, stacked in zip(windows, stacks):
                batch = sampler.next()
                self.assertEqual(batch["stack"][0].tolist(), stacked)
                self.assertEqual((batch["first"][0], batch["last"][0]), (window[0], window[-1]))

    def test_stacks_reach_back_to_where_the_episode_begins(self):
        view = {**VIEW, "stack": waggle.last("number", stack=3)}
        lengths = (1, 2, 5, 9, 3)
        windows, stacks, begins, number = [], [], [], 0
        for length in lengths:
            begins.append(number)
            for back in range(length):
                windows.append([number - 1, number] if back else [number])
                stacks.append([max(number - 2, begins[-1]), max(number - 1, begins[-1]), number])
                number += 1

        self.client.create_table(queue_table(self.name, view=view))
        with self.client.writer(self.name, block_bytes=100) as writer:
            for i in range(number):
                writer.append(row(i), begins_episode=i in begins)
                writer.create_item(rows=1 if i in begins else 2)
        self.check_stacks(self.name, windows, stacks)

        name = self.name + "/arrays"
        self.client.create_table(queue_table(name, view=view))
        with self.client.writer(name, block_bytes=100) as writer:
            rows = np.where(np.isin(np.arange(number), begins), 1, 2)
            for begin, end in ((0, 7), (7, number)):
                writer.append_rows(
                    rows_of(np.arange(begin, end)),
                    waggle.Items(np.arange(end - begin), rows=rows[begin:end]),
                    begins_episode=np.isin(np.arange(begin, end), begins),
                )
        self.check_stacks(name, windows, stacks)

        name = self.name + "/lanes"
        self.client.create_table(queue_table(name, view=view))
        with self.client.writer(name, block_bytes=100) as writer:
            lanes = writer.lanes(2)
            for i in range(number):
                lanes.append(rows_of([i, i + 1000]), begins_episode=[i in begins, i == 0])
                lanes.create_items(rows=[1 if i in begins else 2], lanes=[0])
        self.check_stacks(name, windows, stacks)

    def test_no_window_reaches_over_the_beginning_of_an_episode(self):
        self.client.create_table(queue_table(self.name, view=VIEW))
        with self.client.writer(self.name) as writer:
            writer.append(row(0))
            writer.append(row(1), begins_episode=True)
            with self.assertRaisesRegex(waggle.InvalidArgument, "an episode that began with row 1"):
                writer.create_item(rows=2)
            with self.assertRaisesRegex(waggle.InvalidArgument, "entry 1: its window of 2 rows begins before its ep"):
                writer.append_rows(rows_of([2, 3]), waggle.Items([0, 1], rows=2), begins_episode=[1])
            lanes = writer.lanes(2)
            for number in range(2):
                lanes.append(rows_of([number, number]), begins_episode=[True, number == 0])
            with self.assertRaisesRegex(waggle.InvalidArgument, "lane 0 has 1 rows in its episode; 2 were"):
                lanes.create_items(rows=2)
            lanes.create_items(rows=2, lanes=[1])

    def test_an_item_without_a_priority_gets_the_highest(self):
        table = waggle.Table(self.name, COLUMNS, sampler=waggle.prioritized(1.0))
        self.client.create_table(table)
        with self.client.writer(self.name) as writer:
            for number, priority in enumerate((None, 5.0, None, 2.0, 3.0, None)):
                writer.append(row(number))
                writer.create_item(priority=priority)
            writer.append_rows(rows_of([6, 7]), waggle.Items([0, 1], priorities=[7.0, 4.0]))
            writer.append_rows(rows_of([8]), waggle.Items([0]))
            lanes = writer.lanes(1)
            lanes.append(rows_of([9]))
            lanes.create_items()
        seen = {}
        for _ in range(20):
            batch = self.client.sample(self.name, 50)
            seen.update(zip(batch["number"].tolist(), batch.priorities.tolist()))
        self.assertEqual(seen, dict(enumerate([1.0, 5.0, 5.0, 2.0, 3.0, 5.0, 7.0, 4.0, 7.0, 7.0])))

    def test_priorities_may_be_negative_where_magnitudes_count(self):
        self.client.create_table(waggle.Table(self.name, COLUMNS, sampler=waggle.prioritized(1.0, absolute=True)))
        with self.client.writer(self.name) as writer:
            for number in range(3):
                writer.append(row(number))
                writer.create_item(priority=-float(number))
        batch = self.client.sample(self.name, 30)
        self.assertEqual(set(batch["number"].tolist()), {1, 2})
        counts = self.client.update_priorities(self.name, batch.keys, batch.generations, np.full(30, -3.0))
        self.assertEqual(counts.applied, 30)

    def test_streams_of_threads_do_not_mix(self):
        self.client.create_table(queue_table(self.name, view=VIEW))
        with self.client.writer(self.name, block_bytes=500) as writer:

            def write(thread):
                stream = writer.stream()
                for number in range(500):
                    stream.append(row(10_000 * thread + number))
                    if number > 0:
                        stream.create_item(rows=2)

            in_threads(4, write)
        with self.client.sampler(self.name, 4 * 499, timeout=PATIENCE) as sampler:
            batch = sampler.next()
        self.assertTrue(np.array_equal(batch["last"], batch["first"] + 1))
        wanted = {10_000 * i + number for i in range(4) for number in range(1, 500)}
        self.assertEqual(set(batch["last"].tolist()), wanted)

    def test_every_element_type_comes_back_as_it_was(self):
        random = np.random.default_rng(3)
        dtypes = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
        columns = {dtype: waggle.Column(dtype, (3, 5)) for dtype in dtypes}
        columns |= {f"{dtype}/scalar": waggle.Column(dtype) for dtype in dtypes}
        columns["nothing"] = waggle.Column("float32", (0, 2))
        rows = {
            name: (random.uniform(-1, 1, (64, *column.shape)) * 100).astype(column.dtype)
            for name, column in columns.items()
        }
        table = waggle.Table(self.name, columns, sampler=waggle.fifo(), max_times_sampled=1)
        self.client.create_table(table)
        with self.client.writer(self.name) as writer:
            for i in range(64):
                writer.append({name: column[i] for name, column in rows.items()})
                writer.create_item()
        batch = self.client.sample(self.name, 64)
        for name, column in rows.items():
            self.assertEqual(batch[name].dtype, column.dtype)
            self.assertTrue(np.array_equal(batch[name], column), name)

    def test_bfloat16_works_where_numpy_has_it(self):
        try:
            import ml_dtypes
        except ImportError:
            self.client.create_table(waggle.Table(self.name, {"a": waggle.Column("bfloat16")}))
            with self.assertRaisesRegex(waggle.InvalidArgument, "ml_dtypes"):
                self.client.writer(self.name)
            return
        columns = {"a": waggle.Column("bfloat16", (4,)), "b": waggle.Column(ml_dtypes.bfloat16)}
        self.client.create_table(waggle.Table(self.name, columns))
        with self.client.writer(self.name) as writer:
            writer.append({"a": np.array([1, 2, 3, 4], ml_dtypes.bfloat16), "b": 0.5})
            writer.create_item()
            with self.assertRaisesRegex(waggle.InvalidArgument, '"a".*finite'):
                writer.append({"a": np.array([1, np.nan, 3, 4], ml_dtypes.bfloat16), "b": 0.5})
        batch = self.client.sample(self.name, 1)
        self.assertEqual(batch["a"].astype(np.float32).tolist(), [[1, 2, 3, 4]])
        self.assertEqual(batch["b"].astype(np.float32).tolist(), [0.5])

    def test_compressed_columns_come_back_as_they_were(self):
        columns = {"zeros": waggle.Column("uint8", (500,)), "noise": waggle.Column("uint8", (500,)), **COLUMNS}
        rows = {
            "zeros": np.zeros((60, 500), np.uint8),
            "noise": np.random.default_rng(0).integers(0, 256, (60, 500), np.uint8),
            "number": np.arange(60),
            "vector": np.ones((60, 3), np.float32),
        }
        for codec in ("lz4", "zstd"):
            name = f"{self.name}/{codec}"
            compression = {"zeros": codec, "noise": codec, "number": codec}
            table = waggle.Table(
                name, columns, sampler=waggle.fifo(), max_times_sampled=1, compression=compression, max_window=2
            )
            self.client.create_table(table)
            with self.client.writer(name, block_bytes=3000) as writer:
                lanes = writer.lanes(2)
                stream = writer.stream()
                for i in range(60):
                    both = {column: np.stack([values[i], values[i]]) for column, values in rows.items()}
                    lanes.append(both, begins_episode=np.array([i % 7 == 0, False]))
                    stream.append({column: values[i] for column, values in rows.items()}, begins_episode=i % 5 == 0)
                    lanes.create_items(lanes=[1])
                    stream.create_item()
            if importlib.util.find_spec({"lz4": "lz4", "zstd": "zstandard"}[codec]) is not None:
                self.assertLess(self.client.table(name).bytes, 180 * 750)  # Half of a row's bytes are zeros.
            batch = self.client.sample(name, 120)
            self.assertEqual(batch["number"][:, 0].tolist(), np.repeat(np.arange(60), 2).tolist())
            for column in ("zeros", "noise", "vector"):
                self.assertTrue(np.array_equal(batch[column][:, 0], np.repeat(rows[column], 2, axis=0)))

    def test_one_writer_fills_several_tables(self):
        names = [f"{self.name}/{i}" for i in range(2)]
        for name in names:
            self.client.create_table(queue_table(name, view=VIEW))
        with self.client.writer(names) as writer:
            for number in range(10):
                writer.append(row(number))
                writer.create_item(names[number % 2])
            with self.assertRaisesRegex(waggle.InvalidArgument, "wanted one of this writer's"):
                writer.create_item(rows=1)
        self.assertEqual(self.drain(self.client, names[0], 5), [0, 2, 4, 6, 8])
        self.assertEqual(self.drain(self.client, names[1], 5), [1, 3, 5, 7, 9])
        self.client.create_table(waggle.Table(f"{self.name}/other", {"a": waggle.Column("int64")}))
        with self.assertRaisesRegex(waggle.InvalidArgument, "equal columns"):
            self.client.writer([names[0], f"{self.name}/other"])

    def test_items_travel_without_a_flush(self):
        self.client.create_table(queue_table(self.name, view=VIEW))
        with self.client.writer(self.name) as writer:
            writer.append(row(7))
            writer.create_item()
            self.assertEqual(self.drain(self.client, self.name, 1), [7])

    def test_a_writer_lives_as_long_as_its_streams_and_reports_dropped_rows(self):
        self.client.create_table(queue_table(self.name, view=VIEW))
        stream = self.client.writer(self.name, max_delay=0).stream()
        lanes = self.client.writer(self.name, max_delay=0).lanes(1)
        gc.collect()
        stream.append(row(7))
        stream.create_item()
        self.assertEqual(self.drain(self.client, self.name, 1), [7])
        lanes.append(rows_of([8]))
        lanes.create_items()
        self.assertEqual(self.drain(self.client, self.name, 1), [8])
        del stream, lanes
        writer = self.client.writer(self.name, max_delay=1000)
        writer.append(row(9))
        with self.assertLogs("waggle_client", "WARNING") as logs:
            holder = [writer]
            holder.append(holder)  # A cycle, which only the collector frees.
            del writer, holder
            gc.collect()
        self.assertRegex(logs.output[0], "dropped without close")

    def test_the_policy_version_is_that_of_its_rows(self):
        self.client.create_table(queue_table(self.name, view=VIEW))
        with self.client.writer(self.name) as writer:
            for number in range(6):
                writer.set_policy_version(10 + number // 3)
                writer.append(row(number))
                writer.create_item()
        batch = self.client.sample(self.name, 6)
        self.assertEqual(batch.policy_versions.tolist(), [10, 10, 10, 11, 11, 11])

    def test_a_bad_row_is_refused_by_column_and_changes_nothing(self):
        self.client.create_table(queue_table(self.name, view=VIEW))
        good = row(1)
        cases = {
            'column "vector": got float32.2.; wanted is float32.3.': {**good, "vector": np.zeros(2, np.float32)},
            'column "vector": got complex64': {**good, "vector": np.zeros(3, np.complex64)},
            'column "vector": element .1. is nan': {**good, "vector": np.array([0, np.nan, 0], np.float32)},
            'column "vector": element .2. is inf': {**good, "vector": [0.0, 0.0, 1e300]},
            'column "vector": got str': {**good, "vector": "abc"},
            'column "number": got float64, which would lose': {**good, "number": 1.5},
            'column "number": .* is not in': {**good, "number": 1 << 70},
            'column "vector" is missing': {"number": 1},
            'no column "vectr"; did you mean "vector"': {"number": 1, "vectr": 0},
            "a row is a dictionary": [1, 2],
        }
        with self.client.writer(self.name) as writer:
            writer.append(good)
            for message, bad in cases.items():
                with self.subTest(message), self.assertRaisesRegex(waggle.InvalidArgument, message):
                    writer.append(bad)
            with self.assertRaisesRegex(waggle.InvalidArgument, 'column "vector": element .5, 1. is nan'):
                vectors = np.zeros((10, 3), np.float32)
                vectors[5, 1] = np.nan
                writer.append_rows({"number": np.arange(10), "vector": vectors})
            writer.append(row(2))
            writer.create_item(rows=2)
        self.check_windows(self.name, [[1, 2]])

    def test_a_bad_item_is_refused_with_what_is_possible(self):
        self.client.create_table(queue_table(self.name, view=VIEW))
        with self.client.writer(self.name) as writer:
            with self.assertRaisesRegex(waggle.InvalidArgument, "which has 0"):
                writer.create_item()
            for number in range(10):
                writer.append(row(number))
            for message, first_row in (("newest 4 rows", 5), ("which has 10", 9)):
                with self.assertRaisesRegex(waggle.InvalidArgument, message):
                    writer.create_item(rows=2, first_row=first_row)
            writer.create_item(rows=2, first_row=6)
        self.check_windows(self.name, [[6, 7]])

    def test_waiting_for_room_says_what_for(self):
        limiter = waggle.RateLimiter(min_items=1, samples_per_insert=1.0, error_buffer=10)
        self.client.create_table(queue_table(self.name, view=VIEW, rate_limiter=limiter))
        writer = self.client.writer(self.name, block_bytes=100, max_unacknowledged_blocks=2, timeout=0.2)
        created = 0
        with self.assertRaisesRegex(waggle.DeadlineExceeded, f'no room.*table "{self.name}".*inserts wait'):
            while True:
                writer.append(row(created))
                writer.create_item()
                created += 1
        waited = writer.stats().seconds_waited
        self.assertGreaterEqual(waited, 0.2)
        with self.assertRaisesRegex(TimeoutError, "not acknowledged.*inserts wait"):
            writer.flush(timeout=0.2)
        self.assertEqual(writer.stats().seconds_waited, waited)
        # Inserts go on once items are sampled.
        with self.client.sampler(self.name, 1, prefetch=16) as sampler:
            for _ in range(created):
                sampler.next(PATIENCE)
            writer.flush(PATIENCE)
        writer.close()

    def test_close_reports_blocks_without_an_acknowledgement_and_ends(self):
        limiter = waggle.RateLimiter(min_items=1, samples_per_insert=1.0, error_buffer=3)
        self.client.create_table(queue_table(self.name, view=VIEW, rate_limiter=limiter))
        writer = self.client.writer(self.name)
        fill(writer, 20)
        with self.assertRaisesRegex(
            waggle.DeadlineExceeded, "1 blocks .*1 blocks with 20 items were sent: .* may yet.*twice.*waggle why.*0 are"
        ) as raised:
            self.soon(lambda: writer.close(timeout=0.2))
        self.assertNotIn("lost", str(raised.exception))
        writer.close()
        with self.assertRaisesRegex(waggle.FailedPrecondition, "closed"):
            writer.append(row(0))

    def test_close_reports_rows_that_were_never_sent(self):
        limiter = waggle.RateLimiter(min_items=1, samples_per_insert=1.0, error_buffer=3)
        self.client.create_table(queue_table(self.name, view=VIEW, rate_limiter=limiter))
        writer = self.client.writer(self.name, block_bytes=1, max_unacknowledged_blocks=1, max_delay=0, timeout=0.1)

        def fill():
            with self.assertRaisesRegex(waggle.DeadlineExceeded, "no room"):
                while True:
                    writer.append(row(0))
                    writer.create_item()

        fill()
        wait_until(lambda: self.client.table(self.name).inserts_waiting > 0, "the server waits with a block")
        fill()
        with self.assertRaisesRegex(
            waggle.DeadlineExceeded, "in none, were never sent and are lost; 1 blocks with . items were sent"
        ):
            writer.close(timeout=0)

    def test_numpy_scalars_of_every_width_are_taken_or_refused_by_row(self):
        dtypes = {"wide": "float64", "narrow": "float32", "whole": "int64"}
        columns = {name: waggle.Column(dtype) for name, dtype in dtypes.items()}
        self.client.create_table(waggle.Table(self.name, columns, sampler=waggle.fifo(), max_times_sampled=1))
        floats = (np.float16, np.float32, np.float64, np.longdouble)
        wholes = (np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64, np.bool_)
        # NumPy 2's way of comparing a scalar to a Python number. Before 1.24 and from 2.2 on there is only one way.
        promote = getattr(np, "_set_promotion_state", None)
        if promote is not None:
            self.addCleanup(promote, np._get_promotion_state())
        rows = 0
        with self.client.writer(self.name) as writer, warnings.catch_warnings():
            warnings.simplefilter("error")
            for state in ("legacy", "weak") if promote is not None else ("",):
                if promote is not None:
                    promote(state)
                good = {"wide": 1.0, "narrow": 1.0, "whole": 1}
                for make in (lambda value: value, np.array):  # Scalars, and arrays without dimensions.
                    for kind in (*floats, *wholes):
                        value = make(kind(1))
                        writer.append({"wide": value, "narrow": value, "whole": value if kind in wholes else 1})
                        writer.create_item(priority=value if kind is not np.bool_ else 1)
                        rows += 1
                    for kind in floats:
                        for bad in ("inf", "-inf", "nan"):
                            for column in ("wide", "narrow"):
                                with self.assertRaisesRegex(waggle.InvalidArgument, f'"{column}".*(inf|nan)'):
                                    writer.append({**good, column: make(kind(bad))})
                            with self.assertRaisesRegex(waggle.InvalidArgument, "priority: .*(inf|nan).*finite"):
                                writer.create_item(priority=make(kind(bad)))
                    for column, bad in (("narrow", np.float64(1e39)), ("whole", np.uint64(1 << 63))):
                        with self.assertRaisesRegex(waggle.InvalidArgument, f'"{column}"'):
                            writer.append({**good, column: make(bad)})
                huge = np.array([np.longdouble(np.finfo(np.float64).max) * 2])  # Infinite as float64, or as longdouble.
                with self.assertRaisesRegex(waggle.InvalidArgument, "priorities: entry 0 is inf.*finite"):
                    writer.append_rows({name: [1] for name in columns}, waggle.Items([0], priorities=huge))
                with self.assertRaisesRegex(waggle.InvalidArgument, "priorities: entry 0 is inf.*finite"):
                    self.client.update_priorities(self.name, [1], [1], huge)
        batch = self.client.sample(self.name, rows)
        self.assertEqual([set(batch[name].tolist()) for name in columns], [{1}] * 3)

    def test_a_priority_whose_power_is_too_large_for_the_server_is_refused_alone(self):
        for exponent, absolute, epsilon, good, bad in (
            (1.0, False, 0.0, 9.9e289, 1.1e290),
            (2.0, True, 1.0, -9.9e144, -1.1e145),
            (0.5, False, 0.0, 1.7e308, None),
            (0.941, False, 0.0, 1e308, None),
            (0.942, False, 0.0, 7e307, 1e308),
        ):
            name = f"{self.name}/{exponent}"
            sampler = waggle.prioritized(exponent, epsilon=epsilon, absolute=absolute)
            self.client.create_table(waggle.Table(name, COLUMNS, sampler=sampler))
            with self.client.writer(name) as writer:
                writer.append(row(0))
                writer.create_item(priority=good)
                if bad is not None:
                    wanted = f'priority_exponent of table "{name}" the most is'
                    with self.assertRaisesRegex(waggle.InvalidArgument, f"priority: .*{wanted}"):
                        writer.create_item(priority=bad)
                    with self.assertRaisesRegex(waggle.InvalidArgument, f"priorities: entry 0 is .*{wanted}"):
                        writer.append_rows(rows_of([1]), waggle.Items([0], priorities=bad))
            self.assertEqual(self.client.table(name).items, 1)

    def test_priorities_may_have_the_shape_of_td_errors(self):
        self.client.create_table(queue_table(self.name, view=VIEW))
        with self.client.writer(self.name) as writer:
            writer.append_rows(
                rows_of([0, 1, 2]),
                waggle.Items([0, 1, 2], priorities=np.array([[1.0], [2.0], [3.0]], np.float32)),
            )
            lanes = writer.lanes(2)
            lanes.append(rows_of([3, 4]))
            lanes.create_items(priorities=[[4.0], [5.0]])
            with self.assertRaisesRegex(waggle.InvalidArgument, "priorities: got float64.2, 2."):
                lanes.create_items(priorities=np.ones((2, 2)))
        self.assertEqual(self.client.sample(self.name, 5).priorities.tolist(), [1.0, 2.0, 3.0, 4.0, 5.0])

    def test_an_error_within_a_with_block_is_not_masked(self):
        self.client.create_table(queue_table(self.name, view=VIEW))
        with self.assertRaises(ZeroDivisionError):
            with self.client.writer(self.name) as writer:
                writer.append(row(3))
                writer.create_item()
                raise ZeroDivisionError
        self.assertEqual(self.drain(self.client, self.name, 1), [3])  # The earlier item has been inserted.

    def test_a_second_writer_of_an_id_is_refused(self):
        self.client.create_table(queue_table(self.name, view=VIEW))
        with self.client.writer(self.name, writer_id="the-one") as writer:
            writer.append(row(0))
            writer.create_item()
            writer.flush(PATIENCE)
            second = self.client.writer(self.name, writer_id="the-one")
            with self.assertRaisesRegex(waggle.FailedPrecondition, "another writer has this id"):
                second.append(row(0))  # This may raise already.
                second.flush(PATIENCE)
            second.close()  # Does not raise again.


if __name__ == "__main__":
    unittest.main()
