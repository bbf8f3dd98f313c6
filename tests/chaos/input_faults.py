"""Faults of clients: requests that come twice, out of order, damaged, too large, or with NaN. Each must be refused, and
must change nothing."""

import grpc
import numpy

import wire
from chaos_context import Skipped

CODES = grpc.StatusCode
REFUSALS = (CODES.INVALID_ARGUMENT, CODES.FAILED_PRECONDITION, CODES.NOT_FOUND, CODES.RESOURCE_EXHAUSTED, CODES.DATA_LOSS)
# The server may be stopped, or its connection broken, by another fault.
AWAY = (CODES.UNAVAILABLE, CODES.DEADLINE_EXCEEDED, CODES.CANCELLED)
TABLE = "chaos_input"
ROWS = 2  # Of a block.


class Intruder:
    """Raw requests to one replay server, about a table of their own."""

    def __init__(self, chaos, target, channel, rng):
        self.chaos, self.target, self.random = chaos, target, rng
        self._channel = channel
        self._life = chaos.pool[target].lives
        self.message = chaos.messages.message
        self._create()

    def call(self, method, request, timeout=20, raw=False, **more):
        return self.chaos.messages.stub(self._channel, f"ReplayService/{method}", raw)(request, timeout=timeout, **more)

    def _create(self):
        request = self.message("CreateTableRequest")()
        self._configure(request.config, TABLE)
        self.call("CreateTable", request, wait_for_ready=True)

    def _configure(self, config, name):
        kinds = self.chaos.messages.enum("SelectorKind")
        types = self.chaos.messages.enum("DataType")
        config.name = name
        for column, kind in (("number", "DATA_TYPE_INT64"), ("value", "DATA_TYPE_FLOAT32")):
            config.signature.add(name=column, dtype=types[kind])
            config.view.add(name=column, column=column, rows=2)
        config.sampler.kind = config.remover.kind = kinds["SELECTOR_KIND_FIFO"]
        config.rate_limiter.min_items = 1
        config.max_items, config.max_window = 1000, 4
        config.max_bytes = 1 << 30

    def state(self):
        """The items of the table, and all that were ever inserted."""
        for info in self.call("Describe", self.message("DescribeRequest")()).tables:
            if info.config.name == TABLE:
                return info.items, info.items_inserted
        return 0, 0

    def open(self, name=None, incarnation=None):
        request = self.message("InsertRequest")()
        request.open.writer_id = name or f"intruder-{self.random.randrange(1 << 60)}"
        request.open.tables.append(TABLE)
        types = self.chaos.messages.enum("DataType")
        request.open.signature.add(name="number", dtype=types["DATA_TYPE_INT64"])
        request.open.signature.add(name="value", dtype=types["DATA_TYPE_FLOAT32"])
        request.open.incarnation = incarnation or self.random.randrange(1, 1 << 60)
        return request

    def block(self, sequence, first_row, values=(0.5,) * ROWS, priority=1.0):
        request = self.message("InsertRequest")()
        block = request.block
        block.sequence = sequence
        block.chunk_stream.append(0)
        block.chunk_first_row.append(first_row)
        block.chunk_rows.append(len(values))
        block.item_stream.append(0)
        block.item_first_row.append(first_row)
        block.item_rows.append(len(values))
        block.item_priority.append(priority)
        numbers = numpy.arange(first_row, first_row + len(values), dtype="<i8")
        request.data = numbers.tobytes() + numpy.asarray(values, "<f4").tobytes()
        return request

    def insert(self, requests):
        """The code with which the server ends this stream; OK if it takes all."""
        try:
            list(self.call("Insert", iter(requests)))
            return CODES.OK, ""
        except grpc.RpcError as error:
            return error.code(), error.details()

    def same_life(self):
        process = self.chaos.pool[self.target]
        return process.alive and process.lives == self._life

    def expect(self, what, got, wanted):
        if got[0] not in (*wanted, *AWAY) and self.same_life():
            self.chaos.violation(f"{self.target}: {what}: got {got[0].name} ({got[1]}); wanted "
                                 f"{' or '.join(code.name for code in wanted)}")

    def expect_unchanged(self, before, what, more=0):
        after = self.state()
        if self.same_life() and after[1] != before[1] + more:
            self.chaos.violation(f"{self.target}: {what}: {after[1] - before[1]} items were inserted; wanted {more}")


def _with_intruder(chaos, target, rng, act):
    if not chaos.pool[target].alive:
        raise Skipped(f"{target} does not live just now")
    try:
        with wire.channel(chaos.pool.address[target]) as channel:
            return act(Intruder(chaos, target, channel, rng))
    except grpc.RpcError as error:
        if error.code() in AWAY:
            raise Skipped(f"{target} is away") from None
        raise


def repeated_blocks(chaos, target, _seconds, rng):
    """A block comes 200 times, then one out of order, one with a gap, and one of another writer of that name."""

    def act(intruder):
        before = intruder.state()
        opening = intruder.open()
        first = intruder.block(1, 0)
        got = intruder.insert([opening, *[first] * 200])
        intruder.expect("a block that comes 200 times", got, (CODES.OK,))
        if got[0] == CODES.OK:
            intruder.expect_unchanged(before, "a block that comes 200 times", more=1)
        opening = intruder.open()
        blocks = [intruder.block(1, 0), intruder.block(rng.randint(3, 9), ROWS)]
        intruder.expect("a block after a gap", intruder.insert([opening, *blocks]), (CODES.FAILED_PRECONDITION,))
        opening = intruder.open()
        blocks = [intruder.block(1, 0), intruder.block(2, 10)]
        intruder.expect("rows after a gap", intruder.insert([opening, *blocks]), (CODES.INVALID_ARGUMENT,))
        intruder.expect("a block before the opening", intruder.insert([first]), (CODES.INVALID_ARGUMENT,))

    _with_intruder(chaos, target, rng, act)


def malformed_bytes(chaos, target, seconds, rng):
    """Random and damaged bytes in place of requests."""

    def act(intruder):
        for _ in range(int(20 * seconds)):
            real = intruder.block(1, 0).SerializeToString() if rng.random() < 0.5 else intruder.open().SerializeToString()
            damaged = bytearray(real)
            for _ in range(rng.randint(1, 5)):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
            data = rng.choice((bytes(damaged), real[: rng.randrange(len(real))], rng.randbytes(rng.randint(1, 300))))
            for method in ("Insert", "Sample"):
                try:
                    list(intruder.call(method, iter([data]), timeout=0.5, raw=True))
                except grpc.RpcError as error:
                    intruder.expect(f"damaged bytes to {method}", (error.code(), error.details()), REFUSALS)

    _with_intruder(chaos, target, rng, act)


def malformed_at_hub(chaos, target, _seconds, rng):
    """Random bytes to each method of the hub."""
    process = chaos.pool[target]
    life = process.lives
    with wire.channel(chaos.pool.address[target]) as channel:
        for service in ("PoolService", "WorkerService", "ExperimentService", "ModelService"):
            for path, _, _, client_streams, server_streams in chaos.messages.methods(f"waggle.v1.{service}"):
                call = chaos.messages.stub(channel, path.split(".")[-1], raw=True)
                data = rng.randbytes(rng.randint(1, 300))
                try:
                    answer = call(iter([data]) if client_streams else data, timeout=2)
                    list(answer) if server_streams else None
                except grpc.RpcError:
                    pass  # gRPC itself answers with INTERNAL for bytes that are no message.
    if process.lives == life and process.alive:
        chaos.await_service(target)


def wrong_shapes(chaos, target, _seconds, rng):
    """Columns, shapes, sizes and windows that are not the table's."""

    def act(intruder):
        before = intruder.state()
        wrong = intruder.open()
        wrong.open.signature[1].shape.extend(rng.choice(([3], [-1], [1 << 40, 1 << 40], [2] * 9)))
        intruder.expect("another shape", intruder.insert([wrong]), REFUSALS)
        wrong = intruder.open()
        wrong.open.signature[1].dtype = rng.choice((0, 3, 77))
        intruder.expect("another type", intruder.insert([wrong]), REFUSALS)
        short = intruder.block(1, 0)
        short.data = short.data[: rng.randrange(len(short.data))]
        intruder.expect("bytes that are missing", intruder.insert([intruder.open(), short]), REFUSALS)
        window = intruder.block(1, 0)
        window.block.item_rows[0] = rng.choice((0, 3, 5, 1 << 31))
        intruder.expect("a window beyond its stream", intruder.insert([intruder.open(), window]), REFUSALS)
        lists = intruder.block(1, 0)
        lists.block.item_priority.append(1.0)
        intruder.expect("lists of different lengths", intruder.insert([intruder.open(), lists]), REFUSALS)
        damaged = intruder.block(1, 0)
        damaged.block.checksum = rng.randrange(1, 1 << 63)
        intruder.expect("a wrong checksum", intruder.insert([intruder.open(), damaged]), (CODES.DATA_LOSS,))
        intruder.expect_unchanged(before, "wrong shapes")

    _with_intruder(chaos, target, rng, act)


def oversize(chaos, target, _seconds, rng):
    """Messages above the limit, and compressed ones."""

    def act(intruder):
        before = intruder.state()
        large = intruder.block(1, 0)
        large.data = bytes((64 << 20) + 1000)
        intruder.expect("a message above the limit", intruder.insert([intruder.open(), large]),
                        (CODES.RESOURCE_EXHAUSTED,))
        request = intruder.message("DeleteRequest")(table="x" * (65 << 20))
        try:
            intruder.call("Delete", request)
        except grpc.RpcError as error:
            intruder.expect("a request above the limit", (error.code(), error.details()), REFUSALS)
        try:
            intruder.call("Delete", request, compression=grpc.Compression.Gzip)
        except grpc.RpcError as error:
            intruder.expect("a compressed message", (error.code(), error.details()),
                            (*REFUSALS, CODES.UNIMPLEMENTED))
        intruder.expect_unchanged(before, "messages above the limit")

    _with_intruder(chaos, target, rng, act)


def not_a_number(chaos, target, _seconds, rng):
    """NaN and infinity in rows and in priorities, and negative priorities."""

    def act(intruder):
        before = intruder.state()
        for value in (float("nan"), float("inf"), -float("inf")):
            got = intruder.insert([intruder.open(), intruder.block(1, 0, values=(0.5, value))])
            intruder.expect(f"a row with {value}", got, (CODES.INVALID_ARGUMENT,))
        for priority in (float("nan"), float("inf"), -1.0):
            got = intruder.insert([intruder.open(), intruder.block(1, 0, priority=priority)])
            intruder.expect(f"an item with the priority {priority}", got, (CODES.INVALID_ARGUMENT,))
            update = intruder.message("UpdatePrioritiesRequest")(table="chaos_log", keys=[1], generations=[1],
                                                                 priorities=[priority])
            try:
                intruder.call("UpdatePriorities", update)
                got = (CODES.OK, "")
            except grpc.RpcError as error:
                got = (error.code(), error.details())
            intruder.expect(f"an update to the priority {priority}", got, (CODES.INVALID_ARGUMENT, CODES.NOT_FOUND))
        intruder.expect_unchanged(before, "numbers that are not finite")

    _with_intruder(chaos, target, rng, act)
