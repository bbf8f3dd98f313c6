"""The memory that an actor and this process share: see docs/environment_memory.md."""

import mmap
import struct

import numpy as np

_HEADER = struct.Struct("<8sIIQII")  # Magic, version, bytes of the header, bytes of all, groups, arrays of a group.
_GROUP = struct.Struct("<II")  # Number of lanes, index of the first.
_MAGIC = b"WAGGLEEN"
VERSION = 1

# Commands of a lane.
LEAVE = 0
STEP = 1
RESET = 2

# Step types of a lane's row.
FIRST = 0
MID = 1
LAST = 2


class Group:
    """The arrays of one group of lanes, a row a lane."""

    def __init__(self, memory, lanes, first_lane, offsets, spec):
        offset = iter(offsets)

        def array(dtype, shape):
            count = lanes * int(np.prod(shape, dtype=np.int64))
            return np.frombuffer(memory, dtype, count, next(offset)).reshape((lanes, *shape))

        self.lanes = lanes
        self.first_lane = first_lane
        self.commands = array(np.uint8, ())
        self.seeds = array(np.uint64, ())
        self.step_types = array(np.int32, ())
        self.discounts = array(np.float32, ())
        self.rewards = [array(np.float32, leaf.shape) for leaf in spec.rewards]
        self.actions = [array(leaf.dtype, leaf.shape) for leaf in spec.actions]
        self.observations = [array(leaf.dtype, leaf.shape) for leaf in spec.observations]


def open_groups(descriptor, spec):
    """The groups of the memory. ValueError if its header has another magic, version or size."""
    memory = mmap.mmap(descriptor, 0)
    magic, version, _, size, groups, arrays = _HEADER.unpack_from(memory)
    if magic != _MAGIC or version != VERSION or size != len(memory):
        raise ValueError(f"memory: got {magic!r}, version {version}, {size} bytes; wanted {_MAGIC!r}, {VERSION}")
    at = _HEADER.size
    opened = []
    for _ in range(groups):
        lanes, first_lane = _GROUP.unpack_from(memory, at)
        at += _GROUP.size
        offsets = struct.unpack_from(f"<{arrays}Q", memory, at)
        at += 8 * arrays
        opened.append(Group(memory, lanes, first_lane, offsets, spec))
    return opened
