"""Exceptions: one class for each code of the library, each also what Python's own libraries raise in its place."""

from __future__ import annotations


class Error(Exception):
    """A failure of the library.

    `code` is for programs; `message` says what failed in one sentence, `place` where ("model.onnx: node 'conv1'"), and
    `advice` what helps. The last two may be empty.
    """

    code_name = "unknown"

    def __init__(self, message: str, *, code: int = 2, place: str = "", advice: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.place = place
        self.advice = advice

    def __str__(self) -> str:
        text = f"{self.place}: {self.message}" if self.place else self.message
        return f"{text}; {self.advice}" if self.advice else text

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (type(self), self.message, self.code, self.place, self.advice)


class Cancelled(Error):
    """A run or request that was ended by `cancel`."""

    code_name = "cancelled"


class InvalidArgument(Error, ValueError):
    """A value of the caller is wrong: a shape, an element type, a name, an option."""

    code_name = "invalid argument"


class DeadlineExceeded(Error, TimeoutError):
    """A run took longer than its timeout."""

    code_name = "deadline exceeded"


class NotFound(Error, LookupError):
    """A plugin, a tensor, a node or an entry that does not exist."""

    code_name = "not found"


class FileNotFound(NotFound, FileNotFoundError):
    """A file that does not exist. The code is the library's, which for a model is that of ModelError."""


class ResourceExhausted(Error, MemoryError):
    """Out of memory, or a limit of the configuration was reached."""

    code_name = "resource exhausted"


class FailedPrecondition(Error, RuntimeError):
    """A function that is not possible in this state."""

    code_name = "failed precondition"


class Aborted(Error):
    """An operation that was ended by another one."""

    code_name = "aborted"


class NotSupported(Error, NotImplementedError):
    """Valid, but not supported here."""

    code_name = "not supported"


class Internal(Error, RuntimeError):
    """A violated invariant inside the library; please report it."""

    code_name = "internal error"


class Unavailable(Error):
    """What is not there at this moment: a device, or a place for one more request."""

    code_name = "unavailable"


class DeviceLost(Error):
    """A device stopped working."""

    code_name = "device lost"


class Incompatible(Error):
    """A blob or plugin that was made for another version."""

    code_name = "incompatible"


class ConfigError(Error, ValueError):
    """The configuration or one of its options is wrong."""

    code_name = "config"


class ModelError(Error, ValueError):
    """The model file is damaged, foreign or not valid."""

    code_name = "model"


class PluginError(Error):
    """A plugin is not usable or broke its contract."""

    code_name = "plugin"


# By the codes of deputy.h.
CLASSES: dict[int, type[Error]] = {
    1: Cancelled,
    2: Error,
    3: InvalidArgument,
    4: DeadlineExceeded,
    5: NotFound,
    8: ResourceExhausted,
    9: FailedPrecondition,
    10: Aborted,
    12: NotSupported,
    13: Internal,
    14: Unavailable,
    15: DeviceLost,
    16: Incompatible,
    17: ConfigError,
    18: ModelError,
    19: PluginError,
}


def _rebuilt(kind: type[Error], message: str, code: int, place: str, advice: str) -> Error:
    return kind(message, code=code, place=place, advice=advice)


def error_of(code: int, code_name: str, message: str, place: str, advice: str) -> Error:
    """The exception for an error of the library; a code that this package does not know is an `Error`."""
    kind = CLASSES.get(code, Error)
    if kind in (NotFound, ModelError, ConfigError) and "No such file or directory" in message:
        kind = FileNotFound
    error = kind(message, code=code, place=place, advice=advice)
    error.code_name = code_name
    return error
