"""Sessions: a model with the providers that it was given."""

from __future__ import annotations

import concurrent.futures
import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, Union

import numpy as np

import deputy
from deputy import reports
from deputy._names import nearest
from deputy.errors import InvalidArgument
from deputy.model import Source

from ._metadata import ModelMetadata, read_metadata
from ._options import RunOptions, SessionOptions, absent
from ._values import Array, OrtValue, array_at, dtype_of, host_only, ort_type

_DEPUTY = "DeputyExecutionProvider"
_CPU = "CPUExecutionProvider"
Provider = Union[str, "tuple[str, Mapping[str, Any]]"]


def get_available_providers() -> list[str]:
    """The configuration of this machine, and the CPU alone."""
    return [_DEPUTY, _CPU]


def get_all_providers() -> list[str]:
    return get_available_providers()


class NodeArg:
    """An input or output."""

    def __init__(self, info: reports.ValueInfo) -> None:
        self.name = info.name
        self.type = ort_type(info.dtype, info.kind)
        names = [None if name in ("", "?") else name for name in info.dims]
        self.shape: list[Any] = [extent if extent >= 0 else name for extent, name in zip(info.shape, names)]

    def __str__(self) -> str:
        return f"NodeArg(name='{self.name}', type='{self.type}', shape={self.shape})"

    __repr__ = __str__


class InferenceSession:
    """`providers` are names, or pairs of a name and options. The options of DeputyExecutionProvider are `config`, a
    configuration file or the name of a shipped one, and settings by their paths ("cpu.threads")."""

    def __init__(
        self,
        path_or_bytes: Source,
        sess_options: SessionOptions | None = None,
        providers: Sequence[Provider] | None = None,
        provider_options: Sequence[Mapping[str, Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        for name in kwargs:
            absent(f"InferenceSession({name}=)")
        self._source = path_or_bytes
        self._options = sess_options if sess_options is not None else SessionOptions()
        self._lock = threading.Lock()
        self._workers: concurrent.futures.ThreadPoolExecutor | None = None
        self.set_providers(_DEFAULT if providers is None else providers, provider_options)

    def set_providers(
        self, providers: Sequence[Provider], provider_options: Sequence[Mapping[str, Any]] | None = None
    ) -> None:
        """Reads the model anew."""
        self._providers = _usable(providers, provider_options)
        self._context = self._make_context()
        self._model = deputy.Model(self._source, config=self._context)
        self._with_given: dict[tuple[str, ...], deputy.Model] = {}
        self._output_names = [one.name for one in self._model.outputs]

    def _make_context(self) -> deputy.Context:
        settings: dict[str, Any] = {}
        if self._options.intra_op_num_threads > 0:
            settings["cpu.threads"] = self._options.intra_op_num_threads
        if _DEPUTY not in self._providers:
            return deputy.Context("cpu-only", settings=settings)
        options = dict(self._providers[_DEPUTY])
        config = options.pop("config", None)
        return deputy.Context(*([] if config is None else [config]), settings={**settings, **options})

    @property
    def deputy_model(self) -> deputy.Model:
        """The model, for what ONNX Runtime does not have: placements, reports."""
        return self._model

    def get_inputs(self) -> list[NodeArg]:
        return [NodeArg(one) for one in self._model.inputs]

    def get_outputs(self) -> list[NodeArg]:
        return [NodeArg(one) for one in self._model.outputs]

    def get_overridable_initializers(self) -> list[NodeArg]:
        names = self._model.inputs_with_default
        if not names:
            return []
        given = self._model_with(tuple(names))
        return [NodeArg(one) for one in given.inputs if one.name in names]

    def get_modelmeta(self) -> ModelMetadata:
        return read_metadata(self._source)

    def get_providers(self) -> list[str]:
        return list(self._providers)

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        return {name: {key: str(value) for key, value in options.items()} for name, options in self._providers.items()}

    def get_session_options(self) -> SessionOptions:
        return self._options

    def disable_fallback(self) -> None:
        """Without an effect: no session is made with other providers after a failure."""

    def enable_fallback(self) -> None:
        """Without an effect, as disable_fallback."""

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: RunOptions | None = None,
    ) -> list[Any]:
        """The outputs in the order of `output_names`; None: all. Any number of threads may call it."""
        names = self._checked(output_names)
        outputs = self._run(input_feed, None, run_options)
        return [outputs[name] for name in names]

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[Any, Any, str], None],
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """Returns at once; a thread calls callback(results, user_data, error), an empty text for no error."""
        names = self._checked(output_names)
        with self._lock:
            if self._workers is None:
                self._workers = concurrent.futures.ThreadPoolExecutor(os.cpu_count())

        def work() -> None:
            try:
                outputs = self._run(input_feed, None, run_options)
            except Exception as error:
                callback([], user_data, str(error))
            else:
                callback([outputs[name] for name in names], user_data, "")

        self._workers.submit(work)

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        names = self._checked(output_names)
        feed = {name: value._value for name, value in input_dict_ort_values.items()}
        outputs = self._run(feed, None, run_options)
        return [self._value(name, outputs[name]) for name in names]

    def io_binding(self) -> IOBinding:
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        iobinding._results = {}
        feed = {name: value._value for name, value in iobinding._inputs.items()}
        out = {name: value.numpy() for name, value in iobinding._outputs.items() if value is not None}
        outputs = self._run(feed, out or None, run_options)
        for name, bound in iobinding._outputs.items():
            iobinding._results[name] = self._value(name, outputs[name]) if bound is None else bound

    def _value(self, name: str, value: Any) -> OrtValue:
        info = self._model.outputs[self._output_names.index(name)]
        return OrtValue(value, info.kind, info.dtype)

    def _checked(self, output_names: Sequence[str] | None) -> Sequence[str]:
        if not output_names:
            return self._output_names
        for name in output_names:
            if name not in self._output_names:
                advice = nearest(name, self._output_names)
                raise InvalidArgument(f"Invalid output name:{name}", code=3, advice=advice)
        return output_names

    def _run(
        self, feed: Mapping[str, Any], out: Mapping[str, Any] | None, options: RunOptions | None
    ) -> dict[str, Any]:
        model = self._model
        if len(feed) != len(model.inputs):
            given = tuple(name for name in model.inputs_with_default if name in feed)
            if given:
                model = self._model_with(given)
        if options is None:
            return model.run(feed, out)
        with model.idle_session() as session:
            options._begin(session)
            try:
                return session.run(feed, out)
            finally:
                options._end(session)

    def _model_with(self, given: tuple[str, ...]) -> deputy.Model:
        with self._lock:
            if given not in self._with_given:
                self._with_given[given] = deputy.Model(self._source, config=self._context, given_inputs=given)
            return self._with_given[given]

    def __getattr__(self, name: str) -> Any:
        if name in _ABSENT_METHODS:
            absent(f"InferenceSession.{name}")
        raise AttributeError(f"'InferenceSession' object has no attribute '{name}'")


_DEFAULT: Sequence[Provider] = (_DEPUTY, _CPU)
_ABSENT_METHODS = frozenset(
    """create_ortvalue_from_shape_and_type end_profiling get_input_epdevices get_input_memory_infos
    get_output_memory_infos get_profiling_start_time_ns get_provider_graph_assignment_info get_tuning_results
    release_captured_graph run_with_ortvaluevector set_ep_dynamic_options set_tuning_results""".split()
)


def _usable(
    providers: Sequence[Provider], provider_options: Sequence[Mapping[str, Any]] | None
) -> dict[str, Mapping[str, Any]]:
    """Those that are available, with their options, and the CPU last. Others are left out with a warning."""
    if provider_options is not None and len(provider_options) != len(providers):
        raise ValueError("'providers' and 'provider_options' should be the same length if both are given.")
    found: dict[str, Mapping[str, Any]] = {}
    for index, provider in enumerate(providers):
        name, options = (provider, {}) if isinstance(provider, str) else provider
        if provider_options is not None:
            options = provider_options[index]
        if name in get_available_providers():
            found.setdefault(name, options)
        else:
            warnings.warn(
                f"Specified provider '{name}' is not in available provider names. Available providers: "
                f"'{', '.join(get_available_providers())}'",
                stacklevel=4,
            )
    found.setdefault(_CPU, {})
    return found


class IOBinding:
    """Inputs and outputs of runs by run_with_iobinding, in arrays of the program."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._inputs: dict[str, OrtValue] = {}
        self._outputs: dict[str, OrtValue | None] = {}
        self._results: dict[str, OrtValue] = {}

    def bind_cpu_input(self, name: str, arr_on_cpu: Array) -> None:
        self._inputs[name] = OrtValue.ortvalue_from_numpy(arr_on_cpu)

    def bind_input(
        self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int], buffer_ptr: int
    ) -> None:
        host_only(device_type)
        self._inputs[name] = OrtValue(array_at(buffer_ptr, shape, element_type))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        self._inputs[name] = ortvalue

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Without a shape and memory, each run makes an array."""
        host_only(device_type)
        self._session._checked([name])
        if buffer_ptr is not None:
            if element_type is None or shape is None:
                raise ValueError("`element_type` and `shape` are to be provided if pre-allocated memory is provided")
            self._outputs[name] = OrtValue(array_at(buffer_ptr, shape, element_type))
        elif shape is not None and element_type is not None:
            self._outputs[name] = OrtValue(np.zeros(tuple(shape), dtype_of(element_type)))
        else:
            self._outputs[name] = None

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        self._session._checked([name])
        self._outputs[name] = ortvalue

    def synchronize_inputs(self) -> None:
        """Nothing to wait for: all memory is the host's."""

    def synchronize_outputs(self) -> None:
        """Nothing to wait for: all memory is the host's."""

    def get_outputs(self) -> list[OrtValue]:
        """Of the last run, in the order in which they were bound."""
        return [self._results[name] for name in self._outputs if name in self._results]

    def copy_outputs_to_cpu(self) -> list[Any]:
        return [value._value for value in self.get_outputs()]

    def get_outputs_as_ortvaluevector(self) -> NoReturn:
        absent("IOBinding.get_outputs_as_ortvaluevector")

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()
        self._results.clear()
