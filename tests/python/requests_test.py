"""Requests: asyncio, futures, cancellation, timeouts, and the end of the interpreter."""

import asyncio
import concurrent.futures
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from conftest import FLOAT, onnx_bytes, unary

import deputy

X = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)
RELU = np.maximum(X, 0)


def test_awaited_together(relu):
    async def main():
        session = relu.session(in_flight=3)
        outputs = await asyncio.gather(*(session.run_async({"x": X * i}) for i in range(1, 50)))
        for i, one in enumerate(outputs, 1):
            assert (one["y"] == RELU * i).all()
        out = np.zeros((2, 3), np.float32)
        assert (await session.run_async([X], out=[out]))["y"] is out and (out == RELU).all()

    asyncio.run(main())


def test_session_is_used_in_two_loops(relu):
    session = relu.session(in_flight=1)

    async def main():
        return await asyncio.gather(*(session.run_async([X]) for _ in range(4)))

    assert len(asyncio.run(main())) == len(asyncio.run(main())) == 4


def test_loop_runs_other_tasks_meanwhile(long_model, long_inputs):
    async def main():
        session = long_model.session(in_flight=1)
        task = asyncio.create_task(session.run_async(long_inputs))
        for _ in range(100):
            done, _ = await asyncio.wait({task}, timeout=0)
            assert not done
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # The next one waits for the end of the request, since the session takes one at a time.
        outputs = await session.run_async({"count": np.array(1, np.int64), "x": long_inputs["x"]})
        assert outputs["y"].shape == (4096,)

    asyncio.run(main())


def test_errors_are_raised_where_it_is_awaited(relu):
    async def main():
        session = relu.session()
        with pytest.raises(deputy.InvalidArgument, match="float64"):
            await session.run_async([X.astype(np.float64)])
        with pytest.raises(deputy.InvalidArgument, match="missing"):
            await session.run_async({})

    asyncio.run(main())


def test_timeout_of_a_request(long_model, long_inputs):
    session = long_model.session()
    with pytest.raises(TimeoutError) as caught:
        asyncio.run(session.run_async(long_inputs, timeout=0.01))
    assert isinstance(caught.value, deputy.DeadlineExceeded) and caught.value.code == 4


def test_timeout_of_a_session(long_model, long_inputs):
    session = long_model.session()
    session.timeout = 0.01
    assert session.timeout == 0.01
    with pytest.raises(deputy.DeadlineExceeded):
        session.run(long_inputs)


def test_cancel_from_another_thread(long_model, long_inputs):
    session = long_model.session()
    ended = threading.Event()

    def cancel():
        while not ended.is_set():  # the run may not have begun
            session.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    try:
        with pytest.raises(deputy.Cancelled):
            session.run(long_inputs)
    finally:
        ended.set()
        thread.join()


def test_futures(relu):
    session = relu.session(in_flight=8)
    futures = [session.submit([X * i]) for i in range(8)]
    done, _ = concurrent.futures.wait(futures)
    assert len(done) == 8
    assert all((future.result()["y"] == RELU * i).all() for i, future in enumerate(futures))


def test_results_that_cannot_be_made_are_an_error(monkeypatch):
    """NumPy has no bfloat16 without ml_dtypes; the output after it is released as well."""
    nodes = [onnx_bytes.node("Cast", ["x"], ["narrow"], "narrow", to=16), onnx_bytes.node("Relu", ["x"], ["y"], "relu")]
    outputs = [onnx_bytes.value_info("narrow", [2, 3], 16), onnx_bytes.value_info("y", [2, 3], FLOAT)]
    text = onnx_bytes.model(nodes, [onnx_bytes.value_info("x", [2, 3])], outputs, opset=21)
    session = deputy.Model(text, config="cpu-only").session()
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(TypeError, match="pip install ml_dtypes"):
        session.submit([X]).result(timeout=60)
    with pytest.raises(TypeError, match="pip install ml_dtypes"):
        asyncio.run(asyncio.wait_for(session.run_async([X]), 60))
    with pytest.raises(TypeError, match="pip install ml_dtypes"):
        session.run([X])


def test_future_is_cancelled(long_model, long_inputs):
    session = long_model.session()
    future = session.submit(long_inputs)
    assert future.cancel()
    with pytest.raises(concurrent.futures.CancelledError):
        future.result()


def test_too_many_in_flight(long_model, long_inputs):
    session = long_model.session(in_flight=1)
    future = session.submit(long_inputs)
    with pytest.raises(deputy.Unavailable):
        session.submit(long_inputs)
    future.cancel()


def test_reports_wait_for_requests(long_model, long_inputs):
    session = long_model.session()
    future = session.submit(long_inputs)
    for ask in (lambda: session.statistics, lambda: session.events, lambda: session.placement, session.enable_events):
        with pytest.raises(deputy.FailedPrecondition, match="in flight"):
            ask()
    future.cancel()


def test_session_goes_while_its_request_runs(relu):
    """The last reference is then that of the callback, in a thread of the session."""
    for _ in range(20):
        results = [relu.session().submit([X]) for _ in range(4)]
        for future in results:
            assert (future.result()["y"] == RELU).all()


def run(source):
    return subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120)


MODEL = f"""
import asyncio, threading, numpy as np, deputy
model = deputy.Model({unary("Relu")!r}, config="cpu-only")
x = np.ones((2, 3), np.float32)
"""


@pytest.mark.parametrize(
    "source",
    [
        "futures = [model.session().submit([x]) for _ in range(8)]",
        "deputy.set_log_sink(lambda *_: None)\nmodel.run([x])",
        "session = model.session(in_flight=100)\n[session.submit([x]) for _ in range(100)]",
        "def forever():\n  while True: model.run([x])\n"
        "for _ in range(4): threading.Thread(target=forever, daemon=True).start()\nmodel.run([x])",
        "def forever():\n  while True: model.session().run([x])\n"
        "for _ in range(4): threading.Thread(target=forever, daemon=True).start()\nmodel.run([x])",
        "def forever():\n  while True: deputy.Context('cpu-only').load()\n"
        "for _ in range(4): threading.Thread(target=forever, daemon=True).start()\nmodel.run([x])",
        "async def main():\n  session = model.session()\n  asyncio.create_task(session.run_async([x]))\n"
        "asyncio.run(main())",
    ],
    ids=["futures", "log", "many", "daemon threads", "daemon threads with sessions", "daemon threads with contexts",
         "task of a closed loop"],
)
def test_interpreter_ends(source):
    done = run(MODEL + source)
    assert done.returncode == 0, done.stderr
    assert "Fatal" not in done.stderr and "terminate" not in done.stderr


def test_interpreter_ends_a_long_run():
    source = f"""
import sys, threading
sys.path.insert(0, {str(Path(__file__).parent)!r})
import conftest
model, inputs, begun = conftest.make_long_model(), conftest.make_long_inputs(), threading.Event()
def work():
    begun.set()
    model.run(inputs)
threading.Thread(target=work, daemon=True).start()
begun.wait()
"""
    done = run(source)
    assert done.returncode == 0, done.stderr
