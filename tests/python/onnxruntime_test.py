"""deputy.onnxruntime: scripts run with ONNX Runtime and, with the import changed, with Deputy, and print the same."""

import inspect
import math
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from conftest import INT64, make_long_inputs, onnx_bytes, unary

import deputy
import deputy.onnxruntime as ort

reference = pytest.importorskip("onnxruntime")
SCRIPTS = sorted(path.name for path in (Path(__file__).parent / "onnxruntime_scripts").glob("*.py"))
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")
X = np.array([[-1, 2, -3]], np.float32)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Models that scripts read."""
    folder = tmp_path_factory.mktemp("models")
    top = onnx_bytes.node("TopK", ["x", "k"], ["values", "indices"], "top")
    inputs = [onnx_bytes.value_info("x", ["n", 3]), onnx_bytes.value_info("k", [1], INT64)]
    outputs = [onnx_bytes.value_info("values", ["n", ""]), onnx_bytes.value_info("indices", ["n", ""], INT64)]
    (folder / "two_outputs.onnx").write_bytes(onnx_bytes.model([top], inputs, outputs))
    split = onnx_bytes.node("SplitToSequence", ["x"], ["parts"], "split", axis=0)
    (folder / "sequence.onnx").write_bytes(
        onnx_bytes.model([split], [onnx_bytes.value_info("x", ["n", 3])], [onnx_bytes.sequence_info("parts", [1, 3])])
    )
    return folder


def printed(script, folder, models):
    done = subprocess.run([sys.executable, script, folder, models], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def same(line, other):
    """The same text, with numbers that differ by rounding."""
    numbers, others = NUMBER.findall(line), NUMBER.findall(other)
    return NUMBER.sub("#", line) == NUMBER.sub("#", other) and all(
        math.isclose(float(one), float(two), rel_tol=1e-3, abs_tol=2e-3) for one, two in zip(numbers, others)
    )


def test_there_are_ten():
    assert len(SCRIPTS) >= 10


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_prints_the_same(name, digits_folder, models, tmp_path):
    script = Path(__file__).parent / "onnxruntime_scripts" / name
    text = script.read_text(encoding="utf-8")
    changed, count = re.subn(r"^import onnxruntime as ort$", "import deputy.onnxruntime as ort", text, flags=re.M)
    assert count == 1
    (tmp_path / name).write_text(changed, encoding="utf-8")
    wanted, found = printed(script, digits_folder, models), printed(tmp_path / name, digits_folder, models)
    assert len(wanted) == len(found) and wanted
    for line, other in zip(wanted, found):
        assert same(line, other), (line, other)


def test_every_name_is_there_or_refused_by_name():
    """Of the module and of its classes: nothing is an AttributeError."""
    for name in vars(reference):
        if name.startswith("_") or inspect.ismodule(getattr(reference, name)):
            continue
        if name in ("cuda_version", "import_capi_exception", "package_name", "version", "annotations"):
            continue  # of its own build
        try:
            getattr(ort, name)
        except NotImplementedError as error:
            assert name in str(error)
    pairs = [(reference.SessionOptions, ort.SessionOptions()), (reference.RunOptions, ort.RunOptions()),
             (reference.OrtValue, ort.OrtValue(X)),
             (reference.NodeArg, ort.NodeArg(deputy.reports.ValueInfo()))]  # fmt: skip
    session = ort.InferenceSession(unary("Relu"), providers=["CPUExecutionProvider"])
    pairs += [(reference.InferenceSession, session), (reference.IOBinding, session.io_binding()),
              (reference.ModelMetadata, session.get_modelmeta())]  # fmt: skip
    for kind, made in pairs:
        for name in dir(kind):
            if not name.startswith("_"):
                try:
                    getattr(made, name)
                except NotImplementedError as error:
                    assert name in str(error)


def test_options_that_are_not_there_are_refused():
    options = ort.SessionOptions()
    wrong = {"enable_profiling": True, "optimized_model_filepath": "m.onnx", "use_per_session_threads": False}
    for name, value in wrong.items():
        with pytest.raises(NotImplementedError, match=name):
            setattr(options, name, value)
    with pytest.raises(AttributeError):
        options.intra_op_threads = 1
    with pytest.raises(NotImplementedError, match="register_custom_ops_library"):
        options.register_custom_ops_library("x.so")
    with pytest.raises(NotImplementedError, match="cuda"):
        ort.OrtValue.ortvalue_from_numpy(X, "cuda", 0)
    with pytest.raises(NotImplementedError, match="enable_fallback"):
        ort.InferenceSession(unary("Relu"), enable_fallback=1)


def test_provider_with_a_configuration(digits_folder):
    options = {"config": str(digits_folder / "digits.yaml"), "cpu.threads": 1}
    session = ort.InferenceSession(digits_folder / "digits.onnx", providers=[("DeputyExecutionProvider", options)])
    assert session.get_providers() == ["DeputyExecutionProvider", "CPUExecutionProvider"]
    placement = session.deputy_model.placement_for({"image": [1, 1, 28, 28]})
    assert [one.name for one in placement.delegates] == ["npu0", "onednn", "cpu"]
    same_options = ort.InferenceSession(digits_folder / "digits.onnx", None, ["DeputyExecutionProvider"], [options])
    assert same_options.get_provider_options()["DeputyExecutionProvider"]["cpu.threads"] == "1"


def test_unknown_provider_is_warned_of():
    with pytest.warns(UserWarning, match="CUDAExecutionProvider"):
        session = ort.InferenceSession(unary("Relu"), providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
    assert session.get_providers() == ["CPUExecutionProvider"]


def test_threads_of_a_session(digits_folder):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(digits_folder / "digits.onnx", options, providers=["CPUExecutionProvider"])
    assert session._context.delegates.threads == 1


def test_initializers_that_a_run_may_give():
    nodes = [onnx_bytes.node("Add", ["x", "w"], ["y"], "add")]
    text = onnx_bytes.model(nodes, [onnx_bytes.value_info("x", [3]), onnx_bytes.value_info("w", [3])],
                            [onnx_bytes.value_info("y", [3])],
                            initializers=[onnx_bytes.tensor([1, 1, 1], [3], "w")])  # fmt: skip
    session = ort.InferenceSession(text, providers=["CPUExecutionProvider"])
    assert [one.name for one in session.get_inputs()] == ["x"]
    assert [one.name for one in session.get_overridable_initializers()] == ["w"]
    assert session.run(None, {"x": X[0]})[0].tolist() == [0, 3, -2]
    assert session.run(None, {"x": X[0], "w": X[0]})[0].tolist() == [-2, 4, -6]


def test_terminate_ends_a_run(long_model, tmp_path):
    long_model.save(tmp_path / "long.dpm")
    session = ort.InferenceSession(tmp_path / "long.dpm", providers=["CPUExecutionProvider"])
    options, ended = ort.RunOptions(), threading.Event()

    def terminate():
        while not ended.is_set():
            options.terminate = True
            options.terminate = False

    thread = threading.Thread(target=terminate)
    thread.start()
    try:
        with pytest.raises(deputy.Cancelled):
            session.run(None, make_long_inputs(), options)
    finally:
        ended.set()
        thread.join()


def test_terminate_that_is_set_while_a_run_begins(monkeypatch):
    session = ort.InferenceSession(unary("Relu"), providers=["CPUExecutionProvider"])
    options, idle_session = ort.RunOptions(), deputy.Model.idle_session

    def late(model):
        options.terminate = True
        return idle_session(model)

    monkeypatch.setattr(deputy.Model, "idle_session", late)
    with pytest.raises(deputy.Cancelled, match="terminate flag"):
        session.run(None, {"x": X}, options)


def test_error_of_a_run_goes_to_the_callback():
    session = ort.InferenceSession(unary("Relu"), providers=["CPUExecutionProvider"])
    told, done = [], threading.Event()

    def callback(results, data, error):
        told.extend([results, data, error])
        done.set()

    session.run_async(None, {"x": X.astype(np.float64)}, callback, 7)
    assert done.wait(60) and told[:2] == [[], 7] and "float64" in told[2]


def test_values_by_dlpack():
    value = ort.OrtValue.from_dlpack(ort.OrtValue.ortvalue_from_numpy(X))
    assert (value.numpy() == X).all() and value.__dlpack_device__() == (1, 0)


def test_exceptions_by_their_names():
    from deputy.onnxruntime.capi import onnxruntime_pybind11_state as state

    with pytest.raises(state.NoSuchFile):
        ort.InferenceSession("nowhere.onnx", providers=["CPUExecutionProvider"])
    session = ort.InferenceSession(unary("Relu"), providers=["CPUExecutionProvider"])
    with pytest.raises(state.InvalidArgument):
        session.run(["z"], {"x": X})
    with pytest.raises(ValueError):
        session.run(None, {})


def test_metadata_of_another_format(digits, tmp_path):
    digits.save(tmp_path / "digits.dpm")
    session = ort.InferenceSession(tmp_path / "digits.dpm", providers=["CPUExecutionProvider"])
    assert session.get_modelmeta().graph_name == ""
