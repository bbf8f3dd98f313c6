"""Client of Waggle's replay server: tables of prioritised experience for reinforcement learning.

    import waggle_client as waggle

    client = waggle.Client("127.0.0.1:7001")

The package's README has the rest.
"""

from waggle_client._insert import WriterStats
from waggle_client.batch import Batch
from waggle_client.client import Client
from waggle_client.errors import (
    Aborted,
    AlreadyExists,
    Cancelled,
    DataLoss,
    DeadlineExceeded,
    Error,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    InvalidType,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
)
from waggle_client.info import Reconfiguration, ServerInfo, StorageInfo, TableInfo, UpdateCounts
from waggle_client.sampler import Sampler, SamplerStats
from waggle_client.streams import Items, Lanes, Stream
from waggle_client.table import (
    Column,
    Field,
    RateLimiter,
    Recent,
    Selector,
    Table,
    all_rows,
    fifo,
    first,
    future,
    last,
    lifo,
    max_heap,
    min_heap,
    prioritized,
    queue,
    stack,
    uniform,
)
from waggle_client.updater import PriorityUpdater
from waggle_client.writer import Writer

__all__ = [
    "Aborted",
    "AlreadyExists",
    "Batch",
    "Cancelled",
    "Client",
    "Column",
    "DataLoss",
    "DeadlineExceeded",
    "Error",
    "FailedPrecondition",
    "Field",
    "Internal",
    "InvalidArgument",
    "InvalidType",
    "Items",
    "Lanes",
    "NotFound",
    "PermissionDenied",
    "PriorityUpdater",
    "RateLimiter",
    "Recent",
    "Reconfiguration",
    "ResourceExhausted",
    "Sampler",
    "SamplerStats",
    "Selector",
    "ServerInfo",
    "StorageInfo",
    "Stream",
    "Table",
    "TableInfo",
    "Unauthenticated",
    "Unavailable",
    "UpdateCounts",
    "Writer",
    "WriterStats",
    "all_rows",
    "fifo",
    "first",
    "future",
    "last",
    "lifo",
    "max_heap",
    "min_heap",
    "prioritized",
    "queue",
    "stack",
    "uniform",
]
