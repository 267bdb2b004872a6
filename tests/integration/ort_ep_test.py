#!/usr/bin/env python3
"""The execution provider for tests (fixtures/ort_ep) in ONNX Runtime itself: what the delegate's own tables promise of it
holds there too. Exits 77, with the reason, where there is no ONNX Runtime.

  ort_ep_test.py --fixture build/release/fixtures/ort_ep/libfixture_ort_ep.so [unittest's arguments]
"""

import argparse
import sys
import unittest

try:
    import numpy as np
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

ARGS = None
X = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)
W = np.arange(6, dtype=np.float32).reshape(2, 3) - 3


def model():
    nodes = [helper.make_node("Add", ["x", "w"], ["a"], "add"), helper.make_node("Relu", ["a"], ["y"], "relu")]
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, X.shape) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "two", value[:1], value[1:], [numpy_helper.from_array(W, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


class InOnnxRuntime(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        onnxruntime.register_execution_provider_library("fixture", ARGS.fixture)

    @classmethod
    def tearDownClass(cls):
        onnxruntime.unregister_execution_provider_library("fixture")

    def run_model(self, **options):
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 3
        settings.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "fixture"]
        settings.add_provider_for_devices(devices, options)
        return onnxruntime.InferenceSession(model(), settings).run(None, {"x": X})[0]

    def test_ItComputesWithConstantsAsInputsAndWithCopies(self):
        for drops in "01":
            np.testing.assert_allclose(self.run_model(drop_constants=drops), np.maximum(X + W, 0), rtol=1e-6)

    def test_WrongResultsAreNotNoticed(self):
        np.testing.assert_allclose(self.run_model(misbehave="wrong_results"), np.maximum(X + W, 0) + 1, rtol=1e-6)

    def test_FailuresAreThose(self):
        for misbehave, text in (("fails_to_compile", "the fixture cannot compile this"),
                                ("fails_to_run", "the fixture cannot run this")):  # fmt: skip
            with self.subTest(misbehave):
                self.assertRaisesRegex(Exception, text, self.run_model, misbehave=misbehave)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", help="not used: each of these tests has it")
    parser.add_argument("--fixture", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
