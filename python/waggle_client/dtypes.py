"""Element types: their names on the wire and in NumPy."""

import numpy as np

from waggle_client.errors import InvalidArgument, InvalidType

NAMES = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
)  # fmt: skip


def dtype_name(dtype) -> str:
    """The name of an element type given as a name, a numpy.dtype or a type such as numpy.float32."""
    if isinstance(dtype, str) and dtype in NAMES:
        return dtype
    try:
        name = None if dtype is None else np.dtype(dtype).name  # NumPy takes None for float64.
    except Exception:
        name = None
    if name not in NAMES:
        kind = InvalidArgument if isinstance(dtype, (str, np.dtype, type)) else InvalidType
        raise kind(f"dtype: got {dtype!r}; wanted one of {', '.join(NAMES)}")
    return name


def numpy_dtype(name: str) -> np.dtype:
    """The little-endian type of the wire. bfloat16, which NumPy lacks, needs the package ml_dtypes."""
    if name != "bfloat16":
        return np.dtype(name).newbyteorder("<")
    try:
        import ml_dtypes
    except ImportError:
        raise InvalidArgument("dtype: bfloat16 needs the package ml_dtypes, which is not installed") from None
    return np.dtype(ml_dtypes.bfloat16)
