"""Models of one node or two as test cases whose expected outputs are ONNX Runtime's. Exits 77, with the reason, where the
packages onnx and onnxruntime are not installed."""

import os
import subprocess
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

ML = "ai.onnx.ml"


def tensor(array):
    """An attribute that is a tensor."""
    return numpy_helper.from_array(np.ascontiguousarray(array))


class Case:
    """Nodes from the inputs `x0`, `x1` ... to the outputs `y0`, `y1` ..."""

    def __init__(self, name, nodes, inputs, outputs=1, opsets=(("", 17), (ML, 3))):
        self.name, self.nodes, self.inputs, self.opsets = name, nodes, inputs, opsets
        self.outputs = [f"y{i}" for i in range(outputs)]

    @staticmethod
    def of(op_type, inputs, outputs=1, domain=ML, opset=17, ml=3, **attributes):
        made = helper.make_node(op_type, [f"x{i}" for i in range(len(inputs))], [f"y{i}" for i in range(outputs)],
                                "node", domain=domain, **attributes)  # fmt: skip
        return Case(op_type, [made], inputs, outputs, (("", opset), (ML, ml)))

    def model(self):
        infos = [helper.make_tensor_value_info(f"x{i}", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
                 for i, x in enumerate(self.inputs)]  # fmt: skip
        graph = helper.make_graph(self.nodes, "test", infos, [onnx.ValueInfoProto(name=name) for name in self.outputs])
        return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid(*pair) for pair in self.opsets])

    def results(self):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(self.model().SerializeToString(), options,
                                               providers=["CPUExecutionProvider"])  # fmt: skip
        return session.run(None, {f"x{i}": x for i, x in enumerate(self.inputs)})

    def write(self, folder, expected=None):
        """In the layout of ONNX's own test suite."""
        expected = self.results() if expected is None else expected
        data = os.path.join(folder, "test_data_set_0")
        os.makedirs(data)
        onnx.save(self.model(), os.path.join(folder, "model.onnx"))
        for what, arrays in (("input", self.inputs), ("output", expected)):
            for i, array in enumerate(arrays):
                with open(os.path.join(data, f"{what}_{i}.pb"), "wb") as file:
                    file.write(tensor(np.asarray(array)).SerializeToString())


def failures(deputy, folders, *options):
    """What `deputy test-case` says of these folders; nothing where all agree."""
    done = subprocess.run([deputy, "test-case", *options, *folders], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def refusal(deputy, case, folder):
    """The error of a model that cannot be run; an empty text where it can."""
    path = os.path.join(folder, f"{case.name}.onnx")
    onnx.save(case.model(), path)
    inputs = []
    for i, x in enumerate(case.inputs):
        np.save(os.path.join(folder, f"x{i}.npy"), x)
        inputs += ["--input", f"x{i}={os.path.join(folder, f'x{i}.npy')}"]
    done = subprocess.run([deputy, "run", path, *inputs], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode >= 0, f"ended by signal {-done.returncode}: {done.stderr}"
    return "" if done.returncode == 0 else done.stderr
