#!/usr/bin/env python3
"""Writes a model that takes a sequence and makes a tensor: make_sequence_model.py OUTPUT.onnx"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integration"))
import onnx_bytes as onnx

Path(sys.argv[1]).write_bytes(onnx.model(
    [onnx.node("ConcatFromSequence", ["parts"], ["whole"], axis=0)],
    [onnx.sequence_info("parts", ["k"])], [onnx.value_info("whole", ["n"])]))
