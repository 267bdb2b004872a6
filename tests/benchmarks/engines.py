"""The engines that compare.py lets take turns, each in a process of its own that stays warm between its turns, and what
they run: models with their inputs."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))
from onnx_bytes import chunk  # noqa: E402


class EngineError(Exception):
    pass


class Engine:
    """Speaks the language that deputy_engine.cpp describes."""

    def __init__(self, name, command):
        self.name = name
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True
        )
        word, _, facts = self._line().partition(" ")
        if word != "ready":
            raise EngineError(f"{name}: '{word}' is not a greeting")
        self.facts = json.loads(facts)
        self.memory = json.loads(self.ask("memory"))  # of load and first run, and nothing after

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
        self.log.close()

    def ask(self, command):
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the reason is read below
        return self._line()

    def run(self, count):
        return [int(word) for word in self.ask(f"run {count}").split()]

    def outputs(self):
        with tempfile.TemporaryDirectory() as folder:
            self.ask(f"outputs {folder}")
            return [np.load(f"{folder}/{index}.npy") for index in range(len(os.listdir(folder)))]

    def _line(self):
        line = self.process.stdout.readline().rstrip("\n")
        if line and not line.startswith("error"):
            return line
        self.process.wait()
        self.log.seek(0)
        said = f"{line or 'ended'} (status {self.process.returncode})\n{self.log.read()[-2000:]}"
        raise EngineError(f"{self.name}: {said}")


class Workshop:
    """Starts engines. Keeps what they need in a folder: configurations, inputs, models without surplus inputs."""

    def __init__(self, folder, build, ort_python):
        self.folder, self.build, self.ort_python = Path(folder), Path(build), ort_python

    def start(self, name, workload, threads):
        inputs = [f"{key}={self._input(workload, key, value)}" for key, value in workload.inputs.items()]
        if name == "ort":
            script = [self.ort_python, str(HERE / "ort_engine.py")]
            return Engine(name, [*script, str(self._without_surplus_inputs(workload)), str(threads), *inputs])
        program = [str(self.build / "bin" / "deputy_engine")]
        return Engine(name, [*program, str(workload.path), str(self._configuration(name, threads)), *inputs])

    def _input(self, workload, key, value):
        path = self.folder / f"{workload.name}.{key.replace('/', '_')}.npy"
        np.save(path, value)
        return path

    def _configuration(self, name, threads):
        """`cpu`: the host's kernels alone; `measured`: as configs/default.yaml; any other name: that delegate first."""
        options = f"options: {{threads: {threads}}}"
        delegates = {"cpu": "[]", "measured": f"[{{name: onednn, verify: first_run, {options}}}]",
                     "onednn": f"[{{name: onednn, required: true, {options}}}]"}.get(
                         name, f"[{{name: {name}, required: true}}]")  # fmt: skip
        policy = "measured" if name == "measured" else "priority"
        path = self.folder / f"{name}_{threads}.yaml"
        path.write_text(
            f"version: 1\nplugins: {{paths: ['{self.build / 'lib' / 'deputy' / 'plugins'}']}}\n"
            f"delegates: {delegates}\ncpu: {{threads: {threads}}}\nplacement: {{policy: {policy}}}\n"
            f"cache: {{dir: '{self.folder / 'cache'}'}}\n"
        )
        return path

    def _without_surplus_inputs(self, workload):
        """Initializers that are also inputs of the graph could be overridden, so ONNX Runtime would fold nothing."""
        data = workload.path.read_bytes()
        cleaned = without_initializers_as_inputs(data)
        if cleaned == data:
            return workload.path
        path = self.folder / f"{workload.name}.onnx"
        path.write_bytes(cleaned)
        return path


class Workload:
    """A model with inputs."""

    def __init__(self, name, path, **inputs):
        self.name, self.path, self.inputs = name, Path(path), inputs


def picture(name, path, input_name, shape):
    values = np.random.default_rng(1).standard_normal(shape, np.float32)
    return Workload(name, path, **{input_name: values})


def page(name, path, input_name, shape):
    """A page with lines of made-up glyphs, normalized as ImageNet is: a detector of text finds nothing in noise."""
    random = np.random.default_rng(1)
    paper = np.ones(shape[2:], np.float32)
    for top in range(12, shape[2] - 20, 28):
        for left in range(12, shape[3] - 16, 12):
            glyph = np.kron(random.random((5, 3)) < 0.55, np.ones((3, 3), bool))
            if random.random() < 0.85:  # else a space
                paper[top : top + 15, left : left + 9][glyph] = 0.1
    return Workload(name, path, **{input_name: np.broadcast_to((paper - 0.45) / 0.225, shape).astype(np.float32)})


def text(name, path, length):
    """One sentence, an eighth of it padding."""
    ids = np.random.default_rng(1).integers(0, 30522, (1, length))
    mask = (np.arange(length) < length * 7 // 8).astype(np.int64)[None]
    return Workload(name, path, input_ids=ids, attention_mask=mask, token_type_ids=np.zeros_like(ids))


def agreement(wanted, got):
    """The largest difference of all outputs, per largest magnitude of each; infinite for another shape or NaN."""
    worst = 0.0
    if len(wanted) != len(got):
        return float("inf")
    for want, have in zip(wanted, got):
        if want.shape != have.shape or not np.isfinite(want).all() or not np.isfinite(have).all():
            return float("inf")
        magnitude = float(np.abs(want).max(initial=0)) or 1.0
        worst = max(worst, float(np.abs(want.astype(np.float64) - have).max(initial=0)) / magnitude)
    return worst


# --- the little of ONNX that must be read -----------------------------------------------------------------------------

GRAPH_IN_MODEL, INITIALIZER, INPUT, TENSOR_NAME, VALUE_NAME, VALUE_TYPE = 7, 5, 11, 8, 1, 2
DTYPES = {1: "float32", 2: "uint8", 3: "int8", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64"}
TENSOR_DIMS, TENSOR_TYPE, TENSOR_FLOATS, TENSOR_INTS, TENSOR_RAW = 1, 2, 4, 7, 9


def varint_at(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(field number, start, start of the payload, end) of each field of a message."""
    at = 0
    while at < len(data):
        start = at
        key, at = varint_at(data, at)
        payload = at
        kind = key & 7
        if kind == 0:
            _, at = varint_at(data, at)
        elif kind == 2:
            size, payload = varint_at(data, at)
            at = payload + size
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise ValueError(f"wire type {kind} is not of this century")
        yield key >> 3, start, payload, at


def name_in(data, field):
    return next((bytes(data[payload:end]) for number, _, payload, end in fields(data) if number == field), b"")


def first_in(data, *path):
    """The payload of the first field at each number of the path; a number where it is a varint."""
    for field in path:
        found = next(((start, payload, end) for number, start, payload, end in fields(data) if number == field), None)
        if found is None:
            return None
        start, payload, end = found
        if data[start] & 7 == 0:
            return varint_at(data, payload)[0]
        data = data[payload:end]
    return data


def tensor_in(data):
    """A TensorProto whose elements are raw bytes, floats or 64-bit integers."""
    data = memoryview(data)
    dims = []
    for number, start, payload, end in fields(data):
        if number == TENSOR_DIMS and data[start] & 7 == 0:
            dims.append(varint_at(data, payload)[0])
        elif number == TENSOR_DIMS:
            while payload < end:
                extent, payload = varint_at(data, payload)
                dims.append(extent)
    raw = first_in(data, TENSOR_RAW)
    if raw is None:
        raw = first_in(data, TENSOR_FLOATS)
    return np.frombuffer(bytes(raw), DTYPES[first_in(data, TENSOR_TYPE)]).reshape(dims)


def trained(name, folder):
    """A trained model with the inputs of its first data set, converted where the model takes another type."""
    model = memoryview((Path(folder) / "model.onnx").read_bytes())
    graph = first_in(model, GRAPH_IN_MODEL)
    weights = {name_in(graph[p:e], TENSOR_NAME) for number, _, p, e in fields(graph) if number == INITIALIZER}
    inputs = {}
    for number, _, payload, end in fields(graph):
        value = graph[payload:end]
        if number != INPUT or name_in(value, VALUE_NAME) in weights:
            continue
        file = Path(folder) / "test_data_set_0" / f"input_{len(inputs)}.pb"
        wanted = DTYPES[first_in(value, VALUE_TYPE, 1, 1)]
        inputs[name_in(value, VALUE_NAME).decode()] = tensor_in(file.read_bytes()).astype(wanted)
    return Workload(name, Path(folder) / "model.onnx", **inputs)


def without_initializers_as_inputs(data):
    """The same model with those inputs only that the application must give."""
    model = memoryview(data)
    graph = next((payload, end) for number, _, payload, end in fields(model) if number == GRAPH_IN_MODEL)
    view = model[graph[0] : graph[1]]
    weights = {name_in(view[p:e], TENSOR_NAME) for number, _, p, e in fields(view) if number == INITIALIZER}
    kept, dropped = [], False
    for number, start, payload, end in fields(view):
        if number == INPUT and name_in(view[payload:end], VALUE_NAME) in weights:
            dropped = True
        else:
            kept.append(view[start:end])
    if not dropped:
        return data
    rest = [model[start:end] for number, start, _, end in fields(model) if number != GRAPH_IN_MODEL]
    return b"".join(rest) + chunk(GRAPH_IN_MODEL, b"".join(kept))

