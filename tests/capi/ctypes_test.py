#!/usr/bin/env python3
"""The C API through Python's ctypes: ctypes_test.py LIBDEPUTY DIGITS.onnx. The digits by `deputy.h` alone."""

import ctypes
import json
import re
import sys
import unittest
from pathlib import Path

Handle = ctypes.c_void_p


class Tensor(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_int32), ("rank", ctypes.c_uint32), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("data", ctypes.c_void_p), ("byte_size", ctypes.c_uint64), ("memory", ctypes.c_void_p)]


class CApi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.library = ctypes.CDLL(LIBRARY)
        for name in ("DeputyErrorText", "DeputyErrorPlace", "DeputyReportJson", "DeputyVersion"):
            getattr(cls.library, name).restype = ctypes.c_char_p

    def call(self, name, *arguments):
        """A function that may fail: its error as an exception."""
        function = getattr(self.library, name)
        function.restype = ctypes.c_void_p
        error = function(*arguments)
        if error:
            text = self.library.DeputyErrorText(Handle(error)).decode()
            self.library.DeputyErrorFree(Handle(error))
            raise RuntimeError(text)

    def report(self, name, *arguments):
        report = Handle()
        self.call(name, *arguments, ctypes.byref(report))
        value = json.loads(self.library.DeputyReportJson(report))
        self.library.DeputyReportFree(report)
        return value

    def setUp(self):
        self.context, self.model, self.session = Handle(), Handle(), Handle()
        yaml = b"version: 1\ndelegates: [{name: npu0, delegate: sim_npu}, {name: onednn}]\n"
        self.call("DeputyContextFromYamlText", b"edge.yaml", yaml, None, ctypes.c_size_t(0), ctypes.byref(self.context))
        self.call("DeputyModelFromFile", MODEL, self.context, None, ctypes.byref(self.model))
        self.call("DeputyModelCreateSession", self.model, ctypes.byref(self.session))

    def tearDown(self):
        for kind in ("Session", "Model", "Context"):
            getattr(self.library, f"Deputy{kind}Free")(getattr(self, kind.lower()))

    def run_batch(self, batch):
        values = (ctypes.c_float * (batch * 784))(*(i % 5 / 5 for i in range(batch * 784)))
        shape = (ctypes.c_int64 * 4)(batch, 1, 28, 28)
        picture = Tensor(1, 4, shape, ctypes.cast(values, ctypes.c_void_p), ctypes.sizeof(values), None)
        output = Tensor()
        self.call("DeputySessionRun", self.session, ctypes.byref(picture), ctypes.c_size_t(1), ctypes.byref(output),
                  ctypes.c_size_t(1))
        self.assertEqual([output.shape[i] for i in range(output.rank)], [batch, 10])
        numbers = list(ctypes.cast(output.data, ctypes.POINTER(ctypes.c_float))[:batch * 10])
        self.library.DeputyTensorRelease(ctypes.byref(output))
        self.assertIsNone(output.data)
        return numbers

    def test_ABatchGivesWhatItsFirstPictureGivesAlone(self):
        single, batch = self.run_batch(1), self.run_batch(3)
        for alone, within in zip(single, batch):
            self.assertAlmostEqual(alone, within, delta=5e-3)  # the simulated NPU multiplies in half precision
        self.assertGreater(max(single) - min(single), 0.1)

    def test_ReportsAreJson(self):
        self.run_batch(1)
        placement = self.report("DeputySessionPlacement", self.session, ctypes.c_int(1))
        self.assertEqual(len(placement["nodes"]), 8)
        self.assertEqual({delegate["name"] for delegate in placement["delegates"]}, {"npu0", "onednn", "cpu"})
        self.assertTrue(all(node["delegate"] for node in placement["nodes"]))
        health = self.report("DeputyContextHealth", self.context)
        self.assertFalse(health["degraded"])
        keys = self.report("DeputyConfigKeys")
        self.assertIn("delegates.NAME.options", [key["path"] for key in keys])

    def test_ErrorsHaveTheirPlace(self):
        context = Handle()
        with self.assertRaisesRegex(RuntimeError, r"bad\.yaml:1:10"):
            self.call("DeputyContextFromYamlText", b"bad.yaml", b"version: 1, 2\n", None, ctypes.c_size_t(0),
                      ctypes.byref(context))
        self.assertIsNone(context.value)

    def test_AProcessOpensTheKernelsOfOneLevel(self):
        kernels = self.report("DeputyInstallation")["kernels"]
        opened = set(re.findall(r"libdeputy_linalg_(\w+)\.so", Path("/proc/self/maps").read_text()))
        self.assertEqual(opened, {kernels} - {"baseline"})
        self.assertEqual(kernels != "baseline", bool(re.search(r"(?m)^flags.* avx2 ", Path("/proc/cpuinfo").read_text())))


if __name__ == "__main__":
    LIBRARY, MODEL = sys.argv[1], sys.argv[2].encode()
    unittest.main(argv=sys.argv[:1], verbosity=2)
