"""Reads the messages of an ONNX file that `waggle export` has written, without the package onnx."""

import struct

_TYPES = {1: "f4", 2: "u1", 3: "i1", 5: "i2", 6: "i4", 7: "i8", 9: "?", 10: "f2", 11: "f8"}  # NumPy's types by ONNX's numbers.


class Node:
    """An operation: its name, the names of its inputs and outputs, and its attributes."""

    def __init__(self, message):
        self.inputs = [text.decode() for text in message.get(1, [])]
        self.outputs = [text.decode() for text in message.get(2, [])]
        self.operation = message[4][0].decode()
        self.attributes = dict(_attribute(_fields(part)) for part in message.get(5, []))


class Graph:
    """The nodes in order, the arrays by name as (dtype, shape, bytes), and the names of inputs and outputs."""

    def __init__(self, path):
        with open(path, "rb") as file:
            graph = _fields(_fields(file.read())[7][0])
        self.nodes = [Node(_fields(part)) for part in graph.get(1, [])]
        self.arrays = dict(_array(_fields(part)) for part in graph.get(5, []))
        self.inputs = [_fields(part)[1][0].decode() for part in graph.get(11, [])]
        self.outputs = [_fields(part)[1][0].decode() for part in graph.get(12, [])]


def _array(message):
    return message[8][0].decode(), (_TYPES[message[2][0]], _ints(message.get(1, [])), message.get(9, [b""])[0])


def _attribute(message):
    kind = message[20][0]
    if kind == 1:
        value = struct.unpack("<f", message.get(2, [b"\0\0\0\0"])[0])[0]
    else:
        value = _ints(message.get(8, [])) if kind == 7 else _signed(message.get(3, [0])[0])
    return message[1][0].decode(), value


def _fields(data):
    """Lists of a message's values, by field number."""
    fields = {}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == 0:
            value, at = _varint(data, at)
        else:
            length, at = (4, at) if key & 7 == 5 else (8, at) if key & 7 == 1 else _varint(data, at)
            value, at = data[at : at + length], at + length
        fields.setdefault(key >> 3, []).append(value)
    return fields


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _ints(values):
    """The integers of a repeated field, packed or not."""
    numbers = []
    for value in values:
        if isinstance(value, int):
            numbers.append(_signed(value))
            continue
        at = 0
        while at < len(value):
            number, at = _varint(value, at)
            numbers.append(_signed(number))
    return numbers


def _signed(value):
    return value - (1 << 64) if value >> 63 else value
