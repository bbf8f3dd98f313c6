"""Reading from the wire: encodings, and servers that send wrong messages. [grpc]"""

import concurrent.futures
import unittest

import grpc
import numpy as np

import waggle_client as waggle
from support import COLUMNS, PATIENCE, row, wait_until
from waggle_client import _table_proto, _wire
from waggle_client.batch import BatchLayout

SampleResponse = _wire.message("SampleResponse")
InsertResponse = _wire.message("InsertResponse")


class EncodingTest(unittest.TestCase):
    def test_data_is_split_off_without_being_parsed(self):
        header = SampleResponse(data_offset=300)
        header.batch.table_items = 7
        data = np.random.default_rng(0).bytes(1000)
        encoded = _wire.with_data(header, [data[:400], np.frombuffer(data[400:], np.uint8)], 1000)
        whole = SampleResponse.FromString(encoded)
        self.assertEqual((whole.data, whole.data_offset), (data, 300))
        for bytes_ in (encoded, whole.SerializeToString()):
            message, view = _wire.split_data(SampleResponse, bytes_)
            self.assertEqual(message, header)
            self.assertEqual(bytes(view), data)

    def test_data_that_is_not_the_last_field_is_found_as_well(self):
        encoded = SampleResponse(data=b"abc").SerializeToString() + SampleResponse(data_offset=5).SerializeToString()
        message, data = _wire.split_data(SampleResponse, encoded)
        self.assertEqual((message.data_offset, bytes(data)), (5, b"abc"))

    def test_packed_numbers_are_those_that_generated_code_writes(self):
        request_class = _wire.method("UpdatePriorities")[1]
        keys, priorities = np.array([1, 2**63, 3], np.uint64), np.array([0.5, 1e300, 0])
        encoded = b"".join(
            _wire.packed(request_class.DESCRIPTOR, name, array)
            for name, array in (("keys", keys), ("generations", keys[::-1]), ("priorities", priorities))
        )
        request = request_class.FromString(encoded)
        self.assertEqual(list(request.keys), keys.tolist())
        self.assertEqual(list(request.generations), keys[::-1].tolist())
        self.assertEqual(list(request.priorities), priorities.tolist())


class OddServer:
    """Answers Describe with one table, and streams with the given messages."""

    def __init__(self, answers):
        self._answers = answers
        self.config = waggle.Table("table", COLUMNS)
        self._server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
        described = _wire.message("DescribeResponse")()
        described.tables.add().config.CopyFrom(_table_proto.to_proto(self.config))
        stream = grpc.stream_stream_rpc_method_handler(self._stream)
        handlers = {
            "Describe": grpc.unary_unary_rpc_method_handler(lambda request, context: described.SerializeToString()),
            "Insert": stream,
            "Sample": stream,
        }
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("waggle.v1.ReplayService", handlers),)
        )
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def _stream(self, requests, context):
        next(requests)
        yield from self._answers
        for _ in requests:
            pass

    def close(self):
        self._server.stop(0).wait()


class OddServerTest(unittest.TestCase):
    def client_of(self, *answers):
        server = OddServer([answer if isinstance(answer, bytes) else answer.SerializeToString() for answer in answers])
        self.addCleanup(server.close)
        client = waggle.Client(server.address, timeout=PATIENCE)
        self.addCleanup(client.close)
        return client

    def opened(self, items=4):
        layout = BatchLayout(waggle.Table("table", COLUMNS), items)
        response = SampleResponse()
        response.opened.batch_bytes = layout.total_bytes
        for name, place in layout.places.items():
            field = response.opened.fields.add(offset=place.offset)
            _table_proto.specs_to_proto({name: place.spec}, _OneSpec(field.spec))
        return response, layout.total_bytes

    @staticmethod
    def piece(*parts, items=4, **header):
        """A batch's first piece."""
        header = SampleResponse(**header)
        header.batch.items = items
        return _wire.with_data(header, list(parts), sum(map(len, parts)))

    def sample(self, *answers):
        with self.client_of(*answers).sampler("table", 4) as sampler:
            return sampler.next(PATIENCE)

    def test_a_batch_as_it_should_be(self):
        opened, size = self.opened()
        batch = self.sample(opened, self.piece(bytes(size)))
        self.assertEqual(batch["number"].tolist(), [0] * 4)

    def test_a_layout_that_is_not_the_tables_is_refused(self):
        opened, _ = self.opened()
        opened.opened.fields[1].offset += 64
        with self.assertRaisesRegex(waggle.FailedPrecondition, "at byte 128 where .*vector.* at byte 64 is expected"):
            self.sample(opened)
        opened, _ = self.opened(items=5)
        with self.assertRaisesRegex(waggle.FailedPrecondition, r"int64\[5\].* where .*int64\[4\]"):
            self.sample(opened)

    def test_pieces_that_do_not_fit_are_refused(self):
        opened, _ = self.opened()
        short, odd = self.piece(bytes(8)), _wire.with_data(SampleResponse(data_offset=64), [bytes(8)], 8)
        for message, answers in {
            "not `opened`": [self.piece()],
            "that it has not begun": [opened, _wire.with_data(SampleResponse(), [bytes(8)], 8)],
            "sent 0 bytes": [opened, self.piece()],
            "sent 100000 bytes": [opened, self.piece(bytes(100_000))],
            "byte 64 of a batch; .* and byte 8 is the next": [opened, short, odd],
            "within another one": [opened, short, short],
            "of 3 items instead of 4": [opened, self.piece(bytes(8), items=3)],
            "what is no waggle.v1.SampleResponse": [b"\xff\xff\xff"],
            "no waggle.v1.SampleResponse": [b"\x0a\x7f"],
        }.items():
            client = self.client_of(*answers)
            with self.subTest(message), client.sampler("table", 4) as sampler:
                with self.assertRaisesRegex(waggle.Internal, message):
                    while True:
                        sampler.next(PATIENCE)

    def test_batches_that_were_not_asked_for_are_refused(self):
        opened, size = self.opened()
        client = self.client_of(opened, *[self.piece(bytes(size))] * 9)
        with client.sampler("table", 4, prefetch=8) as sampler:
            wait_until(lambda: sampler._core._failure is not None, "the ninth has come")
            with self.assertRaisesRegex(waggle.Internal, "more batches than"):
                for _ in range(9):
                    sampler.next(PATIENCE)

    def test_a_damaged_piece_is_noticed(self):
        try:
            import xxhash
        except ImportError:
            self.skipTest("xxhash is not installed")
        opened, size = self.opened()
        checksum = xxhash.xxh3_64_intdigest(bytes(size))
        self.assertEqual(len(self.sample(opened, self.piece(bytes(size), checksum=checksum))), 4)
        with self.assertRaises(waggle.DataLoss):
            self.sample(opened, self.piece(b"\x01", bytes(size - 1), checksum=checksum))

    def test_acknowledgements_of_what_was_not_sent_are_refused(self):
        opened, ack, far = InsertResponse(), InsertResponse(), InsertResponse()
        opened.opened.applied_sequence = 0
        ack.ack.applied_sequence = 17
        far.opened.applied_sequence = 3
        for message, kind, answers in (
            ("acknowledged block 17", waggle.Internal, [opened, ack]),
            ("not those of an insertion", waggle.Internal, [ack]),
            ("another writer uses its id", waggle.FailedPrecondition, [far]),
        ):
            writer = self.client_of(*answers).writer("table")
            with self.subTest(message), self.assertRaisesRegex(kind, message):
                writer.append(row(0))
                writer.flush(PATIENCE)


class _OneSpec:
    """Collects the one spec that is added."""

    def __init__(self, target):
        self._target = target

    def add(self):
        return self._target


if __name__ == "__main__":
    unittest.main()
