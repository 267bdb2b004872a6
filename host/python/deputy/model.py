"""Models that are ready to run."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Union

from . import _native, reports
from ._progress import Display
from .context import Context, Path, Progress, ProgressSink, Settings, context_of
from .errors import FailedPrecondition, InvalidArgument
from ._names import nearest
from .session import Array, Inputs, Out, Outputs, Session

# A file, or what is in one.
Source = Union[Path, bytes, bytearray, memoryview]
Shapes = Union[Mapping[str, Sequence[int]], Sequence[Sequence[int]]]
_FORMATS = {"auto": 0, "onnx": 1, "dpm": 2, "tflite": 3}


class Model:
    """A model file that was read and placed on delegates: ONNX, TensorFlow Lite or .dpm, or the bytes of one.

    `config` is a Context, a configuration file over those of this machine and user, or the name of a shipped one;
    `settings` override it. `progress` shows the stages of loading, or is called with each.

    `input_shapes` gives extents in place of those of the file, -1 makes one dynamic; `extra_outputs` names values that
    become outputs, `given_inputs` inputs that have a value in the file but are given in runs.

    Any thread may use a model. `run` is the shortest way; a `Session` has the rest.
    """

    def __init__(
        self,
        model: Source,
        config: Context | Path | None = None,
        *,
        settings: Settings = (),
        format: str = "auto",
        input_shapes: Mapping[str, Sequence[int]] | None = None,
        extra_outputs: Sequence[str] = (),
        given_inputs: Sequence[str] = (),
        progress: bool | ProgressSink | Callable[[Progress], None] = False,
    ) -> None:
        if format not in _FORMATS:
            raise InvalidArgument(f"there is no format '{format}'", code=3, advice=nearest(format, _FORMATS))
        self._context = context_of(config, settings)
        options = json.dumps(
            {
                "input_shapes": {name: list(shape) for name, shape in (input_shapes or {}).items()},
                "extra_outputs": list(extra_outputs),
                "given_inputs": list(given_inputs),
            }
        )
        if progress is False:
            self._build(model, format, self._context, options)
        else:
            context = self._context.copy()
            with Display() as display:
                context.set_progress(display if progress is True else progress)
                self._build(model, format, context, options)
        self._inputs = [reports.from_fields(reports.ValueInfo, one) for one in self._native.inputs()]
        self._outputs = [reports.from_fields(reports.ValueInfo, one) for one in self._native.outputs()]
        self._traits: dict[str, Any] = self._native.traits()
        self._idle: list[_native.Session] = []  # which have no reference to this object

    def _build(self, model: Source, format: str, context: Context, options: str) -> None:
        if isinstance(model, (bytes, bytearray, memoryview)):
            self._native = _native.Model.from_memory(model, _FORMATS[format], context._native, options)
        else:
            self._native = _native.Model.from_file(os.fspath(model), context._native, options)

    @property
    def context(self) -> Context:
        return self._context

    @property
    def inputs(self) -> list[reports.ValueInfo]:
        return self._inputs

    @property
    def outputs(self) -> list[reports.ValueInfo]:
        return self._outputs

    @property
    def metadata(self) -> dict[str, str]:
        """What the exporter wrote."""
        return dict(self._traits["metadata"])

    @property
    def inputs_with_default(self) -> list[str]:
        """Inputs of the file that have a value there, and may be among `given_inputs`."""
        return list(self._traits["inputs_with_default"])

    @property
    def has_states(self) -> bool:
        """Whether sessions hold values between runs."""
        return bool(self._traits["has_states"])

    def run(self, inputs: Inputs, out: Out = None, as_tensors: bool = False) -> Outputs:
        """As Session.run, in any number of threads at once: each run has a session that no other one uses."""
        session = self._idle_native() or self._new_native()
        try:
            return session.run(inputs, out, as_tensors)
        finally:
            self._idle.append(session)

    @contextlib.contextmanager
    def idle_session(self) -> Iterator[Session]:
        """The session of a `run`, for one that needs more: a session that no other run uses meanwhile."""
        session = self._idle_native() or self._new_native()
        try:
            yield Session._of(self, session)
        finally:
            self._idle.append(session)

    def _idle_native(self) -> _native.Session | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _new_native(self) -> _native.Session:
        if self.has_states:
            raise FailedPrecondition(
                "this model holds values between runs, which belong to a session",
                code=9,
                advice="use session() and its run",
            )
        return _native.Session(self._native)

    def session(self, *, in_flight: int = 4, as_they_end: bool = False) -> Session:
        """A new session. `in_flight` is the most requests at once, 1 to 1024; with `as_they_end` their results do not
        follow the order of the requests."""
        return Session(self, in_flight=in_flight, as_they_end=as_they_end)

    @property
    def placement(self) -> reports.PlacementReport:
        """Which delegate has each node, and why the others do not. A notebook draws it. With dynamic dimensions it is
        that of the last run; before a run, that of 1 for a dynamic leading dimension, as the command `deputy` has it.
        """
        is_dynamic = any(extent < 0 for one in self._inputs for extent in one.shape)
        session = self._idle_native() if is_dynamic else None
        if session is not None:
            try:
                return Session._of(self, session).placement
            finally:
                self._idle.append(session)
        shapes = [list(one.shape) if one.kind == "tensor" else [] for one in self._inputs]
        for shape in shapes:
            if shape and shape[0] < 0:
                shape[0] = 1
        is_known = all(extent >= 0 for shape in shapes for extent in shape)
        return self.placement_for(shapes if is_known else None)

    def placement_for(self, shapes: Shapes | None) -> reports.PlacementReport:
        """The same for inputs of these shapes; compiles what is missing."""
        given = None if shapes is None else self._shapes(shapes)
        return reports.from_fields(reports.PlacementReport, self._native.placement(given, False))

    def placed_graph(self, shapes: Shapes | None = None) -> dict[str, Any]:
        """The placement with the values and attributes of all nodes, by the names of deputy.h's report."""
        given = None if shapes is None else self._shapes(shapes)
        return dict(self._native.placement(given, True))

    def _shapes(self, shapes: Shapes) -> list[list[int]]:
        if not isinstance(shapes, Mapping):
            return [list(shape) for shape in shapes]
        for name in shapes:
            names = [one.name for one in self._inputs]
            if name not in names:
                raise InvalidArgument(f"the model has no input '{name}'", code=3, advice=nearest(name, names))
        return [list(shapes.get(one.name, one.shape)) for one in self._inputs]

    def verify(
        self,
        inputs: Inputs,
        *,
        rtol: float | None = None,
        atol: float | None = None,
        atol_scale: float | None = None,
        outliers: float | None = None,
        folder: Path = "",
    ) -> list[reports.PartitionVerification]:
        """Compares the partitions of each delegate with the CPU. `folder` gets a test case of each wrong one."""
        given = {"rtol": rtol, "atol": atol, "atol_scale": atol_scale, "outliers": outliers}
        options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if folder:
            options["folder"] = os.fspath(folder)
        found = self._native.verify(inputs, json.dumps(options))
        return [reports.from_fields(reports.PartitionVerification, one) for one in found]

    @property
    def health(self) -> reports.HealthReport:
        """Failures of the context's delegates, in other models as well."""
        return reports.from_fields(reports.HealthReport, self._native.health())

    def measured_placements(self) -> str:
        """The text of MODEL.placement.yaml, which a context under policy `measured` reads beside the model."""
        return str(self._native.measured_placements())

    def save(self, path: Path) -> None:
        """Writes .dpm, whose weights are mapped rather than read."""
        self._native.save(os.fspath(path))

    def allocate(self, name_or_dtype: str, shape: Sequence[int] | None = None) -> Array:
        """A zeroed array that delegates in other processes read in place: for an input by its name, or of this type."""
        for one in self._inputs:
            if one.name == name_or_dtype:
                return self._native.allocate(one.dtype, list(one.shape if shape is None else shape))
        return self._native.allocate(name_or_dtype, list(shape or ()))

    def __repr__(self) -> str:
        values = [f"{one.name}: {one.dtype} [{', '.join(one.dims)}]" for one in self._inputs + self._outputs]
        inputs, outputs = values[: len(self._inputs)], values[len(self._inputs) :]
        return f"<deputy.Model {', '.join(inputs)} -> {', '.join(outputs)}>"
