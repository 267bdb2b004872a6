"""What the library reports, as dataclasses with the fields of deputy.h's reports. Times are in nanoseconds unless a
name says otherwise; host/include/deputy/ explains each field."""

from __future__ import annotations

import dataclasses
import typing
from dataclasses import dataclass, field
from typing import Any, TypeVar

R = TypeVar("R")


def from_fields(kind: type[R], fields: Any) -> R:
    """A report of this class. Fields that a newer library adds are left out, absent ones have their defaults."""
    hints = _hints(kind)
    return kind(**{name: _converted(hints[name], value) for name, value in fields.items() if name in hints})


_HINTS: dict[type, dict[str, Any]] = {}


def _hints(kind: type) -> dict[str, Any]:
    if kind not in _HINTS:
        _HINTS[kind] = typing.get_type_hints(kind)
    return _HINTS[kind]


def _converted(hint: Any, value: Any) -> Any:
    if isinstance(value, list):
        inner = typing.get_args(hint)
        return [_converted(inner[0], one) for one in value] if inner else value
    if isinstance(value, dict) and isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return from_fields(hint, value)
    return value


@dataclass(frozen=True)
class ValueInfo:
    """An input or output of a model: -1 is an extent that may differ from run to run, `dims` has its name."""

    name: str = ""
    dtype: str = ""
    ranked: bool = True
    shape: list[int] = field(default_factory=list)
    dims: list[str] = field(default_factory=list)
    kind: str = "tensor"


@dataclass(frozen=True)
class DeviceReport:
    """A device's clock, read back from the delegate; zero where the device does not report it."""

    device: str = ""
    level_requested: int = 0
    level_granted: int = 0
    frequency_requested_hz: int = 0
    frequency_granted_hz: int = 0
    busy_ns: int = 0
    runs: int = 0


@dataclass(frozen=True)
class DelegateReport:
    """A delegate and its share of the model."""

    name: str = ""
    id: str = ""
    plugin: str = ""
    nodes: int = 0
    partitions: int = 0
    multiply_adds: int = 0
    options: dict[str, str] = field(default_factory=dict)
    has_device: bool = False
    device: DeviceReport = field(default_factory=DeviceReport)


@dataclass(frozen=True)
class AbsentDelegate:
    """An entry of a configuration that could not be opened."""

    name: str = ""
    reason: str = ""
    has_failed: bool = False


@dataclass(frozen=True)
class DelegateListing:
    """The delegates of a configuration as they were opened."""

    delegates: list[DelegateReport] = field(default_factory=list)
    absent: list[AbsentDelegate] = field(default_factory=list)
    threads: int = 0


@dataclass(frozen=True)
class EstimateReport:
    """A delegate's estimate of a partition; -1: unknown."""

    latency_ns: int = -1
    memory_bytes: int = -1
    energy_nj: int = -1


@dataclass(frozen=True)
class PartitionReport:
    """Nodes that one delegate runs as a whole."""

    name: str = ""
    delegate: str = ""
    region: str = ""
    replaces: str = ""
    nodes: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    multiply_adds: int = 0
    executable: str = ""
    not_cached: str = ""
    overlaps: bool = False
    estimated: bool = False
    estimate: EstimateReport = field(default_factory=EstimateReport)


@dataclass(frozen=True)
class RefusalReport:
    """The reason why a delegate does not have a node."""

    delegate: str = ""
    reason: str = ""
    detail: str = ""


@dataclass(frozen=True)
class NodeReport:
    """A node with its owner."""

    name: str = ""
    op_type: str = ""
    domain: str = ""
    since_version: int = 0
    delegate: str = ""
    partition: str = ""
    region: str = ""
    multiply_adds: int = 0
    refusals: list[RefusalReport] = field(default_factory=list)


@dataclass(frozen=True)
class PlacementReport:
    """The placement of a model for one set of input shapes. A notebook shows it as a drawing with the reasons."""

    summary: str = ""
    delegates: list[DelegateReport] = field(default_factory=list)
    partitions: list[PartitionReport] = field(default_factory=list)
    nodes: list[NodeReport] = field(default_factory=list)
    multiply_adds: int = 0

    def __str__(self) -> str:
        from ._drawing import text_of

        return text_of(self)

    def _repr_html_(self) -> str:
        from ._drawing import html_of

        return html_of(self)


@dataclass(frozen=True)
class OptionReport:
    """An option of a delegate, as its schema declares it."""

    name: str = ""
    type: str = ""
    unit: str = ""
    default_value: str = ""
    choices: str = ""
    help: str = ""
    int_minimum: int = 0
    int_maximum: int = 0
    minimum: float = 0.0
    maximum: float = 0.0
    settable: bool = False


@dataclass(frozen=True)
class CapabilityReport:
    """A row of a delegate's declared capabilities."""

    op_type: str = ""
    domain: str = ""
    note: str = ""
    min_version: int = 0
    max_version: int = 0
    min_rank: int = 0
    max_rank: int = 0
    any_rank: bool = False
    dtypes: list[str] = field(default_factory=list)
    layouts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class DeviceListing:
    """A device as reported when the plugin was probed."""

    number: int = 0
    id: str = ""
    name: str = ""
    kind: str = ""
    driver: str = ""
    memory_bytes: int = 0
    frequency_hz: int = 0


@dataclass(frozen=True)
class PluginDelegateReport:
    """A delegate of a plugin."""

    id: str = ""
    description: str = ""
    available: bool = False
    unavailable: str = ""
    options: list[OptionReport] = field(default_factory=list)
    extensions: list[str] = field(default_factory=list)
    capabilities: list[CapabilityReport] = field(default_factory=list)
    enumerates: bool = False
    devices: list[DeviceListing] = field(default_factory=list)
    used_by: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class OpenedLibrary:
    """Another vendor's library that a plugin opens."""

    name: str = ""
    path: str = ""


@dataclass(frozen=True)
class PluginReport:
    """A file of a plugin folder, and the result of its check."""

    file: str = ""
    accepted: bool = False
    probed: bool = False
    rule: str = ""
    reason: str = ""
    id: str = ""
    vendor: str = ""
    version: str = ""
    abi: str = ""
    files: list[str] = field(default_factory=list)
    libraries: list[str] = field(default_factory=list)
    opens: list[OpenedLibrary] = field(default_factory=list)
    cpu_features: list[str] = field(default_factory=list)
    environment: list[str] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)
    sandbox: str = ""
    refused_calls: list[str] = field(default_factory=list)
    listed: bool = False
    delegates: list[PluginDelegateReport] = field(default_factory=list)
    lock: str = ""
    not_listed: str = ""


@dataclass(frozen=True)
class PluginListing:
    """The result of a scan."""

    folders: list[str] = field(default_factory=list)
    plugins: list[PluginReport] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Incident:
    """A run of a partition in which its delegate failed, or was found to compute wrongly."""

    time_ns: int = 0
    model: str = ""
    delegate: str = ""
    partition: str = ""
    nodes: int = 0
    failure: str = ""
    taken_over: str = ""


@dataclass(frozen=True)
class DelegateHealthReport:
    """The failures of one delegate."""

    name: str = ""
    failures: int = 0
    demoted_partitions: int = 0
    available: bool = True
    failing: bool = False
    retry_in_ms: int = 0


@dataclass(frozen=True)
class ReloadReport:
    """Which configuration is in force, and how reloads of it ended."""

    generation: int = 0
    since_ns: int = 0
    files: list[str] = field(default_factory=list)
    succeeded: int = 0
    failed: int = 0
    error: str = ""
    failed_at_ns: int = 0


@dataclass(frozen=True)
class HealthReport:
    """Failures of a context's delegates, since they were opened, and the configuration in force."""

    degraded: bool = False
    delegates: list[DelegateHealthReport] = field(default_factory=list)
    incidents: list[Incident] = field(default_factory=list)
    configuration: ReloadReport = field(default_factory=ReloadReport)


@dataclass(frozen=True)
class CacheEntry:
    """One entry of the cache: a file."""

    kind: str = ""
    key: str = ""
    file: str = ""
    bytes: int = 0
    last_use_ns: int = 0
    text: str = ""
    state: str = ""
    problem: str = ""
    model: str = ""
    plugin: str = ""
    plugin_version: str = ""
    plugin_file: str = ""
    delegate: str = ""
    device: str = ""
    stale: str = ""


@dataclass(frozen=True)
class CacheListing:
    """The cache of a configuration at one moment."""

    folder: str = ""
    max_bytes: int = 0
    entries: list[CacheEntry] = field(default_factory=list)
    off_by_setting: bool = False


@dataclass(frozen=True)
class QuarantinedPlugin:
    """A plugin file that is not run again after a fault."""

    key: str = ""
    file: str = ""
    plugin: str = ""
    rule: str = ""
    reason: str = ""
    since_ns: int = 0
    in_force: bool = False
    part: str = ""
    model: str = ""


@dataclass(frozen=True)
class ConfigProblem:
    """An error or a warning of a configuration."""

    error: bool = False
    file: str = ""
    line: int = 0
    column: int = 0
    message: str = ""
    place: str = ""
    code: str = ""


@dataclass(frozen=True)
class ConfigCheck:
    """All problems of a configuration."""

    files: list[str] = field(default_factory=list)
    problems: list[ConfigProblem] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ConfigKey:
    """A key of configuration files."""

    path: str = ""
    type: str = ""
    default_value: str = ""
    meaning: str = ""
    example: str = ""
    available: bool = True


@dataclass(frozen=True)
class InspectedNode:
    """A node of a model that was read but not placed."""

    name: str = ""
    op_type: str = ""
    domain: str = ""
    since_version: int = 0
    region: str = ""
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    multiply_adds: int = 0
    source: str = ""
    on_cpu: bool = False
    why_not: str = ""


@dataclass(frozen=True)
class ModelContents:
    """A model file as it was read."""

    format: str = ""
    file_bytes: int = 0
    metadata: dict[str, str] = field(default_factory=dict)
    inputs: list[ValueInfo] = field(default_factory=list)
    outputs: list[ValueInfo] = field(default_factory=list)
    states: list[ValueInfo] = field(default_factory=list)
    symbols: list[str] = field(default_factory=list)
    nodes: list[InspectedNode] = field(default_factory=list)
    regions: int = 0
    constants: int = 0
    parameters: int = 0
    constant_bytes: int = 0
    multiply_adds: int = 0
    problem: str = ""


@dataclass(frozen=True)
class InstallationReport:
    """The installed library and its parts."""

    version: str = ""
    plugin_abi: str = ""
    folder: str = ""
    worker: str = ""
    sandbox: str = ""
    kernels: str = ""
    cpus: int = 1
    distrust: str = ""
    environment_warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class MeasureReport:
    """The result of a search for the fastest placement; times are medians of a run."""

    summary: str = ""
    order_ns: int = 0
    best_ns: int = 0
    cpu_ns: int = 0
    candidates: int = 0
    complete: bool = True


@dataclass(frozen=True)
class RunStatistics:
    """Time of the last run, by delegates."""

    begin_ns: int = 0
    total_ns: int = 0
    delegate_ns: dict[str, int] = field(default_factory=dict)
    device_ns: list[int] = field(default_factory=list)
    delegate_nodes: dict[str, int] = field(default_factory=dict)
    buffer_copies: int = 0
    incidents: list[Incident] = field(default_factory=list)


@dataclass(frozen=True)
class RunEvent:
    """A step of the last run, or an operation of a delegate's device in it."""

    name: str = ""
    metadata: str = ""
    delegate: str = ""
    partition: str = ""
    nodes: list[str] = field(default_factory=list)
    op_types: list[str] = field(default_factory=list)
    begin_ns: int = 0
    end_ns: int = 0
    is_step: bool = False
    on_device_clock: bool = False
    is_related: bool = True
    bytes_in: int = 0
    bytes_out: int = 0
    bytes_moved: int = 0
    copies: int = 0
    bytes_copied: int = 0


@dataclass(frozen=True)
class ModelTraits:
    """What the tolerance of a comparison depends on."""

    nodes: int = 0
    quantized: bool = False
    drawing: bool = False
    computes_in: str = ""


@dataclass(frozen=True)
class PartitionVerification:
    """A partition, compared with the CPU."""

    delegate: str = ""
    plugin: str = ""
    partition: str = ""
    nodes: list[str] = field(default_factory=list)
    result: str = ""
    max_difference: float = 0.0
    detail: str = ""
    wrong_nodes: list[list[str]] = field(default_factory=list)
    case_folders: list[str] = field(default_factory=list)
    op_types: list[str] = field(default_factory=list)


# By the names of host/include/deputy/, where they differ.
CXX_NAMES = {"TensorInfo": "ValueInfo"}
