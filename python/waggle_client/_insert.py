"""A writer's rows: they gather into blocks, which are kept until the server has acknowledged them."""

import collections
import dataclasses
import math
import secrets
import sys
import time
from typing import Optional

from waggle_client import _check, _wire, errors
from waggle_client._checksum import checksum
from waggle_client._compression import compressor
from waggle_client._link import Deadline, log
from waggle_client._stream import StreamCore
from waggle_client._table_proto import specs_to_proto
from waggle_client.rows import ColumnRules, RowBuffer

_InsertRequest = _wire.message("InsertRequest")
_MAX_BLOCK_BYTES = 32 << 20  # The most that block_bytes may be.
# The most bytes of rows that are added at a time. A message has 64 MiB; the rest is for their description.
MAX_STEP_BYTES = 56 << 20
_MAX_BLOCK_ITEMS = 4096
# The most rows of all windows of a block together. The server's limit is on their chunks, which are fewer.
_MAX_BLOCK_REFERENCES = 1 << 20
_ITEM_BYTES = 24  # The approximate size of an item in a message.
_MAX_WEIGHT = 1e290 * (1 - 1e-12)  # The most that the power of a priority may be, less a margin for rounding.


@dataclasses.dataclass
class WriterOptions:
    """See Client.writer."""

    writer_id: str
    block_bytes: int
    max_delay: float
    max_unacknowledged_blocks: int
    max_unacknowledged_bytes: int
    timeout: Optional[float]

    def __post_init__(self):
        _check.identifier("writer_id", self.writer_id)
        self.block_bytes = _check.integer("block_bytes", self.block_bytes, 1, _MAX_BLOCK_BYTES)
        for name in ("max_unacknowledged_blocks", "max_unacknowledged_bytes"):
            setattr(self, name, _check.integer(name, getattr(self, name), 1))
        self.max_delay = _check.number("max_delay", self.max_delay, 0)
        self.timeout = _check.seconds("timeout", self.timeout)


@dataclasses.dataclass(frozen=True)
class WriterStats:
    """items_inserted: acknowledged by the server. items_without_rows: refused by it, because their windows reach back
    to rows that were lost when the server was restarted. …_unacknowledged: kept until the server acknowledges them.
    seconds_waited: for room in calls that add, over all threads."""

    items_inserted: int
    items_without_rows: int
    blocks_unacknowledged: int
    bytes_unacknowledged: int
    seconds_waited: float


class _Block:
    def __init__(self, header, parts):
        self.header = header
        self.parts = parts
        self.sent = False  # True once sent on any stream: the server may have it.
        self.data_bytes = sum(part.nbytes for part in parts)
        self.bytes = self.data_bytes + header.ByteSize()

    @property
    def items(self):
        return len(self.header.block.item_stream)

    def encode(self, sequence):
        self.sent = True
        self.header.block.sequence = sequence
        return _wire.with_data(self.header, self.parts, self.data_bytes)


class _GatheredItems:
    """Items of the block that is being gathered. Either each has a priority, or each gets its table's highest."""

    def __init__(self):
        self.table, self.stream, self.first_row, self.rows, self.context, self.priority = [], [], [], [], [], []
        self.references = 0

    def __len__(self):
        return len(self.stream)

    def full(self):
        return len(self.stream) >= _MAX_BLOCK_ITEMS or self.references >= _MAX_BLOCK_REFERENCES

    def other_kind(self, highest):
        return len(self.stream) > 0 and highest == bool(self.priority)

    def write(self, block):
        if any(self.table):
            block.item_table.extend(self.table)
        if any(self.context):
            block.item_context_rows.extend(self.context)
        block.item_stream.extend(self.stream)
        block.item_first_row.extend(self.first_row)
        block.item_rows.extend(self.rows)
        block.item_priority.extend(self.priority)


def _priority_bounds(config):
    """The lowest and highest priority that the server takes: sums of their powers must not overflow. See
    replay_server/selectors/priority_weight.h."""
    high = sys.float_info.max
    for selector in (config.sampler, config.remover):
        exponent = selector.options.get("priority_exponent", 0)
        if selector.kind == "prioritized" and exponent > 290 / 308.25:
            high = min(high, _MAX_WEIGHT ** (1 / exponent) - selector.options.get("priority_epsilon", 0))
    return -high if config.sampler.options.get("absolute_priorities") else 0.0, high


class WriterCore(StreamCore):
    """Blocks are numbered and kept until they are acknowledged. A new stream begins with the first block that its
    server has not applied. If the server has forgotten this writer, unacknowledged blocks are numbered anew and sent
    again. The protocol is that of common/replay/grpc_shard_writer.cc."""

    def __init__(self, link, configs, options):
        names = [config.name for config in configs]
        super().__init__(link, "Insert", "insert", f'writer "{options.writer_id}", writing to', names)
        self.options = options
        self.table_index = {name: index for index, name in enumerate(names)}
        self.min_windows = [config.min_window for config in configs]
        self.max_windows = [config.max_window for config in configs]
        self.longest_window = max(self.max_windows)
        self.max_contexts = [config.max_context for config in configs]
        self.priority_bounds = [_priority_bounds(config) for config in configs]
        self.rules = [ColumnRules(name, column) for name, column in configs[0].columns.items()]
        codecs = configs[0].compression  # The server checks that the other tables' are equal.
        self._plain = [i for i, rule in enumerate(self.rules) if rule.name not in codecs]
        self._compressors = {
            i: compressor(rule.name, codecs[rule.name]) for i, rule in enumerate(self.rules) if rule.name in codecs
        }
        header = _InsertRequest()
        header.open.writer_id = options.writer_id
        header.open.incarnation = secrets.randbits(64)
        header.open.tables.extend(names)
        specs_to_proto(configs[0].columns, header.open.signature)
        self._open_request = header.SerializeToString()
        self._pending = collections.deque()  # Unacknowledged blocks, in their order.
        self._pending_bytes = 0
        self._blocks_made = self._blocks_done = 0
        self._first_sequence = 1  # The number of the first pending block, or of the next block.
        self._sent = 0  # Pending blocks that were sent on the current stream.
        self._open_sent = self._opened = False
        self._buffers = []
        self._items = _GatheredItems()
        self._gathered_bytes = 0
        self._gathered_since = None  # When the first row or item came that is in no block yet.
        self._policy_version = 0
        self._counts = (0, 0)  # Items inserted and without rows, over all runs of the server.
        self._lost_counts = (0, 0)  # The part of these counts that restarted servers have lost.
        self._told = False  # True once the failure was raised.
        self._check_step(1)

    def _check_step(self, lanes):
        """InvalidArgument if a row of each lane does not fit in one message."""
        row_bytes = sum(rule.row_bytes for rule in self.rules)
        if lanes * row_bytes <= MAX_STEP_BYTES:
            return
        largest = max(self.rules, key=lambda rule: rule.row_bytes)
        column = f'the largest column is "{largest.name}", {largest.column}'
        raise errors.InvalidArgument(
            f'table "{self.tables[0]}": a row has {row_bytes} bytes ({column}); the most that travels at once is '
            f"{MAX_STEP_BYTES}"
            if lanes == 1
            else f'count: {lanes} lanes of table "{self.tables[0]}" add {lanes * row_bytes} bytes at once, {row_bytes} '
            f"each ({column}); the most is {MAX_STEP_BYTES}, so take fewer lanes, several times if need be"
        )

    def forked(self):
        in_use = super().forked()
        self._pending.clear()  # The old process sends these.
        self._gathered_since = None
        return in_use

    # The stream.

    def reset_locked(self):
        self._open_sent = self._opened = False
        self._sent = 0

    def next_request_locked(self):
        if not self._open_sent:
            self._open_sent = True
            return self._open_request, None
        if not self._opened:
            return None, None
        if self._sent == len(self._pending) and self._gathered_since is not None and self.has_room_locked():
            wait = self._gathered_since + self.options.max_delay - time.monotonic()
            if wait > 0:
                return None, wait
            self.seal_locked()
        if self._sent == len(self._pending):
            return None, None
        self._sent += 1
        return self._pending[self._sent - 1].encode(self._first_sequence + self._sent - 1), None

    def on_message(self, message, data, first):
        if message.HasField("opened") != first or message.HasField("ack") == first:
            raise errors.Internal("the server sent another message; wanted `opened` first, then `ack`")
        with self.changed:
            if first:
                self._resume_locked(message.opened)
            answer = message.opened if first else message.ack
            self._acknowledge_locked(answer)
            self._opened = True
            self.changed.notify_all()

    def _resume_locked(self, opened):
        applied = opened.applied_sequence
        if applied >= self._first_sequence + len(self._pending):
            raise errors.FailedPrecondition(
                f"the server has applied {applied} blocks of this writer, which sent "
                f"{self._first_sequence + len(self._pending) - 1}: another writer uses its id"
            )
        if applied < self._first_sequence - 1:
            self._first_sequence = applied + 1
            counted = (opened.items_inserted, opened.items_without_rows)  # The counts that it has not lost.
            self._lost_counts = tuple(mine - its for mine, its in zip(self._counts, counted))
            log.warning(
                "%s %s: the server has lost what it had acknowledged (%d items); it was restarted",
                self.what, self.link.address, self._lost_counts[0],
            )  # fmt: skip

    def _acknowledge_locked(self, answer):
        applied = answer.applied_sequence
        if not self._first_sequence - 1 <= applied < self._first_sequence + len(self._pending):
            raise errors.Internal(
                f"the server acknowledged block {applied}; blocks {self._first_sequence} to "
                f"{self._first_sequence + len(self._pending) - 1} are unacknowledged"
            )
        while self._first_sequence <= applied:
            self._pending_bytes -= self._pending.popleft().bytes
            self._first_sequence += 1
            self._blocks_done += 1
            self._sent = max(0, self._sent - 1)
        without_rows = self._lost_counts[1] + answer.items_without_rows
        if without_rows > self._counts[1]:
            log.warning(
                "%s %s: %d items were refused: they reach back to rows that the server lost when it was restarted",
                self.what, self.link.address, without_rows - self._counts[1],
            )  # fmt: skip
        self._counts = (self._lost_counts[0] + answer.items_inserted, without_rows)

    # Gathering.

    def new_buffer(self, lanes):
        self._check_step(lanes)
        with self.changed:
            self.check_locked()
            first_stream = sum(buffer.lanes for buffer in self._buffers)
            buffer = RowBuffer(self.rules, first_stream, lanes, self.options.block_bytes)
            self._buffers.append(buffer)
            return buffer

    def check_locked(self):
        self._told = self._told or self._failure is not None
        super().check_locked()

    def has_room_locked(self):
        return not self._pending or (
            len(self._pending) < self.options.max_unacknowledged_blocks
            and self._pending_bytes < self.options.max_unacknowledged_bytes
        )

    def make_room_locked(self, full, size=0):
        """Must be called before data of at least this size is gathered; `full` says that it would not fit."""
        if self._failure is not None or self._closed:
            self.check_locked()
        gathered = self._gathered_bytes
        if full or gathered >= self.options.block_bytes or gathered + size > MAX_STEP_BYTES:
            self._seal_with_room_locked(Deadline(self.options.timeout))

    def _seal_with_room_locked(self, deadline, counted=True):
        if not self.has_room_locked():
            doing = lambda: f"{self.what} {self.link.address}: no room: {self._unacknowledged_locked()}"
            self.wait_locked(self.has_room_locked, deadline, doing, "inserts", counted)
        self.seal_locked()

    def gathered_locked(self, size, full):
        """Must be called after data was gathered."""
        self._gathered_bytes += size
        begins = self._gathered_since is None
        if begins:
            self._gathered_since = time.monotonic()
        if (full or self._gathered_bytes >= self.options.block_bytes) and self.has_room_locked():
            self.seal_locked()
        elif begins:
            self.changed.notify_all()  # The sender bounds the time that this is kept.

    def seal_locked(self):
        """Makes a block of all that is gathered."""
        if self._gathered_since is None:
            return
        header = _InsertRequest()
        block = header.block
        block.policy_version = self._policy_version
        taken = [buffer.take() for buffer in self._buffers if buffer.rows > 0]
        any_begins = any(chunks.begins for chunks, _ in taken)
        for chunks, _ in taken:
            block.chunk_stream.extend(chunks.stream)
            block.chunk_first_row.extend(chunks.first_row)
            block.chunk_rows.extend(chunks.rows)
            if any_begins:
                block.chunk_begins.extend(chunks.begins or [False] * len(chunks.rows))
        self._items.write(block)
        self._items = _GatheredItems()
        parts = self._encode_rows(taken, block)
        digest = checksum(parts)
        if digest is not None:
            block.checksum = digest
        made = _Block(header, parts)
        self._pending.append(made)
        self._blocks_made += 1
        self._pending_bytes += made.bytes
        self._gathered_bytes = 0
        self._gathered_since = None
        self.changed.notify_all()

    def rows_that_fit_locked(self, row_bytes):
        return max(1, (self.options.block_bytes - self._gathered_bytes) // max(1, row_bytes))

    def items_fit_locked(self, count, references):
        items = self._items
        return len(items) + count <= _MAX_BLOCK_ITEMS and items.references + references <= _MAX_BLOCK_REFERENCES

    def _encode_rows(self, taken, block):
        """The bytes of the rows: the plain columns, each with the rows of all chunks, then the compressed columns, each
        with a piece for each chunk. The pieces' sizes go into the block."""
        parts = []
        for i in self._plain:
            parts.extend(columns[i] for _, columns in taken if columns[i].size)
        for i, compress in self._compressors.items():
            row_bytes = self.rules[i].row_bytes
            for chunks, columns in taken:
                begin = 0
                for rows in chunks.rows:
                    rows_as_they_are = columns[i][begin : begin + rows * row_bytes]
                    begin += rows * row_bytes
                    piece = memoryview(compress(rows_as_they_are)) if row_bytes else memoryview(b"")
                    if piece.nbytes >= rows * row_bytes:
                        piece = memoryview(rows_as_they_are)
                    block.compressed_bytes.append(piece.nbytes)
                    parts.append(piece)
        return parts

    def put_items_locked(self, streams, table, first_rows, rows, contexts, priorities):
        """Adds items to the block that is being gathered. Returns their approximate size in bytes."""
        items, count = self._items, len(rows)
        items.table.extend([table] * count)
        items.stream.extend(streams)
        items.first_row.extend(first_rows)
        items.rows.extend(rows)
        items.context.extend(contexts)
        items.priority.extend(priorities)
        items.references += sum(rows)
        return _ITEM_BYTES * count

    def add_items_locked(self, streams, table, first_rows, rows, contexts, priorities):
        """Adds items over the newest rows of streams, as lists of equal length; the list of priorities may be empty."""
        highest = not priorities
        begin = 0
        while begin < len(rows):
            self.make_room_locked(self._items.full() or self._items.other_kind(highest))
            part = slice(begin, begin + max(1, _MAX_BLOCK_ITEMS - len(self._items)))
            lists = (values[part] for values in (first_rows, rows, contexts, priorities))
            size = self.put_items_locked(streams[part], table, *lists)
            self.gathered_locked(size, self._items.full())
            begin = part.stop

    def other_kind_locked(self, highest):
        """True if the new items cannot be in the block of those gathered. `highest` has True for new items without
        priorities, and False for those with priorities."""
        return any(self._items.other_kind(kind) for kind in highest)

    def set_policy_version(self, version):
        with self.changed:
            if version != self._policy_version:
                self._seal_with_room_locked(Deadline(self.options.timeout))  # Gathered rows have the old version.
                self._policy_version = version

    def _unacknowledged_locked(self):
        return f"{len(self._pending)} blocks with {self._pending_bytes} bytes are not acknowledged"

    def flush(self, deadline):
        doing = lambda: f"{self.what} {self.link.address}: {self._unacknowledged_locked()}"
        with self.changed:
            self.check_locked()
            if self._gathered_since is not None:
                self._seal_with_room_locked(deadline, counted=False)
            made = self._blocks_made  # Other threads may go on adding.
            self.wait_locked(lambda: self._blocks_done >= made, deadline, doing, "inserts", counted=False)

    def close(self, deadline):
        with self.changed:
            closed, failed, told = self._closed, self._failure is not None, self._told
        try:
            if not closed and (not failed or not told):
                self.flush(deadline)
        except errors.DeadlineExceeded as error:
            self.end()
            left_behind = self._left_behind()
            if left_behind:
                raise errors.DeadlineExceeded(f"{error}. It is closed all the same: {left_behind}") from None
        finally:
            self.end()

    def forsake(self):
        with self.changed:
            ended = self._closed or self._failure is not None
        self.end()
        left_behind = "" if ended else self._left_behind()
        if left_behind:
            log.warning("%s %s: dropped without close(): %s", self.what, self.link.address, left_behind)

    def _left_behind(self):
        """After the end: a sentence about unacknowledged data; empty if there is none."""
        with self.changed:
            sent = [block.items for block in self._pending if block.sent]
            unsent = [block.items for block in self._pending if not block.sent]
            gathered, rows = len(self._items), sum(buffer.rows * buffer.lanes for buffer in self._buffers)
            inserted = self._counts[0]
        parts = []
        if unsent or gathered or rows:
            parts.append(
                f"{len(unsent)} blocks with {sum(unsent)} items, and {rows} rows and {gathered} items that are in "
                "none, were never sent and are lost"
            )
        if sent:
            parts.append(
                f"{len(sent)} blocks with {sum(sent)} items were sent: the server may have applied them, or may yet, "
                f"so that written again they may be there twice. `waggle why --replay-server {self.link.address}` says "
                f"how many items this writer has inserted; {inserted} are acknowledged"
            )
        return "; ".join(parts)

    def stats(self):
        with self.changed:
            return WriterStats(*self._counts, len(self._pending), self._pending_bytes, self._waited)
