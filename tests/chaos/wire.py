"""Every service of proto/waggle/v1, called without a client in between."""

import pathlib

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

import staged

OPTIONS = [
    ("grpc.max_receive_message_length", 256 << 20),
    ("grpc.max_send_message_length", 256 << 20),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.use_local_subchannel_pool", 1),
]


class Wire:
    """The messages and methods whose descriptors are in the folder that was staged."""

    def __init__(self, folder):
        data = (pathlib.Path(folder) / staged.DESCRIPTORS).read_bytes()
        self._pool = descriptor_pool.DescriptorPool()
        self.services = []
        for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
            self._pool.AddSerializedFile(file.SerializeToString())
            self.services += [f"waggle.v1.{service.name}" for service in file.service]
        self._factory = message_factory.MessageFactory(self._pool)

    def message(self, name):
        return self._factory.GetPrototype(self._pool.FindMessageTypeByName(f"waggle.v1.{name}"))

    def enum(self, name):
        """The numbers of an enum by their names."""
        return {value.name: value.number for value in self._pool.FindEnumTypeByName(f"waggle.v1.{name}").values}

    def methods(self, service):
        """The methods of a service as (path, request class, response class, request streams, response streams)."""
        descriptor = self._pool.FindServiceByName(service)
        for method in descriptor.methods:
            proto = descriptor_pb2.MethodDescriptorProto()
            method.CopyToProto(proto)
            yield (f"/{service}/{method.name}", self._factory.GetPrototype(method.input_type),
                   self._factory.GetPrototype(method.output_type), proto.client_streaming, proto.server_streaming)

    def stub(self, channel, path, raw=False):
        """A callable for "Service/Method". `raw`: it takes the request's bytes."""
        service, _, method = path.partition("/")
        for full, request, response, client_streams, server_streams in self.methods(f"waggle.v1.{service}"):
            if full.endswith(f"/{method}"):
                kind = f"{'stream' if client_streams else 'unary'}_{'stream' if server_streams else 'unary'}"
                return getattr(channel, kind)(full, request_serializer=None if raw else request.SerializeToString,
                                              response_deserializer=response.FromString)
        raise KeyError(path)


def channel(address, *more):
    return grpc.insecure_channel(address, options=[*OPTIONS, *more])
