"""Element types that NumPy does not have itself, and arrays that the library cannot read as they are."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native

Array = npt.NDArray[Any]

# The names of the library, and those of ml_dtypes.
_CUSTOM = {
    "bfloat16": "bfloat16",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
    "float8e8m0": "float8_e8m0fnu",
    "int4": "int4",
    "uint4": "uint4",
    "int2": "int2",
    "uint2": "uint2",
    "float4e2m1": "float4_e2m1fn",
}
_NUMBERS = _native.dtypes()
_BY_NUMPY_NAME = {numpy_name: name for name, numpy_name in _CUSTOM.items()}
_BITS = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2, "float4e2m1": 4}
# Of memory: a bool is a byte.
_PLAIN = {name for name in _NUMBERS if name not in _CUSTOM and name != "string"}


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The type of NumPy for one of the library, which for bfloat16 and those below 8 bits is of ml_dtypes."""
    if name in _PLAIN:
        return np.dtype(name)
    if name not in _CUSTOM:
        raise TypeError(f"NumPy has no type for {name}")
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError(f"arrays of {name} need the package ml_dtypes: pip install ml_dtypes") from None
    try:
        found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, _CUSTOM[name]))
    except AttributeError:
        raise TypeError(f"this version of ml_dtypes has no {_CUSTOM[name]}") from None
    return found


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The library's name of a type of NumPy; raises TypeError where it has none."""
    name = _BY_NUMPY_NAME.get(dtype.name, dtype.name)
    if name not in _CUSTOM and name not in _PLAIN:
        raise TypeError(f"a model has no values of type {dtype}")
    return name


def seen_as(array: Array, name: str) -> Array:
    """The same memory with the type of ml_dtypes."""
    return array.view(numpy_dtype(name))


def unpacked(raw: Array, name: str, shape: list[int]) -> Array:
    """The elements of a packed tensor, a byte for each, as ml_dtypes has them."""
    bits, dtype = _BITS[name], numpy_dtype(name)
    places = np.arange(0, 8, bits, dtype=np.uint8)
    flat: Array = (raw[:, None] >> places) & np.uint8((1 << bits) - 1)
    flat = flat.reshape(-1)[: int(np.prod(shape, dtype=np.int64))].reshape(shape)
    if name.startswith("int"):  # the sign
        flat = (flat.astype(np.int8) << (8 - bits)) >> (8 - bits)
        return flat.astype(dtype)
    return flat.astype(dtype) if name.startswith("uint") else flat.view(dtype)


def _packed(array: Array, name: str) -> Array:
    bits = _BITS[name]
    flat = array.view(np.uint8).reshape(-1) & np.uint8((1 << bits) - 1)
    each = 8 // bits
    flat = np.concatenate([flat, np.zeros(-len(flat) % each, np.uint8)]).reshape(-1, each)
    places = np.arange(0, 8, bits, dtype=np.uint8)
    packed: Array = np.bitwise_or.reduce(flat << places, axis=1).astype(np.uint8)
    return packed


def prepared(value: object, wanted: str, writable: bool) -> tuple[Array, int, list[int]]:
    """An array whose buffer the library can read, with the number of its type and its shape.

    For what has no such buffer itself. An output (`writable`) is never copied, since the results would be lost.
    """
    if writable and not isinstance(value, np.ndarray):
        raise TypeError(f"outputs are written to arrays of NumPy, not {type(value).__name__}")
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        array, number = _native.from_dlpack(value)
        if not array.flags.c_contiguous:
            array = np.ascontiguousarray(array).reshape(array.shape)
        return array, number, list(array.shape)
    if writable:
        assert isinstance(value, np.ndarray)
        array = value
        if not (array.flags.c_contiguous and array.flags.writeable and array.flags.aligned):
            raise TypeError("an array that an output is written to must be dense, aligned and writable")
    else:
        array = _dense(value, wanted)
    name = dtype_name(array.dtype)
    shape = list(array.shape)
    if name in _BITS:
        if writable:
            raise TypeError(f"outputs of packed type {name} cannot be written in place")
        return _packed(array, name), _NUMBERS[name], shape
    if name in _CUSTOM:
        array = array.view(np.uint16 if array.dtype.itemsize == 2 else np.uint8)
    return array, _NUMBERS[name], shape


def _dense(value: object, wanted: str) -> Array:
    if isinstance(value, np.ndarray):
        array = value
    elif isinstance(value, np.generic) or wanted in ("undefined", "string", "unknown"):
        array = np.asarray(value)
    else:  # numbers of Python have no type of their own
        try:
            array = np.asarray(value, dtype=numpy_dtype(wanted))
        except (TypeError, ValueError) as error:
            raise TypeError(f"this is no array of {wanted}: {error}") from None
    if array.dtype.byteorder == (">" if sys.byteorder == "little" else "<"):
        array = array.astype(array.dtype.newbyteorder("="))
    if not (array.flags.c_contiguous and array.flags.aligned):
        array = np.array(array, order="C", copy=True)
    return array
