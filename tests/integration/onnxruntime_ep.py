"""ONNX Runtime with Deputy registered as its execution provider, for the tests of libdeputy_ort_ep.so. Where onnxruntime is
missing, importing this ends the program with 77 and the reason."""

import argparse
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

arguments = argparse.Namespace()  # of the test program, by main()

NAME = "DeputyExecutionProvider"
DELEGATES = "  - {name: npu0, delegate: sim_npu}\n  - {name: onednn}\n"
EAGER = "  - {name: npu0, delegate: sim_npu}\n  - {name: onednn, options: {accept: everything}}\n"
NPU = "  - {name: npu0, delegate: sim_npu}\n"
# Of an output's largest magnitude: factors of the NPU's products are fp16.
EXACT, HALF = 1e-5, 1e-2


def read_tensor(path):
    tensor = TensorProto()
    tensor.ParseFromString(Path(path).read_bytes())
    return numpy_helper.to_array(tensor)


def tensor(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def model(nodes, inputs, outputs, constants=(), version=17, domains=(), ir=8):
    graph = helper.make_graph(nodes, "test", inputs, outputs, list(constants))
    opsets = [helper.make_opsetid("", version), *(helper.make_opsetid(domain, 1) for domain in domains)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=ir)
    onnx.checker.check_model(made)
    return made.SerializeToString()


class Host(unittest.TestCase):
    """Registers the library with a configuration whose devices the test then uses."""

    delegates = DELEGATES

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        self.report_path = self.scratch / "report.json"
        self.register(self.config())

    def config(self, delegates=None, keys="", plugins=None, name="c.yaml"):
        path = self.scratch / name
        path.write_text(f"version: 1\nplugins: {{paths: [{plugins or arguments.plugins}]}}\ncache: {{dir: 'off'}}\n"
                        f"log: {{level: error}}\ndelegates:\n{delegates or self.delegates}{keys}")
        return str(path)

    def register(self, config):
        os.environ["DEPUTY_CONFIG"] = config
        os.environ["DEPUTY_SYSTEM_CONFIG"] = ""
        ort.set_default_logger_severity(3)
        ort.register_execution_provider_library("deputy", arguments.library)
        self.addCleanup(ort.unregister_execution_provider_library, "deputy")

    def device(self, delegate=None):
        found = [device for device in ort.get_ep_devices()
                 if device.ep_name == NAME and device.ep_metadata.get("delegate") == delegate]
        self.assertEqual(len(found), 1, delegate)
        return found[0]

    def session(self, source, delegate=None, options=(), level=ort.GraphOptimizationLevel.ORT_ENABLE_ALL):
        made = ort.SessionOptions()
        made.log_severity_level = 3
        made.graph_optimization_level = level
        made.add_provider_for_devices([self.device(delegate)], {"report": str(self.report_path), **dict(options)})
        return ort.InferenceSession(source, made)

    def report(self):
        """After the last reference to the session is gone."""
        return json.loads(self.report_path.read_text())

    def fused(self):
        return sum(graph["nodes"] for graph in self.report()["graphs"])

    def assert_near(self, got, expected, tolerance):
        self.assertEqual(got.shape, expected.shape)
        got, expected = got.astype("float64"), expected.astype("float64")
        largest = np.abs(expected).max() if expected.size else 0
        np.testing.assert_allclose(got, expected, rtol=1e-3, atol=max(tolerance * largest, 1e-6))


def main():
    """Runs the tests of the program; 77 where all of the chosen ones were skipped."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy")
    for name in ("library", "plugins", "fixtures", "data", "document", "host"):
        parser.add_argument(f"--{name}", required=True)
    _, rest = parser.parse_known_args(namespace=arguments)
    if not hasattr(ort, "register_execution_provider_library"):
        print(f"skipped: onnxruntime {ort.__version__} registers no libraries")
        sys.exit(77)
    result = unittest.main(argv=[sys.argv[0], *rest], exit=False).result
    if result.wasSuccessful() and len(result.skipped) == result.testsRun:
        sys.exit(77)
    sys.exit(0 if result.wasSuccessful() else 1)
