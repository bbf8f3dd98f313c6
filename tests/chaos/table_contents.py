"""The items of a recorded table, as a replay server exports them."""

from collections import defaultdict

import grpc
import numpy

import recorded_tables
import wire


def read(messages, address, table, timeout):
    """A list of pairs for the items of `table`: the item's number, and True if all of its rows are right."""
    with wire.channel(address) as channel:
        grpc.channel_ready_future(channel).result(timeout)
        export = messages.stub(channel, "ReplayService/Export")
        streams = defaultdict(dict)  # Of each stream, its rows by their index.
        found = []
        for answer in export(messages.message("ExportRequest")(table=table), timeout=timeout):
            if answer.WhichOneof("kind") == "block":
                found += _items(answer.block, answer.data, streams)
        return found


def _items(block, data, streams):
    rows = sum(block.chunk_rows)
    numbers = numpy.frombuffer(data, "<i8", rows)
    payloads = numpy.frombuffer(data, numpy.uint8, offset=8 * rows).reshape(rows, recorded_tables.PAYLOAD)
    position = 0
    for stream, first, count in zip(block.chunk_stream, block.chunk_first_row, block.chunk_rows):
        for i in range(count):
            streams[stream][first + i] = (int(numbers[position + i]), payloads[position + i].tobytes())
        position += count
    for stream, first, count in zip(block.item_stream, block.item_first_row, block.item_rows):
        window = [streams[stream].get(first + i, (None, b"")) for i in range(count)]
        number = window[-1][0]
        right = 1 <= count <= recorded_tables.WINDOW and number is not None and all(
            row[0] == number - count + 1 + i and recorded_tables.row_is_right(row[0], row[1])
            for i, row in enumerate(window))
        yield (-1 if number is None else number, right)
