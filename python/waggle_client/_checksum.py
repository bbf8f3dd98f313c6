"""Checksums of bulk bytes, XXH3 of 64 bits: made and checked if the package xxhash is installed."""

from waggle_client import errors

try:
    from xxhash import xxh3_64
except ImportError:
    xxh3_64 = None


def checksum(parts):
    """The checksum of all parts together; None without xxhash."""
    if xxh3_64 is None:
        return None
    digest = xxh3_64()
    for part in parts:
        digest.update(part)
    return digest.intdigest()


def check(data, wanted):
    """DataLoss if the bytes are not those that the server sent."""
    got = checksum([data])
    if got is not None and got != wanted:
        raise errors.DataLoss(
            f"a piece of a batch was damaged on its way: its checksum is {got}, the server's was {wanted}"
        )
