"""The messages and methods of waggle.v1, and their encoding.

The classes are made at import from descriptors that were compiled from proto/waggle/v1 when this package was built.
Unlike generated code these work with every version of protobuf, and stay out of its global registry.
"""

import pathlib

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from waggle_client.errors import Internal

DATA_FIELD = 15  # `bytes data` of every message with bulk bytes; always the last field.
MAX_MESSAGE_BYTES = 64 << 20
_DATA_TAG = bytes([DATA_FIELD << 3 | 2])


def _load():
    path = pathlib.Path(__file__).with_name("waggle_v1.binpb")
    if not path.exists():
        raise ImportError(
            f"{path.parent} is a source folder, without the messages that are compiled when the package is built: "
            "install it with pip"
        )
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(path.read_bytes()).file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


def _class_of(descriptor):
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return _factory.GetPrototype(descriptor)


_pool = _load()
_factory = None if hasattr(message_factory, "GetMessageClass") else message_factory.MessageFactory(_pool)


def message(name):
    """The class of a message of waggle.v1."""
    return _class_of(_pool.FindMessageTypeByName(f"waggle.v1.{name}"))


def method(name):
    """The path, request and response class of a method of the replay service."""
    service = _pool.FindServiceByName("waggle.v1.ReplayService")
    descriptor = service.methods_by_name[name]
    return (
        f"/{service.full_name}/{name}",
        _class_of(descriptor.input_type),
        _class_of(descriptor.output_type),
    )


def enum_names(enum):
    """The names of an enum's values without their common prefix, in lower case, and their numbers."""
    prefix = "".join("_" + letter if letter.isupper() else letter.upper() for letter in enum.name).lstrip("_") + "_"
    return {
        value.name[len(prefix) :].lower(): value.number
        for value in enum.values
        if not value.name.endswith("_UNSPECIFIED")
    }


def varint(value):
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def packed(descriptor, field, array):
    """The encoding of a packed field of fixed-size numbers, which equals a little-endian array's bytes."""
    number = descriptor.fields_by_name[field].number
    data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return varint(number << 3 | 2) + varint(len(data)) + data


def with_data(header, parts, size):
    """The encoding of a message: `header` without data, and the data `parts`, of `size` bytes together."""
    return (
        b"".join([header.SerializeToString(), _DATA_TAG, varint(size), *parts]) if size else header.SerializeToString()
    )


def _read_varint(view, position):
    value = shift = 0
    while True:
        byte = view[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def split_data(message_class, encoded):
    """The message, and its data as a view of `encoded`; generated code would copy the data twice."""
    try:
        return _split_data(message_class, encoded)
    except (IndexError, DecodeError):
        raise Internal(f"the server sent what is no {message_class.DESCRIPTOR.full_name}") from None


def _split_data(message_class, encoded):
    view = memoryview(encoded)
    position = 0
    while position < len(view):
        begin = position
        tag, position = _read_varint(view, position)
        wire_type = tag & 7
        if wire_type == 0:
            _, position = _read_varint(view, position)
        elif wire_type == 1:
            position += 8
        elif wire_type == 5:
            position += 4
        elif wire_type == 2:
            size, position = _read_varint(view, position)
            position += size
            if tag >> 3 == DATA_FIELD and position == len(view):
                return message_class.FromString(view[:begin].tobytes()), view[position - size :]
        else:
            break
    whole = message_class.FromString(encoded)  # It has no data, or was not encoded by Waggle's servers.
    return whole, memoryview(getattr(whole, "data", b""))
