#!/usr/bin/env python3
"""The bytes of numbers in protobuf's wire format, negative ones as well."""

import unittest

import onnx_bytes


class Varints(unittest.TestCase):
    def test_small_numbers_are_one_byte(self):
        self.assertEqual(onnx_bytes.varint(0), b"\x00")
        self.assertEqual(onnx_bytes.varint(127), b"\x7f")
        self.assertEqual(onnx_bytes.varint(300), b"\xac\x02")

    def test_negative_numbers_are_ten_bytes(self):
        self.assertEqual(onnx_bytes.varint(-1), b"\xff" * 9 + b"\x01")
        self.assertEqual(onnx_bytes.varint(-2), b"\xfe" + b"\xff" * 8 + b"\x01")

    def test_a_negative_axis_is_an_attribute(self):
        self.assertIn(b"\xff" * 9 + b"\x01", onnx_bytes.attribute("axis", -1))


if __name__ == "__main__":
    unittest.main()
