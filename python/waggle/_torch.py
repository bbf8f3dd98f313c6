"""A policy's graph as a torch.nn.Module."""

import re

import torch
from torch.nn import functional

from waggle._onnx_file import Graph

_DTYPES = {"f4": torch.float32, "u1": torch.uint8, "i1": torch.int8, "i2": torch.int16, "i4": torch.int32,
           "i8": torch.int64, "?": torch.bool, "f2": torch.float16, "f8": torch.float64}
_BY_NUMBER = {1: "f4", 2: "u1", 3: "i1", 5: "i2", 6: "i4", 7: "i8", 9: "?", 10: "f2", 11: "f8"}
# Statistics are buffers, because gradient descent does not change them.
_STATISTICS = re.compile(r"(^|\.)normalizers\.|\.norm\.(mean|variance|batches)$")


class Module(torch.nn.Module):
    """Maps the graph's inputs, a dict of tensors [batch, …], to its outputs. Parameters have Waggle's names."""

    def __init__(self, path):
        super().__init__()
        graph = Graph(path)
        self._nodes = graph.nodes
        self._outputs = graph.outputs
        self._names = []
        self._constants = {}
        for name, (dtype, shape, data) in graph.arrays.items():
            flat = torch.frombuffer(bytearray(data), dtype=_DTYPES[dtype]) if data else torch.empty(0, dtype=_DTYPES[dtype])
            tensor = flat.reshape(shape).clone()
            if name.startswith("_"):
                self._constants[name] = tensor
            else:
                self._names.append(name)
                self._register(name, tensor)

    def _register(self, name, tensor):
        module, *path = self, *name.split(".")
        for part in path[:-1]:
            if part not in module._modules:
                module.add_module(part, torch.nn.Module())
            module = module._modules[part]
        if _STATISTICS.search(name):
            module.register_buffer(path[-1], tensor)
        else:
            module.register_parameter(path[-1], torch.nn.Parameter(tensor))

    def _apply(self, function):
        super()._apply(function)
        self._constants = {name: self._moved(function, value) for name, value in self._constants.items()}
        return self

    @staticmethod
    def _moved(function, value):
        return function(value).to(value.dtype)  # Shapes and indices stay integers.

    def forward(self, inputs):
        values = {**self._constants, **dict(self.named_parameters()), **dict(self.named_buffers()), **inputs}
        for node in self._nodes:
            arguments = [values[name] for name in node.inputs]
            values[node.outputs[0]] = _OPERATIONS[node.operation](node.attributes, *arguments)
        return {name: values[name] for name in self._outputs}


def _layer_norm(attributes, x, scale, bias=None):
    return functional.layer_norm(x, scale.shape, scale, bias, attributes["epsilon"])


def _conv(attributes, x, weight, bias):
    return functional.conv2d(x, weight, bias, attributes["strides"], attributes["pads"][:2])


def _slice(_, x, first, end, axis):
    return x.narrow(int(axis), int(first), int(end) - int(first))


def _reduce(function):
    return lambda attributes, x, axes=None: function(
        x, int(axes) if axes is not None else attributes["axes"][0], bool(attributes["keepdims"])
    )


def _gather(attributes, table, index):
    axis = attributes["axis"]
    taken = table.index_select(axis, index.reshape(-1))
    return taken.reshape(table.shape[:axis] + index.shape + table.shape[axis + 1 :])


def _plain(function):
    return lambda _, *arguments: function(*arguments)


_OPERATIONS = {
    "Add": _plain(torch.add),
    "ArgMax": lambda attributes, x: torch.argmax(x, -1, bool(attributes["keepdims"])),
    "Cast": lambda attributes, x: x.to(_DTYPES[_BY_NUMBER[attributes["to"]]]),
    "Clip": lambda _, x, low, high: torch.minimum(torch.maximum(x, low), high),
    "Concat": lambda attributes, *parts: torch.cat(parts, attributes["axis"]),
    "Conv": _conv,
    "Div": _plain(torch.div),
    "Elu": _plain(functional.elu),
    "Equal": _plain(torch.eq),
    "Erf": _plain(torch.erf),
    "Exp": _plain(torch.exp),
    "Expand": lambda _, x, shape: x + torch.zeros(shape.tolist(), dtype=x.dtype, device=x.device)
    if x.dtype != torch.bool else x.expand(torch.broadcast_shapes(x.shape, tuple(shape.tolist()))),
    "Gather": _gather,
    "Gemm": lambda _, x, weight, bias: functional.linear(x, weight, bias),
    "Greater": _plain(torch.gt),
    "Identity": lambda _, x: x,
    "LayerNormalization": _layer_norm,
    "LeakyRelu": lambda attributes, x: functional.leaky_relu(x, attributes["alpha"]),
    "LogSoftmax": lambda _, x: torch.log_softmax(x, -1),
    "MatMul": _plain(torch.matmul),
    "Mul": _plain(torch.mul),
    "ReduceLogSumExp": _reduce(torch.logsumexp),
    "ReduceMax": _reduce(torch.amax),
    "ReduceMean": _reduce(torch.mean),
    "ReduceMin": _reduce(torch.amin),
    "ReduceSum": _reduce(torch.sum),
    "Relu": _plain(torch.relu),
    "Reshape": lambda _, x, shape: x.reshape(shape.tolist()),
    "Shape": lambda _, x: torch.tensor(x.shape),
    "Sigmoid": _plain(torch.sigmoid),
    "Slice": _slice,
    "Softmax": lambda _, x: torch.softmax(x, -1),
    "Sqrt": _plain(torch.sqrt),
    "Sub": _plain(torch.sub),
    "Tanh": _plain(torch.tanh),
    "Transpose": lambda attributes, x: x.permute(attributes["perm"]),
    "Where": _plain(torch.where),
}
