"""Compression of columns, by the packages lz4 and zstandard where they are installed."""

from waggle_client._link import log


def _lz4():
    import lz4.block

    return lambda data: lz4.block.compress(data, store_size=False)


def _zstd():
    import zstandard

    return zstandard.ZstdCompressor(level=1).compress


_CODECS = {"lz4": ("lz4", _lz4), "zstd": ("zstandard", _zstd)}


def compressor(column, codec):
    """What compresses bytes with this codec. Without its package they stay as they are, which the server takes too."""
    package, make = _CODECS.get(codec, (codec, None))
    try:
        return make()
    except (ImportError, TypeError):
        log.warning(
            'column "%s" is to be compressed with %s, which needs the package %s: without it its rows travel, and are '
            "kept, as they are",
            column,
            codec,
            package,
        )
        return lambda data: data
