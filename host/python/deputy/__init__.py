"""Deputy runs neural networks on the hardware that a device has, by delegates of its vendors.

    import deputy

    model = deputy.Model("model.onnx")
    outputs = model.run({"x": array})
"""

from __future__ import annotations

import atexit

from . import _native, reports
from ._native import Buffer, Tensor, allocate
from .context import Context, Progress
from .errors import (
    Aborted,
    Cancelled,
    ConfigError,
    DeadlineExceeded,
    DeviceLost,
    Error,
    FailedPrecondition,
    FileNotFound,
    Incompatible,
    Internal,
    InvalidArgument,
    ModelError,
    NotFound,
    NotSupported,
    PluginError,
    ResourceExhausted,
    Unavailable,
)
from .log import set_log_sink, use_logging
from .model import Model
from .reports import PlacementReport
from .session import Session
from .tools import (
    check_config,
    config_keys,
    config_schema,
    inspect,
    installation,
    read_tensor,
    shipped_configs,
    version,
    write_tensor,
)

__version__ = version()
__all__ = [
    "Aborted",
    "Buffer",
    "Cancelled",
    "ConfigError",
    "Context",
    "DeadlineExceeded",
    "DeviceLost",
    "Error",
    "FailedPrecondition",
    "FileNotFound",
    "Incompatible",
    "Internal",
    "InvalidArgument",
    "Model",
    "ModelError",
    "NotFound",
    "NotSupported",
    "PlacementReport",
    "PluginError",
    "Progress",
    "ResourceExhausted",
    "Session",
    "Tensor",
    "Unavailable",
    "__version__",
    "allocate",
    "check_config",
    "config_keys",
    "config_schema",
    "inspect",
    "installation",
    "read_tensor",
    "reports",
    "set_log_sink",
    "shipped_configs",
    "use_logging",
    "version",
    "write_tensor",
]

# Threads of the library call functions of Python, which must not happen after the interpreter has ended.
atexit.register(_native.close)
