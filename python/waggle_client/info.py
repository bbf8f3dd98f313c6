"""A server's answers: its state, and the results of changes."""

import dataclasses
from typing import Dict, Optional, Tuple

from waggle_client import _table_proto
from waggle_client.table import Table


@dataclasses.dataclass(frozen=True)
class UpdateCounts:
    """The results of priority updates, or of deletions. stale: the key holds another item by now. unknown: the key
    holds no item."""

    applied: int
    stale: int
    unknown: int


@dataclasses.dataclass(frozen=True)
class Reconfiguration:
    """A change of a table's configuration: each field that differs, with its old and new value, and the least number of
    items that leave because of it."""

    differences: Tuple[str, ...]
    items_removed: int
    config_generation: int


@dataclasses.dataclass(frozen=True)
class TableInfo:
    """The state of a table.

    bytes: of the rows that items refer to. memory_bytes, disk_bytes: of rows in memory, and of rows that are only on
        disk because of the table's memory_limit, including the newest rows of its writers.
    disk_reads: blocks of rows that were read from disk to be sampled, since the server was started.
    inserts_waiting, samples_waiting: requests that wait.
    blocked_because: in words, what its rate limiter waits for; empty if no request waits.
    config_generation: counts the changes of its configuration.
    """

    table: Table
    items: int
    bytes: int
    items_inserted: int
    items_sampled: int
    items_removed: int
    priorities_applied: int
    priorities_stale: int
    priorities_unknown: int
    inserts_waiting: int
    samples_waiting: int
    blocked_because: str
    priority_sum: float
    config_generation: int
    memory_bytes: int
    disk_bytes: int
    disk_reads: int


@dataclasses.dataclass(frozen=True)
class StorageInfo:
    """The state of a server's folder.

    checkpoint_number, checkpoint_ago: the last checkpoint that was kept since the server was started, and how many
        seconds ago that was; 0 and None if there was none yet.
    checkpoint_problem: why the last checkpoint was not kept; empty if it was.
    write_problem: why the server cannot write now, such as a full disk; empty if it can.
    """

    checkpoint_number: int
    checkpoint_ago: Optional[float]
    checkpoint_problem: str
    write_problem: str


@dataclasses.dataclass(frozen=True)
class ServerInfo:
    """The state of a server.

    writers: that are connected, or may come back. writer_bytes: of their rows in its memory beside the tables' items.
    refusals: how many calls and streams it has refused since it was started, by reason (docs/errors.md).
    memory_bytes, max_memory_bytes: memory that the rows of all tables take, and how much they may take.
    seconds_running: since the server was started.
    storage: None if the server has no folder (--data-dir).
    """

    tables: Dict[str, TableInfo]
    writers: int
    writer_bytes: int
    refusals: Dict[str, int]
    memory_bytes: int
    max_memory_bytes: int
    software_version: str
    seconds_running: float
    storage: Optional[StorageInfo]


def table_info(proto) -> TableInfo:
    names = [field.name for field in dataclasses.fields(TableInfo) if field.name != "table"]
    return TableInfo(_table_proto.from_proto(proto.config), **{name: getattr(proto, name) for name in names})


def _storage_info(proto) -> StorageInfo:
    return StorageInfo(
        proto.checkpoint_number,
        proto.checkpoint_ago if proto.HasField("checkpoint_ago") else None,
        proto.checkpoint_problem,
        proto.write_problem,
    )


def server_info(proto) -> ServerInfo:
    return ServerInfo(
        {info.config.name: table_info(info) for info in proto.tables},
        proto.writers,
        proto.writer_bytes,
        dict(proto.refusals),
        proto.memory_bytes,
        proto.max_memory_bytes,
        proto.software_version,
        proto.seconds_running,
        _storage_info(proto.storage) if proto.HasField("storage") else None,
    )
