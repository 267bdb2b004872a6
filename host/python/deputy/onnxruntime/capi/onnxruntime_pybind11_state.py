"""The exceptions of ONNX Runtime by those of Deputy."""

from deputy.errors import (
    Error as Fail,
    FileNotFound as NoSuchFile,
    Internal as EPFail,
    InvalidArgument,
    ModelError as InvalidGraph,
    NotSupported as NotImplemented,
    ResourceExhausted as RuntimeException,
)

InvalidProtobuf = InvalidGraph
NoModel = NoSuchFile

__all__ = [
    "EPFail",
    "Fail",
    "InvalidArgument",
    "InvalidGraph",
    "InvalidProtobuf",
    "NoModel",
    "NoSuchFile",
    "NotImplemented",
    "RuntimeException",
]
