// The functions of operators.inc, each of which writes the nodes of one operator.
#pragma once

#include "import/tflite/operation.hpp"

namespace deputy::host::tflite_import {

using ImportFunction = Status (*)(const Operation& op);

// Shared by the operators that map to one ONNX operator or family.
Status ImportUnary(const Operation& op, OpKind kind);
Status ImportBinary(const Operation& op, OpKind kind);
Status ImportArithmetic(const Operation& op, OpKind kind);
Status ImportExtremum(const Operation& op, OpKind kind);
Status ImportComparison(const Operation& op, OpKind kind);
Status ImportActivation(const Operation& op, fb::Activation activation);
Status ImportReduction(const Operation& op, OpKind kind);
Status ImportArgExtremum(const Operation& op, OpKind kind);
// Of input `data`, whose elements are moved as they are stored, and of input `how`, which is read as int64.
Status ImportMoved(const Operation& op, OpKind kind, size_t data, size_t how);

template <OpKind kind>
Status Unary(const Operation& op) {
  return ImportUnary(op, kind);
}
template <OpKind kind>
Status Binary(const Operation& op) {
  return ImportBinary(op, kind);
}
template <OpKind kind>
Status Arithmetic(const Operation& op) {
  return ImportArithmetic(op, kind);
}
template <OpKind kind>
Status Extremum(const Operation& op) {
  return ImportExtremum(op, kind);
}
template <OpKind kind>
Status Comparison(const Operation& op) {
  return ImportComparison(op, kind);
}
template <fb::Activation activation>
Status Activation(const Operation& op) {
  return ImportActivation(op, activation);
}
template <OpKind kind>
Status Reduction(const Operation& op) {
  return ImportReduction(op, kind);
}
template <OpKind kind>
Status ArgExtremum(const Operation& op) {
  return ImportArgExtremum(op, kind);
}

// The rest.
Status AddN(const Operation& op);
Status AssignVariable(const Operation& op);
Status AveragePool(const Operation& op);
Status BatchMatMul(const Operation& op);
Status BatchToSpace(const Operation& op);
Status BroadcastTo(const Operation& op);
Status CallOnce(const Operation& op);
Status Cast(const Operation& op);
Status ComplexAbs(const Operation& op);
Status Concatenation(const Operation& op);
Status Conv(const Operation& op);
Status Cumsum(const Operation& op);
Status DepthToSpace(const Operation& op);
Status DepthwiseConv(const Operation& op);
Status Dequantize(const Operation& op);
Status Densify(const Operation& op);
Status EmbeddingLookup(const Operation& op);
Status ExpandDims(const Operation& op);
Status Fill(const Operation& op);
Status FloorDiv(const Operation& op);
Status FloorMod(const Operation& op);
Status FullyConnected(const Operation& op);
Status Gather(const Operation& op);
Status GatherNd(const Operation& op);
Status Gelu(const Operation& op);
Status If(const Operation& op);
Status Imag(const Operation& op);
Status L2Normalization(const Operation& op);
Status LeakyRelu(const Operation& op);
Status LocalResponseNormalization(const Operation& op);
Status LogSoftmax(const Operation& op);
Status MaxPool(const Operation& op);
Status MirrorPad(const Operation& op);
Status NotEqual(const Operation& op);
Status OneHot(const Operation& op);
Status PRelu(const Operation& op);
Status Pack(const Operation& op);
Status Pad(const Operation& op);
Status Quantize(const Operation& op);
Status Range(const Operation& op);
Status RankOf(const Operation& op);
Status ReadVariable(const Operation& op);
Status Real(const Operation& op);
Status Relu0To1(const Operation& op);
Status Reshape(const Operation& op);
Status ResizeBilinear(const Operation& op);
Status ResizeNearest(const Operation& op);
Status Reverse(const Operation& op);
Status Rfft2d(const Operation& op);
Status Rsqrt(const Operation& op);
Status ScatterNd(const Operation& op);
Status Select(const Operation& op);
Status SelectV2(const Operation& op);
Status ShapeOf(const Operation& op);
Status Slice(const Operation& op);
Status Softmax(const Operation& op);
Status SpaceToBatch(const Operation& op);
Status SpaceToDepth(const Operation& op);
Status Split(const Operation& op);
Status SplitV(const Operation& op);
Status Square(const Operation& op);
Status SquaredDifference(const Operation& op);
Status Squeeze(const Operation& op);
Status StridedSlice(const Operation& op);
Status Svdf(const Operation& op);
Status Tile(const Operation& op);
Status TopK(const Operation& op);
Status Transpose(const Operation& op);
Status TransposeConv(const Operation& op);
Status UnidirectionalSequenceLstm(const Operation& op);
Status Unpack(const Operation& op);
Status VarHandle(const Operation& op);
Status Where(const Operation& op);
Status While(const Operation& op);
Status ZerosLike(const Operation& op);

}  // namespace deputy::host::tflite_import
