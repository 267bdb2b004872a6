"""What an ONNX file says of itself, which needs no more than the first level of its fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deputy.model import Source

_UNSET = (1 << 63) - 1  # what ONNX Runtime gives for a version that is not there


class ModelMetadata:
    """Of ONNX: its texts are empty for models of other formats."""

    def __init__(self) -> None:
        self.producer_name = ""
        self.graph_name = ""
        self.domain = ""
        self.description = ""
        self.graph_description = ""
        self.version = _UNSET
        self.custom_metadata_map: dict[str, str] = {}


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("no number")


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """(number, value) of each field of a message of protobuf: a number, or the bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        elif kind == 2:
            size, at = _varint(data, at)
            if size > len(data) - at:
                raise ValueError("too short")
            yield key >> 3, data[at : at + size]
            at += size
        else:
            raise ValueError("no message")


def _text(value: Any) -> str:
    return bytes(value).decode("utf-8", "replace")


def read_metadata(source: Source) -> ModelMetadata:
    made = ModelMetadata()
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = memoryview(source)
    else:
        with open(source, "rb") as file:
            data = memoryview(file.read())
    try:
        for number, value in _fields(data):
            if number == 2:
                made.producer_name = _text(value)
            elif number == 4:
                made.domain = _text(value)
            elif number == 5:
                made.version = int(value)
            elif number == 6:
                made.description = _text(value)
            elif number == 7:
                for inner, text in _fields(value):
                    if inner == 2:
                        made.graph_name = _text(text)
                    elif inner == 10:
                        made.graph_description = _text(text)
            elif number == 14:
                entry = dict(_fields(value))
                made.custom_metadata_map[_text(entry.get(1, b""))] = _text(entry.get(2, b""))
    except (ValueError, IndexError, TypeError):  # another format
        return ModelMetadata()
    return made
