"""Lanes of an environment in memory with an actor's layout."""

import os
import struct

import numpy as np

from waggle_environment import _memory


def row_bytes(spec):
    """Bytes of a lane's row of each array, in the order of docs/environment_memory.md."""
    leaves = [*spec.rewards, *spec.actions, *spec.observations]
    return [1, 8, 4, 4] + [leaf.dtype.itemsize * int(np.prod(leaf.shape, dtype=np.int64)) for leaf in leaves]


def lay_out(spec, lanes):
    """One group of lanes in its own memory."""
    rows = row_bytes(spec)
    header = 32 + 8 + 8 * len(rows)
    end = -(-header // 64) * 64
    offsets = []
    for row in rows:
        offsets.append(end)
        end += -(-row * lanes // 64) * 64
    descriptor = os.memfd_create("test")
    os.ftruncate(descriptor, end)
    os.pwrite(descriptor, struct.pack("<8sIIQII", b"WAGGLEEN", 1, header, end, 1, len(rows)), 0)
    os.pwrite(descriptor, struct.pack(f"<II{len(rows)}Q", lanes, 0, *offsets), 32)
    group = _memory.open_groups(descriptor, spec)[0]
    os.close(descriptor)
    return group
