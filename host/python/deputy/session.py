"""Sessions: the runs of a model by one thread at a time, and requests that end later."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy.typing as npt

from . import _native, reports
from ._native import Buffer

if TYPE_CHECKING:
    from .model import Model

Array = npt.NDArray[Any]
# By names or in the model's order; an element of a sequence is a list. What is no array of NumPy may be one of another
# framework, or numbers of Python, which become arrays of the type that the model takes.
Inputs = Union[Mapping[str, Any], Sequence[Any], Array]
Outputs = dict[str, Any]
# Arrays that outputs are written to.
Out = Union[Mapping[str, Any], Sequence[Any], None]

_NS = 1_000_000_000
_IN_FLIGHT = 4  # of a session of the library


def _timeout_ns(seconds: float | None) -> int:
    """None is 0, no limit. A limit of nothing is the shortest one."""
    return 0 if seconds is None else max(1, round(seconds * _NS))


class Session:
    """Runs a model, for one thread at a time; any number of sessions of one model may run at once."""

    def __init__(self, model: Model, *, in_flight: int = _IN_FLIGHT, as_they_end: bool = False) -> None:
        self._take(model, _native.Session(model._native), in_flight)
        if in_flight != _IN_FLIGHT or as_they_end:
            self._native.set_in_flight(in_flight, as_they_end)

    @classmethod
    def _of(cls, model: Model, native: _native.Session) -> Session:
        made = cls.__new__(cls)
        made._take(model, native, _IN_FLIGHT)
        return made

    def _take(self, model: Model, native: _native.Session, in_flight: int) -> None:
        self._model = model
        self._native = native
        self._run = native.run
        self._in_flight = in_flight
        self._places: tuple[asyncio.AbstractEventLoop, asyncio.Semaphore] | None = None
        self._timeout: float | None = None

    @property
    def model(self) -> Model:
        return self._model

    def run(self, inputs: Inputs, out: Out = None, as_tensors: bool = False) -> Outputs:
        """The outputs by their names.

        Dense arrays are read in place; others are made dense, a copy. Results are arrays in memory of the library,
        without a copy, or the arrays of `out`, which they are written to; with `as_tensors` they are `deputy.Tensor`,
        for frameworks that read DLPack. Other threads run meanwhile, and must not change the inputs.
        """
        return self._run(inputs, out, as_tensors)

    def submit(
        self,
        inputs: Inputs,
        out: Out = None,
        *,
        timeout: float | None = -1.0,
        priority: int | None = None,
        as_tensors: bool = False,
    ) -> concurrent.futures.Future[Outputs]:
        """Returns at once, with the future of the outputs. `cancel` of the future ends the request.

        `timeout` counts from the call, in seconds: None is no limit, negative that of the session. Raises Unavailable
        where as many requests are in flight as the session was made for.
        """
        return _Request(self, inputs, out, timeout, priority, as_tensors)

    async def run_async(
        self,
        inputs: Inputs,
        out: Out = None,
        *,
        timeout: float | None = -1.0,
        priority: int | None = None,
        as_tensors: bool = False,
    ) -> Outputs:
        """The outputs, when they are there; until then the event loop runs other tasks. If the task is cancelled, so is
        the request. With as many requests of run_async in flight as the session was made for it waits for one of them
        to end; where those of `submit` have the places, it raises Unavailable."""
        loop = asyncio.get_running_loop()
        place = self._place(loop)
        await place.acquire()
        future: asyncio.Future[Outputs] = loop.create_future()

        def done(outputs: Outputs | None, error: BaseException | None) -> None:
            try:
                loop.call_soon_threadsafe(_resolve, future, place, outputs, error)
            except RuntimeError:  # the loop is closed: nothing waits any more
                pass

        try:
            number = self._native.submit(inputs, out, as_tensors, _request_timeout(timeout), priority, done)
        except BaseException:
            place.release()
            raise
        try:
            return await future
        except asyncio.CancelledError:  # its place is free when it has ended
            self._native.cancel_request(number)
            raise

    def _place(self, loop: asyncio.AbstractEventLoop) -> asyncio.Semaphore:
        if self._places is None or self._places[0] is not loop:
            self._places = (loop, asyncio.Semaphore(self._in_flight))
        return self._places[1]

    def cancel(self) -> None:
        """Ends the current run of another thread, and all requests, with Cancelled."""
        self._native.cancel()

    @property
    def timeout(self) -> float | None:
        """The limit of later runs in seconds; None: that of the configuration, or none once one was set."""
        return self._timeout

    @timeout.setter
    def timeout(self, seconds: float | None) -> None:
        self._native.set_timeout(_timeout_ns(seconds))
        self._timeout = seconds

    def set_hints(self, *, power_level: int = 0, precision: str = "", priority: int = 0) -> None:
        """Wishes that a delegate may follow or ignore: 1 low power to 4 extreme performance, 0 as configured; the least
        precise float type that may compute; of runs that wait for a delegate, the largest priority goes first."""
        self._native.set_hints(power_level, precision, priority)

    def resize(self, shapes: Sequence[Sequence[int]] | Mapping[str, Sequence[int]]) -> None:
        """Prepares for inputs of these shapes."""
        self._native.resize(self._model._shapes(shapes))

    def reset_states(self) -> None:
        """Sets values that the model holds between runs to their first ones."""
        self._native.reset_states()

    def enable_profiling(self, on: bool = True) -> None:
        """Measures the time of each delegate; `statistics` has it."""
        self._native.enable_profiling(on)

    def enable_events(self, on: bool = True) -> None:
        """Records each step of a run; `events` has them."""
        self._native.enable_events(on)

    @property
    def statistics(self) -> reports.RunStatistics:
        return reports.from_fields(reports.RunStatistics, self._native.statistics())

    @property
    def events(self) -> list[reports.RunEvent]:
        return [reports.from_fields(reports.RunEvent, one) for one in self._native.events()]

    @property
    def placement(self) -> reports.PlacementReport:
        """Of the shapes of the last run."""
        return reports.from_fields(reports.PlacementReport, self._native.placement(True))

    @property
    def delegate_shares(self) -> reports.PlacementReport:
        """The placement without partitions and nodes."""
        return reports.from_fields(reports.PlacementReport, self._native.placement(False))

    @property
    def traits(self) -> reports.ModelTraits:
        return reports.from_fields(reports.ModelTraits, self._native.traits())

    def measure_placement(
        self,
        inputs: Inputs,
        *,
        budget: float = 60.0,
        margin: float = 0.03,
        progress: Callable[[str, float], None] | None = None,
    ) -> reports.MeasureReport:
        """Searches for the fastest placement with these inputs, for at most `budget` seconds. `progress` gets each
        candidate, and the share of the time that is used."""
        fields = self._native.measure_placement(inputs, round(budget * _NS), margin, progress)
        return reports.from_fields(reports.MeasureReport, fields)

    def input_buffer(self, name: str) -> Buffer:
        """Memory for an input, of the device whose delegate reads it."""
        return self._native.input_buffer(name)

    def output_buffer(self, name: str) -> Buffer:
        """Memory for an output, of the device whose delegate writes it."""
        return self._native.output_buffer(name)

    def bind_input(self, name: str, buffer: Buffer | None) -> None:
        """Runs read the input there, until another buffer or None is bound; it is not among their inputs."""
        self._native.bind_input(name, buffer)

    def bind_output(self, name: str, buffer: Buffer | None) -> None:
        """Runs write the output there; among their outputs it is None."""
        self._native.bind_output(name, buffer)


def _request_timeout(seconds: float | None) -> int:
    return -1 if seconds is not None and seconds < 0 else _timeout_ns(seconds)


def _resolve(
    future: asyncio.Future[Outputs], place: asyncio.Semaphore, outputs: Outputs | None, error: BaseException | None
) -> None:
    place.release()
    if future.done():  # cancelled
        return
    if error is not None:
        future.set_exception(error)
    else:
        assert outputs is not None
        future.set_result(outputs)


class _Request(concurrent.futures.Future[Outputs]):
    def __init__(
        self, session: Session, inputs: Inputs, out: Out, timeout: float | None, priority: int | None, as_tensors: bool
    ) -> None:
        super().__init__()
        self._session = session._native
        self._number = session._native.submit(
            inputs, out, as_tensors, _request_timeout(timeout), priority, self._done
        )

    def _done(self, outputs: Outputs | None, error: BaseException | None) -> None:
        if not self.set_running_or_notify_cancel():
            return
        if error is not None:
            self.set_exception(error)
        else:
            assert outputs is not None
            self.set_result(outputs)

    def cancel(self) -> bool:
        cancelled = super().cancel()
        if cancelled:
            self._session.cancel_request(self._number)
        return cancelled
