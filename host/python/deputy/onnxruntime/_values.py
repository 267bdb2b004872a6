"""Tensors, sequences and optionals as values of their own."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from deputy import _native
from deputy._arrays import dtype_name, numpy_dtype
from deputy.errors import InvalidArgument

from ._options import absent

Array = npt.NDArray[Any]

# ONNX Runtime's names of element types, where they are not the library's.
_ORT_NAMES = {"float32": "float", "float64": "double"}
_NUMBERS = _native.dtypes()
_NAMES = {number: name for name, number in _NUMBERS.items()}


def ort_element(name: str) -> str:
    return _ORT_NAMES.get(name, name)


def ort_type(name: str, kind: str = "tensor") -> str:
    """ "tensor(float)", "seq(tensor(float))", "optional(tensor(float))". """
    text = f"tensor({ort_element(name)})"
    if kind.endswith("sequence"):
        text = f"seq({text})"
    return f"optional({text})" if kind.startswith("optional") else text


def dtype_of(element_type: Any) -> np.dtype[Any]:
    """Of a type of NumPy, or a number of ONNX."""
    if isinstance(element_type, (int, np.integer)) and not isinstance(element_type, bool):
        if int(element_type) not in _NAMES:
            raise InvalidArgument(f"there is no element type {element_type}", code=3)
        return numpy_dtype(_NAMES[int(element_type)])
    found: np.dtype[Any] = np.dtype(element_type)
    return found


class OrtDevice:
    """Host memory; others are not there."""

    def __init__(self, device_type: str, device_id: int) -> None:
        host_only(device_type)
        self._type, self._id = device_type, device_id

    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int = -1) -> OrtDevice:
        return OrtDevice(ort_device_name, device_id)

    def device_type(self) -> str:
        return self._type

    def device_id(self) -> int:
        return self._id


def host_only(device_type: str) -> None:
    if device_type.lower() != "cpu":
        absent(f"OrtDevice: memory of '{device_type}'")


class OrtValue:
    """A tensor, a sequence of tensors (a list), or an optional without a value (None)."""

    def __init__(self, value: Any, kind: str = "tensor", dtype: str = "") -> None:
        self._value = value
        self._kind = kind
        self._dtype = dtype or (dtype_name(value.dtype) if isinstance(value, np.ndarray) else "")

    @staticmethod
    def ortvalue_from_numpy(
        numpy_obj: Array, device_type: str = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        """In the memory of the array."""
        host_only(device_type)
        return OrtValue(np.ascontiguousarray(numpy_obj).reshape(numpy_obj.shape))

    @staticmethod
    def ortvalue_from_numpy_with_onnx_type(data: Array, onnx_element_type: int) -> OrtValue:
        """The bytes of the array as elements of this type of ONNX, for those that NumPy does not have."""
        return OrtValue(np.ascontiguousarray(data).view(dtype_of(onnx_element_type)))

    @staticmethod
    def ortvalue_from_shape_and_type(
        shape: Sequence[int],
        element_type: Any = None,
        device_type: str = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue:
        if element_type is None:
            raise ValueError("`element_type` is to be provided if pre-allocated memory is provided")
        host_only(device_type)
        return OrtValue(np.zeros(tuple(shape), dtype_of(element_type)))

    @staticmethod
    def ort_value_from_sparse_tensor(sparse_tensor: object) -> NoReturn:
        absent("OrtValue.ort_value_from_sparse_tensor")

    @staticmethod
    def from_dlpack(data: Any, is_bool_tensor: bool = False) -> OrtValue:
        array, number = _native.from_dlpack(data)
        array = array.view(numpy_dtype(_NAMES[number]))
        return OrtValue(array.astype(np.bool_) if is_bool_tensor else array)

    def __dlpack__(self, **arguments: Any) -> Any:
        return self.numpy().__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def numpy(self) -> Array:
        if not isinstance(self._value, np.ndarray):
            raise InvalidArgument("only a tensor is an array", code=3)
        return self._value

    def update_inplace(self, np_arr: Array) -> None:
        value = self.numpy()
        if value.shape != np_arr.shape or value.dtype != np_arr.dtype:
            raise InvalidArgument("the array has another shape or type than the value", code=3)
        value[...] = np_arr

    def shape(self) -> list[int]:
        return list(self.numpy().shape)

    def data_type(self) -> str:
        return ort_type(self._dtype, self._kind)

    def element_type(self) -> int:
        return _NUMBERS[self._dtype]

    def device_name(self) -> str:
        return "cpu"

    def data_ptr(self) -> int:
        return int(self.numpy().__array_interface__["data"][0])

    def tensor_size_in_bytes(self) -> int:
        return int(self.numpy().nbytes)

    def has_value(self) -> bool:
        return self._value is not None

    def is_tensor(self) -> bool:
        return isinstance(self._value, np.ndarray)

    def is_tensor_sequence(self) -> bool:
        return isinstance(self._value, list)

    def is_sparse_tensor(self) -> bool:
        return False

    def as_sparse_tensor(self) -> NoReturn:
        absent("OrtValue.as_sparse_tensor")


def array_at(address: int, shape: Sequence[int], element_type: Any) -> Array:
    """The array in memory that the program vouches for."""
    dtype = dtype_of(element_type)
    size = int(np.prod(tuple(shape), dtype=np.int64)) * dtype.itemsize
    raw = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))
    array: Array = raw.view(dtype).reshape(tuple(shape))
    return array
