"""The Python API of ONNX Runtime on Deputy, for programs that change one import:

    import deputy.onnxruntime as onnxruntime

Written from ONNX Runtime's documented API. What Deputy does not have raises NotImplementedError with its name. A
session without providers, or with "DeputyExecutionProvider", has the configuration of this machine; with
"CPUExecutionProvider" alone it has the CPU.
"""

from __future__ import annotations

from typing import Any, NoReturn

from deputy.tools import version as _version

from ._metadata import ModelMetadata
from ._options import (
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    RunOptions,
    SessionOptions,
    set_default_logger_severity,
    set_default_logger_verbosity,
)
from ._session import InferenceSession, IOBinding, NodeArg, get_all_providers, get_available_providers
from ._values import OrtDevice, OrtValue

SessionIOBinding = IOBinding

__version__ = _version()
__all__ = [
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtDevice",
    "OrtValue",
    "RunOptions",
    "SessionIOBinding",
    "SessionOptions",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_device",
    "get_version_string",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_seed",
]


def get_device() -> str:
    """What the package was built for."""
    return "CPU"


def get_version_string() -> str:
    return __version__


def set_seed(seed: int) -> NoReturn:
    raise NotImplementedError("deputy.onnxruntime.set_seed: operators that draw numbers take their seed of the model")


def disable_telemetry_events() -> None:
    """There are none."""


def enable_telemetry_events() -> NoReturn:
    raise NotImplementedError("deputy.onnxruntime.enable_telemetry_events: there are none")


def __getattr__(name: str) -> Any:
    if name in _ABSENT:
        raise NotImplementedError(f"deputy.onnxruntime.{name}")
    raise AttributeError(f"module 'deputy.onnxruntime' has no attribute '{name}'")


# Of ONNX Runtime, and not here.
_ABSENT = frozenset(
    """AdapterFormat LoraAdapter ModelCompiler ModelPackage ModelPackageComponentContext ModelPackageContext
    ModelPackageOptions ModelPackageWriteMode OrtAllocatorType OrtArenaCfg OrtCompileApiFlags OrtDeviceMemoryType
    OrtDeviceVendorId OrtEpAssignedNode OrtEpAssignedSubgraph OrtEpContextData OrtEpContextDataBuffer OrtEpDevice
    OrtExecutionProviderDevicePolicy OrtExternalInitializerInfo OrtHardwareDevice OrtHardwareDeviceType OrtMemType
    OrtMemoryInfo OrtMemoryInfoDeviceType OrtSparseFormat OrtSyncStream SparseTensor copy_tensors
    create_and_register_allocator create_and_register_allocator_v2 get_build_info get_ep_devices has_collective_ops
    preload_dlls print_debug_info register_execution_provider_library set_default_logger_callback
    set_global_thread_pool_sizes unregister_execution_provider_library""".split()
)
