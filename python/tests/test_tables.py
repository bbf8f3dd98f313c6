"""Creating and describing tables. [e2e]"""

import dataclasses
import unittest

import numpy as np
from support import COLUMNS, ServerTest, fill, queue_table

import waggle_client as waggle


class TablesTest(ServerTest):
    def test_an_equal_table_may_be_created_again(self):
        table = queue_table(self.name)
        self.assertTrue(self.client.create_table(table))
        self.assertFalse(self.client.create_table(table))

    def test_the_order_in_which_columns_are_named_makes_no_difference(self):
        a, b = waggle.Column("float32"), waggle.Column("int64", (2,))
        names = [self.id() + "/1", self.id() + "/2"]
        self.client.create_table(waggle.Table(names[0], {"a": a, "b": b}, max_items=10))
        self.client.create_table(waggle.Table(names[1], {"b": b, "a": a}, max_items=10))
        self.assertFalse(self.client.create_table(waggle.Table(names[0], {"b": b, "a": a}, max_items=10)))
        with self.client.writer(names) as writer:
            writer.append({"b": [1, 2], "a": 3})
            for name in names:
                writer.create_item(name, priority=1)
        for name in names:
            self.assertEqual(self.client.sample(name, 1)["b"].tolist(), [[1, 2]])

    def test_a_table_that_others_created_with_its_columns_in_another_order_is_the_same_table(self):
        columns = {"b": waggle.Column("int64", (2,)), "a": waggle.Column("float32")}
        table = waggle.Table(self.name, columns, max_items=10)
        link = self.client._link
        self.assertTrue(link._create(table, ["b", "a"], ["b", "a"], link.deadline(None), None))
        self.assertFalse(self.client.create_table(dataclasses.replace(table, columns=dict(sorted(columns.items())))))
        with self.assertRaises(waggle.FailedPrecondition):
            self.client.create_table(dataclasses.replace(table, max_items=11))

    def test_a_different_table_of_the_name_is_refused_with_what_differs(self):
        self.client.create_table(queue_table(self.name, max_items=10))
        with self.assertRaisesRegex(waggle.FailedPrecondition, "max_items: .*10.*20") as refused:
            self.client.create_table(queue_table(self.name, max_items=20))
        self.assertEqual(refused.exception.reason, "other_configuration")

    def test_a_table_is_described_as_it_was_created(self):
        table = waggle.Table(
            self.name,
            columns={"a": waggle.Column(np.uint8, (2, 3)), "b": waggle.Column("bool"), "c": waggle.Column("float16")},
            view={"x": waggle.first("a"), "y": waggle.last("a"), "z": waggle.all_rows("b")},
            sampler=waggle.prioritized(exponent=0.7),
            max_items=1234,
            max_bytes=1 << 30,
            max_window=7,
            max_times_sampled=9,
            rate_limiter=waggle.RateLimiter(min_items=10, samples_per_insert=2.0),
            seed=5,
        )
        self.client.create_table(table)
        server = self.client.describe()
        self.assertGreater(server.max_memory_bytes, 0)
        self.assertGreater(server.seconds_running, 0)
        self.assertTrue(server.software_version)
        info = server.tables[self.name]
        self.assertEqual(info.table, table)
        self.assertEqual((info.items, info.items_inserted, info.blocked_because), (0, 0, ""))
        self.assertEqual(self.client.table(self.name), info)

    def test_every_option_of_a_table_is_kept(self):
        recent = waggle.Recent(share=0.5, items=10, decay=0.99, period=100)
        for i, (sampler, remover) in enumerate(
            (
                (waggle.uniform(recent=recent), waggle.uniform()),
                (waggle.uniform(without_replacement=True), waggle.max_heap()),
                (waggle.prioritized(0.0, epsilon=0.1, absolute=True), waggle.prioritized(exponent=0.5)),
                (waggle.prioritized(0.5, uniform_share=0.1, independent_draws=True), waggle.lifo()),
                (waggle.lifo(), waggle.min_heap()),
                (waggle.max_heap(), waggle.fifo()),
            )
        ):
            table = waggle.Table(
                f"{self.name}/{i}",
                COLUMNS,
                view={"stacked": waggle.last("vector", stack=4)},
                sampler=sampler,
                remover=remover,
                rate_limiter=waggle.RateLimiter(5, 2.0, min_difference=-10.0, max_difference=20.0),
            )
            self.client.create_table(table)
            self.assertEqual(self.client.table(table.name).table, table)
        for made in (waggle.queue(f"{self.name}/queue", COLUMNS, 10), waggle.stack(f"{self.name}/stack", COLUMNS, 10)):
            self.client.create_table(made)
            self.assertEqual(self.client.table(made.name).table, made)

    def test_a_table_in_use_is_reconfigured(self):
        table = queue_table(self.name, max_items=10)
        self.client.create_table(table)
        larger = dataclasses.replace(table, max_items=20)
        asked = self.client.reconfigure(larger, dry_run=True)
        self.assertRegex(asked.differences[0], "max_items: .*10.*20")
        self.assertEqual(self.client.table(self.name).table, table)
        changed = self.client.reconfigure(larger)
        self.assertEqual(changed.differences, asked.differences)
        info = self.client.table(self.name)
        self.assertEqual((info.table, info.config_generation), (larger, changed.config_generation))
        with self.assertRaisesRegex(waggle.Aborted, "chang"):
            self.client.reconfigure(table, generation=changed.config_generation + 7)
        with self.assertRaisesRegex(waggle.FailedPrecondition, "max_window"):
            self.client.reconfigure(dataclasses.replace(larger, max_window=9))

    def test_the_view_is_every_column_by_default(self):
        single = waggle.Table("t", COLUMNS)
        self.assertEqual(single.view, {"number": waggle.first("number"), "vector": waggle.first("vector")})
        windows = waggle.Table("t", COLUMNS, max_window=2)
        self.assertEqual(windows.view["number"], waggle.all_rows("number"))

    def test_impossible_tables_are_refused_by_column_or_setting(self):
        for message, options in {
            "max_items": dict(max_items=0),
            "sampler: got 'best'": dict(sampler=waggle.Selector("best")),
            "sampler: there is no option speed": dict(sampler=waggle.Selector("uniform", {"speed": 1})),
            "sampler: recent_items: got 2.5": dict(sampler=waggle.Selector("uniform", {"recent_items": 2.5})),
            "view: field x: no column named": dict(view={"x": waggle.first("nowhere")}),
            "rate_limiter.min_items": dict(rate_limiter=waggle.RateLimiter(min_items=0)),
            "compression: vector: got 'zip'": dict(compression={"vector": "zip"}),
            "durability: got 'always'": dict(durability="always"),
            "columns: a: float32.-1. has a negative dimension": dict(columns={"a": waggle.Column("float32", -1)}),
            "columns: a: uint8.1, .*1. has 9 dimensions": dict(columns={"a": waggle.Column("uint8", (1,) * 9)}),
        }.items():
            with self.subTest(message), self.assertRaisesRegex(waggle.InvalidArgument, message):
                self.client.create_table(waggle.Table(self.name, **{"columns": COLUMNS, **options}))

    def test_a_table_that_is_not_there_is_named_with_the_nearest(self):
        self.client.create_table(queue_table(self.name))
        for call in (
            lambda: self.client.writer(self.name + "s"),
            lambda: self.client.sampler(self.name + "s", 4),
            lambda: self.client.table(self.name + "s"),
        ):
            with self.assertRaisesRegex(waggle.NotFound, f'did you mean "{self.name}"'):
                call()
        with self.assertRaisesRegex(waggle.NotFound, "nowhere"):
            self.client.clear("nowhere")
        with self.assertRaises(LookupError):  # It is also one of Python's own errors.
            self.client.table("nowhere")

    def test_a_table_may_be_waited_for(self):
        with self.assertRaisesRegex(waggle.DeadlineExceeded, f'no table "{self.name}"'):
            self.client.wait_for_table(self.name, timeout=1.0)
        self.client.create_table(queue_table(self.name))
        self.assertEqual(self.client.wait_for_table(self.name).table.name, self.name)

    def test_clearing_says_how_many_items_there_were(self):
        self.client.create_table(queue_table(self.name))
        with self.client.writer(self.name) as writer:
            fill(writer, 10)
        self.assertEqual(self.client.clear(self.name), 10)
        self.assertEqual(self.client.table(self.name).items, 0)

    def test_a_closed_client_says_so(self):
        self.client.close()
        with self.assertRaisesRegex(waggle.FailedPrecondition, "closed"):
            self.client.describe()
        self.client.close()


if __name__ == "__main__":
    unittest.main()
