"""Compression, by the packages lz4 and zstandard if they are installed."""

from waggle_client import _wire, errors
from waggle_client._link import log


def _lz4():
    import lz4.block

    return lambda data: lz4.block.compress(data, store_size=False)


def _zstd():
    import zstandard

    return zstandard.ZstdCompressor(level=1).compress


_CODECS = {"lz4": ("lz4", _lz4), "zstd": ("zstandard", _zstd)}


def compressor(column, codec):
    """A function that compresses bytes with this codec. Without its package bytes stay as they are."""
    package, make = _CODECS.get(codec, (codec, None))
    try:
        return make()
    except (ImportError, TypeError):
        log.warning(
            'column "%s" has the compression %s, which needs the package %s: without it its rows are sent and stored '
            "uncompressed",
            column,
            codec,
            package,
        )
        return lambda data: data


def _lz4_back():
    import lz4.block

    return lambda data, size: lz4.block.decompress(data, uncompressed_size=size)


def _zstd_back():
    import zstandard

    decompressor = zstandard.ZstdDecompressor()
    return lambda data, size: decompressor.decompress(data, max_output_size=size)


_WIRE = _wire.enum_names(_wire.message("ColumnCompression").DESCRIPTOR.enum_types_by_name["Codec"])
_BACK = {"lz4": _lz4_back, "zstd": _zstd_back}


class Decompressor:
    """Decompresses a server's pieces with the codec of the request: "none", "lz4" or "zstd"."""

    def __init__(self, codec):
        self.wire = 0
        if codec == "none":
            return
        if codec not in _WIRE:
            raise errors.InvalidArgument(f'compression: "{codec}" is not none, lz4 or zstd')
        self.wire = _WIRE[codec]
        try:
            self._decompress = _BACK[codec]()
        except ImportError:
            raise errors.InvalidArgument(
                f'compression: "{codec}" needs the package {_CODECS[codec][0]}, which is not installed'
            ) from None

    def __call__(self, wire, data, size):
        """The `size` bytes that `data` was compressed from."""
        if wire != self.wire or not wire:
            raise errors.Internal(f"the server sent a piece compressed with codec {wire}; asked for was {self.wire}")
        try:
            raw = self._decompress(bytes(data), size)
        except Exception as error:  # Each package has errors of its own.
            raise errors.DataLoss(f"a piece of a batch does not decompress: {error}") from None
        if len(raw) != size:
            raise errors.DataLoss(f"a piece of a batch has {len(raw)} bytes when decompressed; expected are {size}")
        return raw
