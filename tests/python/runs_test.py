"""Runs: what is given and what comes back, without copies where the memory allows it."""

import sys

import ml_dtypes
import numpy as np
import pytest
from conftest import INT64, onnx_bytes, unary

import deputy

X = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)
RELU = np.maximum(X, 0)


def test_inputs_by_name_and_in_order(add):
    by_name = add.run({"b": X, "a": RELU})["y"]
    assert (by_name == X + RELU).all()
    assert (add.run([RELU, X])["y"] == by_name).all()


def test_one_input_alone(relu):
    assert (relu.run(X)["y"] == RELU).all()


def test_result_owns_memory_of_the_library(relu):
    result = relu.run({"x": X})["y"]
    assert not result.flags.owndata and result.flags.writeable and result.base is not None
    kept = result.copy()
    for _ in range(10):
        relu.run({"x": np.full((2, 3), 7, np.float32)})
    assert (result == kept).all()


@pytest.mark.parametrize(
    "array_on", [lambda data: memoryview(data).cast("f"), lambda data: np.frombuffer(data, np.float32)],
    ids=["memoryview", "numpy"],
)  # fmt: skip
def test_dense_input_is_read_in_place(long_model, long_inputs, array_on):
    """While the run reads it, its memory cannot be resized, although the program has no array on it any more."""
    session = long_model.session()
    data = bytearray(4 * 4096)
    future = session.submit({"count": long_inputs["count"], "x": array_on(data)})
    with pytest.raises(BufferError):
        data.append(0)
    session.cancel()
    with pytest.raises(deputy.Cancelled):
        future.result()


def test_inputs_are_given_back_and_may_be_read_only():
    model = deputy.Model(unary("Neg"), config="cpu-only")
    array = X.copy()
    count = sys.getrefcount(array)
    assert (model.run([array])["y"] == -X).all()
    assert sys.getrefcount(array) == count
    array.setflags(write=False)
    assert (model.run([array])["y"] == -X).all()


@pytest.mark.parametrize(
    "array",
    [np.asfortranarray(X), X.astype(">f4"), np.repeat(X, 2, axis=1)[:, ::2], X.tolist(), [tuple(row) for row in X]],
    ids=["fortran", "big_endian", "strided", "list", "tuples"],
)
def test_what_is_not_dense_is_copied(relu, array):
    assert (relu.run({"x": array})["y"] == RELU).all()


def test_unaligned_input_is_copied(relu):
    raw = np.zeros(X.nbytes + 1, np.uint8)
    unaligned = raw[1:].view(np.float32).reshape(2, 3)
    unaligned[...] = X
    assert not unaligned.flags.aligned
    assert (relu.run({"x": unaligned})["y"] == RELU).all()


def test_objects_with_a_buffer(relu):
    import array

    model = deputy.Model(unary("Relu", (3,)), config="cpu-only")
    assert (model.run({"x": array.array("f", [-1, 2, -3])})["y"] == RELU[0]).all()
    assert (relu.run({"x": memoryview(X)})["y"] == RELU).all()


def test_scalars():
    model = deputy.Model(unary("Neg", ()), config="cpu-only")
    for given in (2.5, np.float32(2.5), np.array(2.5, np.float32)):
        result = model.run({"x": given})["y"]
        assert result.shape == () and result == -2.5


def test_outputs_are_written_in_place(relu):
    out = np.zeros((2, 3), np.float32)
    result = relu.run({"x": X}, out={"y": out})["y"]
    assert result is out and (out == RELU).all()
    assert relu.run([X], out=[out])["y"] is out


def test_an_output_that_does_not_fit_is_refused(relu):
    with pytest.raises(deputy.InvalidArgument):
        relu.run({"x": X}, out={"y": np.zeros((3, 3), np.float32)})
    with pytest.raises(TypeError, match="dense, aligned and writable"):
        relu.run({"x": X}, out={"y": np.zeros((3, 2), np.float32).T})
    for other in (X.tolist(), OfAnotherFramework(np.zeros((2, 3), np.float32))):
        with pytest.raises(TypeError, match=f"arrays of NumPy, not {type(other).__name__}"):
            relu.run({"x": X}, out={"y": other})
    frozen = np.zeros((2, 3), np.float32)
    frozen.setflags(write=False)
    with pytest.raises(TypeError, match="writable"):
        relu.run({"x": X}, out={"y": frozen})
    with pytest.raises(deputy.InvalidArgument, match="no output 'z'"):
        relu.run({"x": X}, out={"z": np.zeros((2, 3), np.float32)})


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"picture": 1}, "no input 'picture'; did you mean 'pictures'"),
        ({}, "input 'pictures' is missing"),
        ({"pictures": X, "other": X}, "no input 'other'"),
        ([X, X], "2 inputs are given, but the model has 1"),
        ([], "missing are 'pictures'"),
    ],
)
def test_names_are_checked(inputs, message):
    nodes = [onnx_bytes.node("Relu", ["pictures"], ["y"])]
    text = onnx_bytes.model(nodes, [onnx_bytes.value_info("pictures", [2, 3])], [onnx_bytes.value_info("y", [2, 3])])
    model = deputy.Model(text, config="cpu-only")
    with pytest.raises(deputy.InvalidArgument) as caught:
        model.run(inputs)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"a": X, "b": None}, "the input 'b' is missing"),
        ({"a": None, "b": X}, "the input 'a' is missing"),
        ([X, None], "the input 'b' is missing"),
        ([X], "1 inputs are given, but the model has 2; missing are 'b'"),
        ({"a": X, "c": X}, "the model has no input 'c'; known are 'b'"),
        ({"a": X, "b": X, 7: X}, "the model has no input '7'; known are 'a', 'b'"),
        ({"c": X, "b": X}, "the model has no input 'c'; known are 'a'"),
    ],
)
def test_missing_inputs_are_named(add, inputs, message):
    session = add.session()
    for use in (add.run, session.run, session.submit, session.measure_placement, add.verify):
        with pytest.raises(deputy.InvalidArgument) as caught:
            use(inputs)
        assert str(caught.value) == message


def test_inputs_that_change_while_they_are_read(add):
    """What reads the first input may remove the second one."""

    class Clears:
        def __init__(self, given):
            self.given = given

        def __array__(self, dtype=None, copy=None):
            self.given.clear()
            return np.zeros((2, 3), np.float32)

    by_name, in_order = {}, []
    by_name.update(a=Clears(by_name), b=X.copy())
    in_order.extend([Clears(in_order), X.copy()])
    for inputs in (by_name, in_order):
        with pytest.raises(deputy.InvalidArgument, match="'b'"):
            add.run(inputs)


def test_element_types_are_not_converted(relu):
    with pytest.raises(deputy.InvalidArgument, match="float64, the model takes float32"):
        relu.run({"x": X.astype(np.float64)})
    with pytest.raises(TypeError, match="no values of type"):
        relu.run({"x": X.astype(np.complex64)})
    with pytest.raises(TypeError):
        relu.run({"x": "text"})
    for dtype in ("S0", "V0", "O", "M8[s]", "g", [("a", "f4")]):
        with pytest.raises(TypeError):
            relu.run({"x": np.zeros((2, 3), dtype)})


@pytest.mark.parametrize(
    ("number", "dtype"),
    [(1, "f4"), (11, "f8"), (10, "f2"), (2, "u1"), (3, "i1"), (4, "u2"), (5, "i2"), (6, "i4"), (7, "i8"), (9, "?"),
     (12, "u4"), (13, "u8")],
)  # fmt: skip
def test_every_type_of_numpy(number, dtype):
    model = deputy.Model(unary("Identity", (2, 3), number), config="cpu-only")
    array = np.array([[0, 1, 0], [1, 1, 0]]).astype(dtype)
    result = model.run({"x": array})["y"]
    assert result.dtype == array.dtype and (result == array).all()


@pytest.mark.parametrize(
    ("number", "dtype"),
    [(16, ml_dtypes.bfloat16), (17, ml_dtypes.float8_e4m3fn), (18, ml_dtypes.float8_e4m3fnuz),
     (19, ml_dtypes.float8_e5m2), (20, ml_dtypes.float8_e5m2fnuz)],
)  # fmt: skip
def test_types_of_ml_dtypes(number, dtype):
    nodes = [onnx_bytes.node("Cast", ["x"], ["w"], "wide", to=1), onnx_bytes.node("Neg", ["w"], ["n"], "neg"),
             onnx_bytes.node("Cast", ["n"], ["y"], "narrow", to=number)]  # fmt: skip
    text = onnx_bytes.model(nodes, [onnx_bytes.value_info("x", ["n"], number)],
                            [onnx_bytes.value_info("y", ["n"], number)], opset=21)  # fmt: skip
    model = deputy.Model(text, config="cpu-only")
    array = np.array([0.5, -1.5, 2], dtype)
    result = model.run({"x": array})["y"]
    assert result.dtype == np.dtype(dtype)
    assert (result.astype(np.float32) == [-0.5, 1.5, -2]).all()
    assert (model.run({"x": [0.5, -1.5, 2]})["y"].astype(np.float32) == [-0.5, 1.5, -2]).all()
    out = np.zeros(3, dtype)
    assert model.run({"x": array}, out=[out])["y"] is out and out[0] == dtype(-0.5)


@pytest.mark.parametrize(("number", "dtype", "values"), [
    (22, ml_dtypes.int4, [-8, 7, 0, -1, 3]), (21, ml_dtypes.uint4, [0, 15, 8, 7, 1]),
    (22, ml_dtypes.int4, [[1, -2], [3, -4]]),
])  # fmt: skip
def test_packed_types_are_unpacked(number, dtype, values):
    array = np.array(values, dtype)
    shape = list(array.shape)
    nodes = [onnx_bytes.node("Cast", ["x"], ["wide"], "wide", to=6),
             onnx_bytes.node("Cast", ["wide"], ["y"], "y", to=number)]  # fmt: skip
    text = onnx_bytes.model(nodes, [onnx_bytes.value_info("x", shape, number)],
                            [onnx_bytes.value_info("y", shape, number), onnx_bytes.value_info("wide", shape, 6)],
                            opset=21)  # fmt: skip
    results = deputy.Model(text, config="cpu-only").run({"x": array})
    assert (results["wide"] == np.array(values)).all()
    assert results["y"].dtype == np.dtype(dtype) and (results["y"].astype(int) == np.array(values)).all()


def test_without_ml_dtypes_the_error_names_it(monkeypatch):
    model = deputy.Model(unary("Identity", (3,), 16), config="cpu-only")
    array = np.array([1, 2, 3], ml_dtypes.bfloat16)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(TypeError, match="pip install ml_dtypes"):
        model.run({"x": array})
    result = model.run({"x": array}, as_tensors=True)["y"]
    assert result.dtype == "bfloat16" and result.shape == (3,)


def address(array):
    return array.__array_interface__["data"][0]


def test_results_for_dlpack(relu):
    result = relu.run({"x": X}, as_tensors=True)["y"]
    assert isinstance(result, deputy.Tensor) and result.__dlpack_device__() == (1, 0)
    seen = np.from_dlpack(result)
    assert (seen == RELU).all()
    assert address(seen) == address(result.numpy())
    copied = np.from_dlpack(OfAnotherFramework(result, copy=True))
    assert address(copied) != address(seen) and (copied == RELU).all()
    del result
    assert (seen == RELU).all()


class OfAnotherFramework:
    """Has no buffer, only DLPack."""

    def __init__(self, tensor, **more):
        self.tensor, self.more = tensor, more

    def __dlpack__(self, **arguments):
        return self.tensor.__dlpack__(**{**arguments, **self.more})

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


@pytest.mark.parametrize("array", [X, np.repeat(X, 2, axis=1)[:, ::2]], ids=["dense", "strided"])
def test_inputs_by_dlpack(relu, array):
    assert (relu.run({"x": OfAnotherFramework(array)})["y"] == RELU).all()


def test_bfloat16_by_dlpack():
    model = deputy.Model(unary("Identity", (3,), 16), config="cpu-only")
    first = model.run({"x": np.array([1, -2, 3], ml_dtypes.bfloat16)}, as_tensors=True)["y"]
    second = model.run({"x": first})["y"]
    assert second.dtype == ml_dtypes.bfloat16 and (second.astype(np.float32) == [1, -2, 3]).all()


def test_sequences_and_optionals():
    sequence = onnx_bytes.node("SequenceConstruct", ["a", "b"], ["s"], "construct")
    text = onnx_bytes.model(
        [sequence], [onnx_bytes.value_info("a", ["n"]), onnx_bytes.value_info("b", ["m"])],
        [onnx_bytes.sequence_info("s", ["k"])],
    )  # fmt: skip
    made = deputy.Model(text, config="cpu-only").run([np.float32([1]), np.float32([2, 3])])["s"]
    assert [one.tolist() for one in made] == [[1], [2, 3]]

    at = onnx_bytes.node("SequenceAt", ["s", "i"], ["y"], "at")
    inputs = [onnx_bytes.sequence_info("s", ["n"]), onnx_bytes.value_info("i", [], INT64)]
    model = deputy.Model(onnx_bytes.model([at], inputs, [onnx_bytes.value_info("y", ["n"])]), config="cpu-only")
    assert model.inputs[0].kind == "sequence"
    assert model.run({"s": made, "i": np.int64(1)})["y"].tolist() == [2, 3]
    for inputs, message in [
        ({"s": made}, "the input 'i' is missing"),
        ([None, np.int64(1)], "the input 's' is missing"),
        ({"s": made, "j": np.int64(1)}, "the model has no input 'j'; known are 'i'"),
    ]:
        with pytest.raises(deputy.InvalidArgument) as caught:
            model.run(inputs)
        assert str(caught.value) == message


def test_models_from_memory_and_their_options(digits_folder, pictures):
    text = (digits_folder / "digits.onnx").read_bytes()
    wanted = deputy.Model(text, config="cpu-only").run([pictures])["logits"]
    viewed = deputy.Model(memoryview(text), config="cpu-only", format="onnx")
    assert (viewed.run([pictures])["logits"] == wanted).all()
    other = deputy.Model(onnx_bytes.add_model((2, 3)), config="cpu-only", input_shapes={"a": [1, -1], "b": [1, -1]})
    assert other.inputs[0].shape == [1, -1] and other.run([RELU[:1], X[:1]])["y"].tolist() == [[-1, 4, -3]]
    inside = deputy.inspect(digits_folder / "digits.onnx").nodes[0].outputs[0]
    more = deputy.Model(text, config="cpu-only", extra_outputs=[inside])
    assert [one.name for one in more.outputs] == ["logits", inside]
    with pytest.raises(deputy.InvalidArgument, match="did you mean 'onnx'"):
        deputy.Model(text, format="onx")


def test_saved_model_gives_the_same(digits, pictures, tmp_path):
    digits.save(tmp_path / "digits.dpm")
    saved = deputy.Model(tmp_path / "digits.dpm", config="cpu-only")
    assert (saved.run([pictures])["logits"] == digits.run([pictures])["logits"]).all()


def test_buffers_are_bound(relu):
    session = relu.session()
    session.resize({"x": [2, 3]})
    source, target = deputy.Buffer.make_shared("float32", [2, 3]), session.output_buffer("y")
    source.write(X)
    session.bind_input("x", source)
    session.bind_output("y", target)
    assert session.run({}) == {"y": None}
    assert (target.read() == RELU).all()
    assert (source.dtype, source.shape, source.byte_size) == ("float32", (2, 3), 24) and source.descriptor >= 0
    session.bind_input("x", None)
    with pytest.raises(deputy.InvalidArgument, match="'x' is missing"):
        session.run({})
    with pytest.raises(deputy.NotFound):
        session.input_buffer("z")


def test_tensor_files(tmp_path):
    deputy.write_tensor(tmp_path / "x.npy", X)
    assert (np.load(tmp_path / "x.npy") == X).all()
    assert (deputy.read_tensor(tmp_path / "x.npy") == X).all()
    (tmp_path / "x.raw").write_bytes(X.tobytes())
    assert (deputy.read_tensor(tmp_path / "x.raw", "float32", [2, 3]) == X).all()


def test_arrays_of_the_library(relu):
    assert deputy.allocate("int16", [2, 2]).tolist() == [[0, 0], [0, 0]]
    array = relu.allocate("x", [2, 3])
    array[...] = X
    assert array.dtype == np.float32 and (relu.run([array])["y"] == RELU).all()
    with pytest.raises(ValueError, match="no element type 'int17'"):
        deputy.allocate("int17", [1])


def test_states_belong_to_sessions():
    path = next(iter(_models_with_states()), None)
    if path is None:
        pytest.skip("no model with states among the real models")
    model = deputy.Model(path, config="cpu-only")
    assert model.has_states
    with pytest.raises(deputy.FailedPrecondition, match="session"):
        model.run({})


def _models_with_states():
    import os
    from pathlib import Path

    data = Path(os.environ.get("DEPUTY_TEST_DATA") or "/nonexistent") / "models"
    for path in sorted(data.glob("*/*.tflite")):
        if deputy.inspect(path).states:
            yield path
