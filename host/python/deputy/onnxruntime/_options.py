"""Options of sessions and runs."""

from __future__ import annotations

import enum
import logging
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from deputy.errors import Cancelled
from deputy.log import set_log_sink

if TYPE_CHECKING:
    from deputy.session import Session


class GraphOptimizationLevel(enum.IntEnum):
    """Deputy always rewrites a graph by rules that keep its results; the levels have no effect."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """Deputy overlaps partitions where that pays; the modes have no effect."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(enum.IntEnum):
    """Nodes run in an order of Deputy's own; the values have no effect."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


def absent(name: str) -> NoReturn:
    raise NotImplementedError(f"deputy.onnxruntime.{name}")


class SessionOptions:
    """`intra_op_num_threads` is the number of threads of a session. Options of ONNX Runtime's own memory and graph
    passes are kept and have no effect."""

    __slots__ = (
        "_config_entries",
        "_enable_profiling",
        "_optimized_model_filepath",
        "_use_per_session_threads",
        "enable_cpu_mem_arena",
        "enable_mem_pattern",
        "enable_mem_reuse",
        "execution_mode",
        "execution_order",
        "graph_optimization_level",
        "inter_op_num_threads",
        "intra_op_num_threads",
        "log_severity_level",
        "log_verbosity_level",
        "logid",
        "profile_file_prefix",
        "use_deterministic_compute",
    )

    def __init__(self) -> None:
        self._config_entries: dict[str, str] = {}
        self._enable_profiling = False
        self._optimized_model_filepath = ""
        self._use_per_session_threads = True
        self.enable_cpu_mem_arena = True
        self.enable_mem_pattern = True
        self.enable_mem_reuse = True
        self.execution_mode = ExecutionMode.ORT_SEQUENTIAL
        self.execution_order = ExecutionOrder.DEFAULT
        self.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
        self.inter_op_num_threads = 0
        self.intra_op_num_threads = 0
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.profile_file_prefix = "onnxruntime_profile_"
        self.use_deterministic_compute = False

    @property
    def enable_profiling(self) -> bool:
        return self._enable_profiling

    @enable_profiling.setter
    def enable_profiling(self, on: bool) -> None:
        if on:
            absent("SessionOptions.enable_profiling: use deputy.Session.enable_profiling")

    @property
    def optimized_model_filepath(self) -> str:
        return self._optimized_model_filepath

    @optimized_model_filepath.setter
    def optimized_model_filepath(self, path: str) -> None:
        if path:
            absent("SessionOptions.optimized_model_filepath: use deputy.Model.save")

    @property
    def use_per_session_threads(self) -> bool:
        return self._use_per_session_threads

    @use_per_session_threads.setter
    def use_per_session_threads(self, on: bool) -> None:
        if not on:
            absent("SessionOptions.use_per_session_threads = False")

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Kept, without an effect."""
        self._config_entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        if key not in self._config_entries:
            raise RuntimeError(f"SessionOptions does not have configuration with key: {key}")
        return self._config_entries[key]

    def __getattr__(self, name: str) -> Any:
        if name in _ABSENT_SESSION_OPTIONS:
            absent(f"SessionOptions.{name}")
        raise AttributeError(f"'SessionOptions' object has no attribute '{name}'")


_ABSENT_SESSION_OPTIONS = frozenset(
    """add_external_initializers add_external_initializers_from_files_in_memory
    add_free_dimension_override_by_denotation add_free_dimension_override_by_name add_initializer add_provider
    add_provider_for_devices clear_ep_context_data_read_func has_providers register_custom_ops_library
    set_ep_context_data_read_func set_load_cancellation_flag set_provider_selection_policy
    set_provider_selection_policy_delegate""".split()
)


class RunOptions:
    """`terminate`, set by another thread, ends the runs that have these options."""

    __slots__ = (
        "_config_entries",
        "_lock",
        "_sessions",
        "_terminate",
        "log_severity_level",
        "log_verbosity_level",
        "logid",
        "only_execute_path_to_fetches",
    )

    def __init__(self) -> None:
        self._config_entries: dict[str, str] = {}
        self._lock = threading.Lock()
        self._sessions: list[Session] = []
        self._terminate = False
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.only_execute_path_to_fetches = False

    @property
    def terminate(self) -> bool:
        return self._terminate

    @terminate.setter
    def terminate(self, on: bool) -> None:
        with self._lock:
            self._terminate = on
            sessions = list(self._sessions) if on else []
        for session in sessions:
            session.cancel()

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Kept, without an effect."""
        self._config_entries[key] = value

    def get_run_config_entry(self, key: str) -> str:
        if key not in self._config_entries:
            raise RuntimeError(f"RunOptions does not have configuration with key: {key}")
        return self._config_entries[key]

    def add_active_adapter(self, adapter: object) -> NoReturn:
        absent("RunOptions.add_active_adapter")

    def _begin(self, session: Session) -> None:
        with self._lock:  # `terminate` is then either seen here, or ends the run
            if self._terminate:
                raise Cancelled("Exiting due to terminate flag being set to true.", code=1)
            self._sessions.append(session)

    def _end(self, session: Session) -> None:
        with self._lock:
            self._sessions.remove(session)


# Of ONNX Runtime: 0 verbose, 1 info, 2 warning, 3 error, 4 fatal.
_SEVERITIES: Sequence[int] = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)
_severity = logging.WARNING


def set_default_logger_severity(severity: int) -> None:
    """The least severe message that is printed, 0 to 4."""
    global _severity
    if not 0 <= severity < len(_SEVERITIES):
        raise ValueError(f"a severity is 0 to 4, not {severity}")
    _severity = _SEVERITIES[severity]
    set_log_sink(_print)


def set_default_logger_verbosity(verbosity: int) -> None:
    """Without an effect: there is one level of verbose messages."""


def _print(level: int, source: str, message: str) -> None:
    import sys

    if level >= _severity:
        print(f"[deputy:{source}] {message}", file=sys.stderr)
