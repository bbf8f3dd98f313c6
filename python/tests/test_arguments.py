"""Malformed arguments: every public function refuses each of its arguments by name, before it sends a request. [e2e]"""

import dataclasses
import inspect
import unittest

import numpy as np
from support import COLUMNS, PATIENCE, ServerTest, queue_table, row

import waggle_client as waggle

TYPE, VALUE = waggle.InvalidType, waggle.InvalidArgument

# Malformed values by the wanted kind, each with its error.
TEXTS = [(5, TYPE), (None, TYPE), (b"m", TYPE), (["m"], TYPE)]
BOOLEANS = [("yes", TYPE), (1, TYPE), (None, TYPE), (0.0, TYPE), (np.zeros(2, bool), TYPE)]
NO_INTEGERS = [(2.5, TYPE), (2.0, TYPE), ("2", TYPE), (True, TYPE), (np.float32(2), TYPE), ([2], TYPE)]
COUNTS = [*NO_INTEGERS, (None, TYPE), (0, VALUE), (-1, VALUE), (np.int64(-3), VALUE)]
NO_NUMBERS = [("a", TYPE), ("1", TYPE), (True, TYPE), ([1.0], TYPE), (np.ones(1), TYPE), (1j, TYPE)]
NOT_FINITE = [(float("nan"), VALUE), (float("inf"), VALUE), (10**400, VALUE)]
NOT_NEGATIVE = [*NO_NUMBERS, *NOT_FINITE, (-0.5, VALUE)]
SHARES = [*NOT_NEGATIVE, (1.5, VALUE)]
TIMEOUTS = [*NO_NUMBERS, (-1, VALUE), (float("nan"), VALUE), (-1e-9, VALUE)]
IDS = [(5, TYPE), ("", VALUE), ("a b", VALUE), ("ä", VALUE), ("x" * 129, VALUE)]
NO_ARRAYS = [(None, TYPE), ("abc", TYPE), ([[1], [1, 2]], TYPE), ({}, TYPE)]
KEYS = [*NO_ARRAYS, (3, TYPE), ([1.5], TYPE), ([True], TYPE), ([[1]], TYPE), ([-1], VALUE), ([1, 2], VALUE)]
PRIORITIES = [*NO_ARRAYS, (3.0, TYPE), ([[1.0, 2.0]], TYPE), ([True], TYPE), ([float("nan")], VALUE), ([1, 2], VALUE)]
TABLES = [("m", TYPE), (None, TYPE), ({"name": "m"}, TYPE), (COLUMNS, TYPE)]
DICTIONARIES = [(5, TYPE), ("ab", TYPE), ([("a", 1)], TYPE), (None, TYPE)]
STACKS = COUNTS
FIELDS = {"column": TEXTS, "stack": STACKS}
RECENTS = [(5, TYPE), ({"share": 1}, TYPE), (0.5, TYPE)]

GOOD_TABLE = waggle.Table("m", COLUMNS)
ROW_OF_LANES = {"number": np.zeros(2, np.int64), "vector": np.zeros((2, 3), np.float32)}
ROWS = {"number": np.zeros(4, np.int64), "vector": np.zeros((4, 3), np.float32)}
UPDATE = {"keys": [1], "generations": [1], "priorities": [1.0]}


def begins(refused):
    """Malformed values of begins_episode for several rows."""
    return [("x", TYPE), (1.5, TYPE), ([0.5], TYPE), ([9], VALUE), ([-1], VALUE), ([[0]], VALUE), *refused]


# By function: the good arguments, and malformed values of every argument.
OF_A_CLIENT = {
    "create_table": (
        {"table": GOOD_TABLE},
        {"table": TABLES, "timeout": TIMEOUTS, "if_saved_differs": [(5, TYPE), ("drop", VALUE), (True, TYPE)]},
    ),
    "describe": ({}, {"timeout": TIMEOUTS}),
    "table": ({"name": "m"}, {"name": TEXTS, "timeout": TIMEOUTS}),
    "wait_for_table": ({"name": "m"}, {"name": TEXTS, "timeout": TIMEOUTS}),
    "reconfigure": (
        {"table": GOOD_TABLE, "generation": 0},
        {
            "table": TABLES,
            "dry_run": BOOLEANS,
            "generation": [*NO_INTEGERS, (-1, VALUE), (1 << 64, VALUE)],
            "timeout": TIMEOUTS,
        },
    ),
    "clear": ({"table": "m"}, {"table": TEXTS, "timeout": TIMEOUTS}),
    "checkpoint": ({}, {"timeout": TIMEOUTS}),
    "writer": (
        {"table": "m"},
        {
            "table": [(5, TYPE), (None, TYPE), ([], VALUE), ([5], TYPE), (["m", "m"], VALUE)],
            "writer_id": IDS,
            "block_bytes": [*COUNTS, (1 << 30, VALUE)],
            "max_delay": NOT_NEGATIVE,
            "max_unacknowledged_blocks": COUNTS,
            "max_unacknowledged_bytes": COUNTS,
            "timeout": TIMEOUTS,
        },
    ),
    "sampler": (
        {"table": "m", "batch_size": 4},
        {
            "table": TEXTS,
            "batch_size": [*COUNTS, (1 << 31, VALUE)],
            "prefetch": [*COUNTS, (1025, VALUE)],
            "timeout": TIMEOUTS,
            "sampler_id": IDS,
            "compression": [(5, TYPE), (None, TYPE), ("zip", VALUE)],
        },
    ),
    "sample": (
        {"table": "m", "batch_size": 4},
        {"table": TEXTS, "batch_size": [*COUNTS, (1 << 31, VALUE)], "timeout": TIMEOUTS},
    ),
    "update_priorities": (
        {"table": "m", **UPDATE},
        {"table": TEXTS, "keys": KEYS, "generations": KEYS, "priorities": PRIORITIES, "timeout": TIMEOUTS},
    ),
    "priority_updater": ({"table": "m"}, {"table": TEXTS}),
    "delete": (
        {"table": "m", "keys": [1], "generations": [1]},
        {"table": TEXTS, "keys": KEYS, "generations": KEYS, "timeout": TIMEOUTS},
    ),
    "close": ({}, {}),
}
CREATE_ITEM = (
    {},
    {
        "table": [(5, TYPE), (["m"], TYPE), ("elsewhere", VALUE)],
        "rows": [*COUNTS, (5, VALUE)],
        "priority": [*NO_NUMBERS, *NOT_FINITE, (-1, VALUE)],
        "first_row": [*NO_INTEGERS, (-1, VALUE), (99, VALUE)],
    },
)
APPEND = ({"row": row(1)}, {"row": DICTIONARIES, "begins_episode": BOOLEANS})
APPEND_ROWS = (
    {"columns": ROWS},
    {
        "columns": DICTIONARIES,
        "items": [(5, TYPE), ([0], TYPE), (None, TYPE)],
        "begins_episode": begins([([True], VALUE)]),
    },
)
OF_A_WRITER = {
    "stream": ({}, {}),
    "lanes": ({}, {"count": [*COUNTS, (1 << 20, VALUE)]}),
    "append": APPEND,
    "append_rows": APPEND_ROWS,
    "create_item": CREATE_ITEM,
    "set_policy_version": ({}, {"version": [*NO_INTEGERS, (None, TYPE), (-1, VALUE), (1 << 63, VALUE)]}),
    "flush": ({}, {"timeout": TIMEOUTS}),
    "stats": ({}, {}),
    "close": ({}, {"timeout": TIMEOUTS}),
}
OF_A_STREAM = {"append": APPEND, "append_rows": APPEND_ROWS, "create_item": CREATE_ITEM}
OF_LANES = {
    "append": ({"rows": ROW_OF_LANES}, {"rows": DICTIONARIES, "begins_episode": begins([([True], VALUE)])}),
    "create_items": (
        {},
        {
            "table": [(5, TYPE), (["m"], TYPE), ("elsewhere", VALUE)],
            "rows": [(None, TYPE), (1.5, TYPE), ("a", TYPE), ([1, 1, 1], VALUE), (0, VALUE), ([1, 5], VALUE)],
            "priorities": [("a", TYPE), ([True, True], TYPE), ([1.0], VALUE), (-1, VALUE), ([1, np.nan], VALUE)],
            "lanes": begins([([True], VALUE)]),
        },
    ),
}
OF_ITEMS = {
    "last_rows": [("a", TYPE), (0.5, TYPE), (0, VALUE), ([0.5], TYPE), ([[0]], VALUE), ([4], VALUE), ([-1], VALUE)],
    "rows": [(None, TYPE), (1.5, TYPE), ([1, 1], VALUE), (0, VALUE), (5, VALUE)],
    "priorities": [("a", TYPE), (True, TYPE), ([1.0, 1.0], VALUE), ([[1.0, 1.0]], VALUE), (-1, VALUE), (np.nan, VALUE)],
    "table": [(5, TYPE), ("elsewhere", VALUE)],
}
OF_A_SAMPLER = {"next": ({}, {"timeout": TIMEOUTS}), "stats": ({}, {}), "close": ({}, {})}
OF_AN_UPDATER = {
    "update": (UPDATE, {"keys": KEYS, "generations": KEYS, "priorities": PRIORITIES}),
    "flush": ({}, {"timeout": TIMEOUTS}),
    "counts": ({}, {}),
    "close": ({}, {"timeout": TIMEOUTS}),
}
OF_A_BATCH = {
    "importance_weights": ({}, {"beta": [*NO_NUMBERS, *NOT_FINITE], "largest_of": [(5, TYPE), ("all", VALUE)]})
}

_NAMED = {
    "name": [*TEXTS, ("", VALUE), ("a b", VALUE)],
    "columns": [
        *DICTIONARIES,
        ({"a": "float32"}, TYPE),
        ({5: waggle.Column("bool")}, TYPE),
        ({"a b": COLUMNS["number"]}, VALUE),
    ],
}
_OPTIONS = dict.fromkeys(("without_replacement", "independent_draws", "absolute"), BOOLEANS)
OF_NOTHING = {
    "Client": (
        {"address": "localhost:7001"},
        {
            "address": [
                *((address, TYPE) for address in (None, 7001, ("a", 1))),
                *((f"localhost:{port}", VALUE) for port in ("99999", "65536", "0", "-1", "x", "", "7001 ", "٣")),
                *(
                    (host, VALUE)
                    for host in ("", "localhost", ":7001", "a b:7001", "http://a:7001", "::1:7001", "[]:7")
                ),
            ],
            "timeout": TIMEOUTS,
            "tls": [(5, TYPE), (True, TYPE), ([], TYPE)],
            "token_file": [(5, TYPE), ([], TYPE), ("file", VALUE)],  # A token without tls.
            "server_name": [(5, TYPE), (b"name", TYPE)],
        },
    ),
    "Column": (
        {"dtype": "float32"},
        {
            "dtype": [("float31", VALUE), (None, TYPE), (5, TYPE), (complex, VALUE), ([], TYPE)],
            "shape": [(None, TYPE), ("34", TYPE), ((2.5,), TYPE), (2.0, TYPE), ((1 << 70,), VALUE), ([True], TYPE)],
        },
    ),
    "Field": ({"column": "number", "rows": "first"}, {**FIELDS, "rows": TEXTS}),
    "first": ({"column": "number"}, FIELDS),
    "last": ({"column": "number"}, FIELDS),
    "all_rows": ({"column": "number"}, FIELDS),
    "future": ({"column": "number"}, FIELDS),
    "Selector": (
        {"kind": "uniform"},
        {"kind": TEXTS, "options": [*DICTIONARIES, ({5: 1}, TYPE)]},
    ),
    "Recent": ({}, {"share": SHARES, "items": COUNTS, "decay": SHARES, "period": COUNTS}),
    "uniform": ({}, {"without_replacement": BOOLEANS, "recent": RECENTS}),
    "prioritized": (
        {},
        {"exponent": NOT_NEGATIVE, "epsilon": NOT_NEGATIVE, "uniform_share": SHARES, "recent": RECENTS, **_OPTIONS},
    ),
    **{name: ({}, {}) for name in ("fifo", "lifo", "min_heap", "max_heap")},
    "RateLimiter": (
        {},
        {
            "min_items": NO_INTEGERS,
            "samples_per_insert": NOT_NEGATIVE,
            "error_buffer": NOT_NEGATIVE,
            "min_difference": [*NO_NUMBERS, *NOT_FINITE],
            "max_difference": [*NO_NUMBERS, *NOT_FINITE],
        },
    ),
    "Table": (
        {"name": "m", "columns": COLUMNS},
        {
            **_NAMED,
            "view": [(5, TYPE), (["number"], TYPE), ({"x": "number"}, TYPE), ({5: waggle.first("number")}, TYPE)],
            **dict.fromkeys(("sampler", "remover"), [("uniform", TYPE), (None, TYPE), (waggle.fifo, TYPE)]),
            **dict.fromkeys(
                ("max_items", "max_bytes", "max_window", "transition_rows", "max_times_sampled", "memory_limit"),
                [*NO_INTEGERS, (1 << 63, VALUE)],
            ),
            "seed": [*NO_INTEGERS, (-1, VALUE), (1 << 64, VALUE)],
            "rate_limiter": [(5, TYPE), (None, TYPE), ({"min_items": 1}, TYPE)],
            "compression": [("lz4", TYPE), ({"vector": 5}, TYPE), ({5: "lz4"}, TYPE)],
            "durability": TEXTS,
            "future_row": TEXTS,
            "log_sync": BOOLEANS,
        },
    ),
    **dict.fromkeys(
        ("queue", "stack"),
        ({"name": "m", "columns": COLUMNS, "max_items": 5}, {**_NAMED, "max_items": COUNTS, "options": []}),
    ),
}
_MADE_BY_OTHERS = {"Sampler", "Writer", "Stream", "Lanes", "Batch", "PriorityUpdater"}
_TOLD = {  # Only the client makes these, but for Items, which are checked as they are appended.
    "Items", "Reconfiguration", "SamplerStats", "ServerInfo", "StorageInfo", "TableInfo", "UpdateCounts", "WriterStats",
}  # fmt: skip


def arguments(function):
    return {name for name in inspect.signature(function).parameters if name != "self"}


class ArgumentsTest(ServerTest):
    def refused(self, where, functions):
        """`where` has a function of each name."""
        for name, (good, malformed) in functions.items():
            for argument, values in malformed.items():
                for value, kind in values:
                    given = {**good, argument: value}
                    positional = (given.pop("items"),) if "items" in given and name == "append_rows" else ()
                    if positional:
                        positional = (given.pop("columns"), *positional)
                    with self.subTest(function=name, argument=argument, value=value):
                        with self.assertRaises(kind) as raised:
                            getattr(where, name)(*positional, **given)
                        self.check(raised.exception, argument, kind)

    def check(self, error, argument, kind):
        self.assertIs(type(error), kind)
        self.assertIsInstance(error, TypeError if kind is TYPE else ValueError)
        self.assertEqual((error.code, error.reason), ("INVALID_ARGUMENT", ""))
        # An error of a row names the column.
        self.assertRegex(str(error), rf"(?i)\b{argument}\b|column|a row is")
        self.assertNotRegex(str(error), "has type|protobuf|out of range|invalid literal|could not convert")

    def test_every_argument_of_every_function_is_in_the_tables(self):
        tables = {
            "Client": OF_A_CLIENT, "Writer": OF_A_WRITER, "Stream": OF_A_STREAM, "Lanes": OF_LANES,
            "Sampler": OF_A_SAMPLER, "PriorityUpdater": OF_AN_UPDATER, "Batch": OF_A_BATCH,
        }  # fmt: skip
        for name in waggle.__all__:
            public = getattr(waggle, name)
            if inspect.isclass(public) and issubclass(public, waggle.Error):
                continue
            with self.subTest(name):
                if name not in _MADE_BY_OTHERS | _TOLD:
                    self.assertEqual(set(OF_NOTHING[name][1]), arguments(public))
                for method, function in inspect.getmembers(public, inspect.isfunction):
                    if name in tables and not method.startswith("_"):
                        self.assertEqual(set(tables[name][method][1]), arguments(function), method)
        self.assertEqual(set(OF_ITEMS), {field.name for field in dataclasses.fields(waggle.Items)})

    def test_what_is_made_without_a_server(self):
        self.refused(waggle, OF_NOTHING)

    def test_calls_of_a_client_are_checked_before_anything_is_sent(self):
        # No server listens there: a request that is sent ends with another error.
        with waggle.Client("127.0.0.1:1", timeout=0) as client:
            self.refused(client, OF_A_CLIENT)
            with self.assertRaises(waggle.DeadlineExceeded):
                client.describe()

    def test_writers_streams_and_lanes(self):
        self.client.create_table(queue_table(self.name))
        writer = self.client.writer(self.name, max_delay=1000)
        writer.append(row(0))
        stream, lanes = writer.stream(), writer.lanes(2)
        stream.append(row(0))
        lanes.append(ROW_OF_LANES)
        self.refused(writer, {name: case for name, case in OF_A_WRITER.items() if name != "close"})
        self.refused(stream, OF_A_STREAM)
        self.refused(lanes, OF_LANES)
        for argument, values in OF_ITEMS.items():
            for value, kind in values:
                with self.subTest(argument=argument, value=value), self.assertRaises(kind) as raised:
                    stream.append_rows(ROWS, waggle.Items(**{"last_rows": [0], argument: value}))
                self.check(raised.exception, argument, kind)
        # The refusals have changed nothing.
        self.assertEqual((stream.next_row, lanes.next_row), (1, 1))
        writer.flush(PATIENCE)
        self.assertEqual(self.client.table(self.name).items, 0)
        self.refused(writer, {"close": OF_A_WRITER["close"]})
        writer.close()

    def test_samplers_batches_and_updaters(self):
        self.client.create_table(waggle.Table(self.name, COLUMNS))
        with self.client.writer(self.name) as writer:
            writer.append(row(0))
            writer.create_item()
        with self.client.sampler(self.name, 1) as sampler:
            self.refused(sampler, OF_A_SAMPLER)
            self.refused(sampler.next(PATIENCE), OF_A_BATCH)
        with self.client.priority_updater(self.name) as updater:
            self.refused(updater, OF_AN_UPDATER)

    def test_numbers_of_other_kinds_are_taken(self):
        self.client.create_table(queue_table(self.name, max_items=np.int32(100), max_window=np.uint8(4)))
        with self.client.writer(self.name, max_delay=np.float32(0.01), timeout=float("inf")) as writer:
            writer.append(row(0), begins_episode=np.bool_(True))
            writer.create_item(rows=np.int64(1), priority=np.float32(2), first_row=np.array(0))
            writer.create_item(priority=3)
            writer.create_item(priority=np.array(1.5))
            writer.set_policy_version(np.int64(3))
        batch = self.client.sample(self.name, np.int64(3), timeout=np.float64(PATIENCE))
        self.assertEqual(batch.priorities.tolist(), [2, 3, 1.5])
        self.assertEqual(waggle.Column("uint8", np.array([2, 3])).shape, (2, 3))
        self.assertEqual(waggle.Column("uint8", [np.int64(2)]), waggle.Column("uint8", 2))


if __name__ == "__main__":
    unittest.main()
