"""Threads: the library computes without the GIL, a model runs in any number of them, and nothing leaks."""

import gc
import os
import sys
import threading
import weakref

import numpy as np
import pytest
from conftest import onnx_bytes, unary

import deputy

X = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)


def test_gil_is_released_in_a_run(long_model, long_inputs):
    session = long_model.session()
    errors = []

    def work():
        try:
            session.run(long_inputs)
        except deputy.Cancelled as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():  # this thread runs although the other one computes
        session.cancel()
    assert len(errors) == 1


def test_second_thread_in_a_session_is_refused(long_model, long_inputs):
    session = long_model.session()
    thread = threading.Thread(target=lambda: pytest.raises(deputy.Cancelled, session.run, long_inputs))
    thread.start()
    refused = None
    while refused is None and thread.is_alive():
        try:
            session.run({})
        except deputy.FailedPrecondition as error:
            refused = error
        except deputy.InvalidArgument:  # the other one has not begun
            pass
    while thread.is_alive():
        session.cancel()
    assert "another thread" in str(refused)


def test_many_threads_run_one_model(digits, pictures):
    wanted = digits.run([pictures])["logits"]
    wrong = []

    def work():
        for _ in range(50):
            if not (digits.run([pictures])["logits"] == wanted).all():
                wrong.append(threading.current_thread().name)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def least_growth(once, runs, rounds=4):
    """Of several rounds: caches and arenas grow in some of them, a leak in each."""
    growths = []
    for _ in range(rounds):
        before = resident_bytes()
        for _ in range(runs):
            once()
        growths.append(resident_bytes() - before)
    return min(growths)


@pytest.mark.parametrize("way", ["run", "out", "as_tensors", "refused", "submit", "sessions"])
def test_nothing_leaks(way):
    """A leak of the smallest object, 16 bytes, in each run would be seen."""
    model = deputy.Model(unary("Relu"), config="cpu-only")
    session = model.session()
    out = [np.empty((2, 3), np.float32)]

    def once():
        if way == "run":
            model.run({"x": X})
        elif way == "out":
            model.run([X], out=out)
        elif way == "as_tensors":
            np.from_dlpack(model.run([X], as_tensors=True)["y"])
        elif way == "refused":
            with pytest.raises(ValueError):
                session.run({"y": X})
        elif way == "submit":
            session.submit([X]).result()
        else:
            model.session().run([X])

    runs = {"run": 100_000, "out": 100_000}.get(way, 20_000)
    assert least_growth(once, runs) < 4 * runs


def test_results_that_cannot_be_made_are_freed(monkeypatch):
    """Outputs after one of a type that NumPy does not have."""
    nodes = [onnx_bytes.node("Cast", ["x"], ["narrow"], to=16), onnx_bytes.node("Neg", ["x"], ["y"])]
    outputs = [onnx_bytes.value_info("narrow", [4096], 16), onnx_bytes.value_info("y", [4096])]
    text = onnx_bytes.model(nodes, [onnx_bytes.value_info("x", [4096])], outputs, opset=21)
    session = deputy.Model(text, config="cpu-only").session()
    x = np.ones(4096, np.float32)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)

    def once():
        with pytest.raises(TypeError):
            session.run([x])
        assert isinstance(session.submit([x]).exception(), TypeError)

    assert least_growth(once, 500) < 500 * 1024


def test_models_and_contexts_are_freed():
    """At once: no collection of cycles runs."""
    text = unary("Relu")

    def once():
        deputy.Model(text, config=deputy.Context("cpu-only")).run([X])

    assert least_growth(once, 50) < 50 * 1024


def test_a_model_is_freed_at_once():
    """By its last reference, without a collection of cycles."""
    gc.disable()
    try:
        model = deputy.Model(unary("Relu"), config="cpu-only")
        model.run([X])
        assert model.placement.nodes
        with model.idle_session() as session:
            session.run([X])
        del session
        seen = weakref.ref(model)
        del model
        assert seen() is None
    finally:
        gc.enable()
