// Kernels that fill large outputs stop soon after the run has ended. The output of each case is a gigabyte of memory
// without access: the first write to it ends the run, and what the kernel has touched when it returns is counted. So
// nothing here depends on the speed of the machine, and a kernel that passes has touched little memory.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/cancellation.hpp"
#include "kernels/dispatch.hpp"
#include "unit/cpu/long_cases.hpp"
#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

constexpr size_t kGigabyte = size_t{1} << 30;
constexpr size_t kMostTouched = size_t{96} << 20;  // of the gigabyte, by two threads, after the run has ended
constexpr int64_t kFloats = int64_t{1} << 28, kBytes = int64_t{1} << 30;

// Memory whose first use ends the run.
struct Trap {
  std::atomic<uint8_t*> begin{nullptr};
  std::atomic<size_t> size{0};
  std::atomic<uint64_t> cancelled_ns{0};
};
Trap trap;
struct sigaction before_trap;

void OnFault(int number, siginfo_t* info, void* context) {
  auto* const at = static_cast<uint8_t*>(info->si_addr);
  uint8_t* const begin = trap.begin.load();
  if (begin != nullptr && at >= begin && at < begin + trap.size.load()) {
    trap.cancelled_ns.store(1);  // before another thread can write
    mprotect(begin, trap.size.load(), PROT_READ | PROT_WRITE);
    return;
  }
  if ((before_trap.sa_flags & SA_SIGINFO) != 0) return before_trap.sa_sigaction(number, info, context);
  signal(number, SIG_DFL);
}

using Case = LongCase;

// Memory for the outputs: the large one is the trap.
class TrapAllocator final : public OutputAllocator {
 public:
  TrapAllocator(std::vector<deputy_tensor>& views, size_t filled)
      : views_(views), filled_(filled), dims_(views.size()), mappings_(views.size()) {}

  Status Allocate(deputy_tensor* view, std::span<const int64_t> dims) override {
    const size_t i = static_cast<size_t>(view - views_.data());
    dims_[i].assign(dims.begin(), dims.end());
    DEPUTY_ASSIGN_OR_RETURN(const size_t bytes, ByteSize(static_cast<DType>(view->dtype), dims));
    mappings_[i] = std::make_unique<Mapping>(bytes, i == filled_ ? PROT_NONE : PROT_READ | PROT_WRITE);
    view->struct_size = sizeof *view;
    view->rank = static_cast<uint32_t>(dims.size());
    view->dims = dims_[i].data();
    view->data = mappings_[i]->data();
    view->byte_size = bytes;
    if (i != filled_) return {};
    trap.size = bytes;
    trap.begin = mappings_[i]->data();
    return {};
  }
  size_t size() const { return mappings_[filled_] == nullptr ? 0 : mappings_[filled_]->size(); }
  size_t touched() const { return mappings_[filled_] == nullptr ? 0 : mappings_[filled_]->touched(); }

 private:
  std::vector<deputy_tensor>& views_;
  const size_t filled_;
  std::vector<Dims> dims_;
  std::vector<std::unique_ptr<Mapping>> mappings_;
};

class LongOutputs : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    struct sigaction action {};
    action.sa_sigaction = OnFault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    ASSERT_EQ(sigaction(SIGSEGV, &action, &before_trap), 0);
  }
  void TearDown() override {
    trap.begin = nullptr;
    sigaction(SIGSEGV, &before_trap, nullptr);
  }
};

TEST_P(LongOutputs, R173_AreNotFilledAfterTheRunHasEnded) {
  const Case& one = GetParam();
  LongKernel kernel;
  ASSERT_NO_FATAL_FAILURE(kernel.Make(one));
  TrapAllocator allocator(kernel.output_views(), one.filled);
  ASSERT_NO_FATAL_FAILURE(kernel.Allocate(allocator));
  trap.cancelled_ns = 0;
  const CancellationToken token{0, &trap.cancelled_ns};
  const CancellationScope scope(&token);
  const Status status = kernel.Run(allocator);
  ASSERT_NE(trap.cancelled_ns.load(), 0u) << "nothing was written: " << status.ToString();
  EXPECT_GE(allocator.size(), kGigabyte / 2);
  EXPECT_TRUE(scope.stopped()) << status.ToString();
  EXPECT_LE(allocator.touched(), kMostTouched);
}

const std::vector<std::string>& Unary() {
  static const std::vector<std::string> names = {"Abs",
                                                 "Acos",
                                                 "Acosh",
                                                 "Asin",
                                                 "Asinh",
                                                 "Atan",
                                                 "Atanh",
                                                 "Ceil",
                                                 "Celu",
                                                 "Cos",
                                                 "Cosh",
                                                 "Elu",
                                                 "Erf",
                                                 "Exp",
                                                 "Floor",
                                                 "Gelu",
                                                 "HardSwish",
                                                 "HardSigmoid",
                                                 "LeakyRelu",
                                                 "Log",
                                                 "Mish",
                                                 "Neg",
                                                 "Reciprocal",
                                                 "Relu",
                                                 "Round",
                                                 "Selu",
                                                 "Shrink",
                                                 "Sigmoid",
                                                 "Sign",
                                                 "Sin",
                                                 "Sinh",
                                                 "Softplus",
                                                 "Softsign",
                                                 "Sqrt",
                                                 "Tan",
                                                 "Tanh",
                                                 "ThresholdedRelu",
                                                 "Identity",
                                                 "Flatten",
                                                 "Dropout",
                                                 "Softmax",
                                                 "LogSoftmax",
                                                 "Hardmax",
                                                 "LpNormalization",
                                                 "Clip"};
  return names;
}
const std::vector<std::string>& Binary() {
  static const std::vector<std::string> names = {"Add",   "Sub", "Mul", "Div", "Pow",
                                                 "PRelu", "Max", "Min", "Sum", "Mean"};
  return names;
}
const std::vector<std::string>& Comparisons() {
  static const std::vector<std::string> names = {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"};
  return names;
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, PrimitiveBuilder node, std::vector<Tensor> inputs, size_t outputs = 1,
                       size_t filled = 0) {
    cases.push_back({name, std::move(node), std::move(inputs), outputs, filled});
  };
  const Tensor row = Lazy({kFloats}), matrix = Lazy({16, kFloats / 16}), one = Zeros({1});
  for (const std::string& op : Unary()) {
    add(op, Newest(op), {op == "Flatten" ? matrix : row});
    if (op == "Softmax" || op == "LogSoftmax" || op == "Hardmax" || op == "LpNormalization")
      add(op + "_columns", Newest(op).Set("axis", int64_t{0}), {matrix});
  }
  for (const std::string& op : Binary()) {
    add(op, Newest(op), {row, row});
    add(op + "_scalar", Newest(op), {row, one});
    if (op == "PRelu") continue;
    add(op + "_of_scalar", Newest(op), {one, row});
    add(op + "_outer", Newest(op), {Zeros({1 << 14, 1}), Zeros({1, 1 << 14})});
    add(op + "_long_row", Newest(op), {Zeros({2, 1}), Lazy({1, kFloats / 2})});
  }
  for (const std::string& op : Comparisons()) {
    add(op, Newest(op), {Lazy({kBytes}), one});
    add(op + "_outer", Newest(op), {Zeros({1 << 15, 1}), Zeros({1, 1 << 15})});
  }
  for (const char* op : {"And", "Or", "Xor"})
    add(op, Newest(op), {Lazy({kBytes}, DType::kBool), Zeros({1}, DType::kBool)});
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor", "Mod"})
    add(op, Newest(op), {Lazy({kFloats}, DType::kInt32), ListOf<int32_t>({3})});
  add("BitShift", Newest("BitShift").Set("direction", std::string("LEFT")),
      {Lazy({kFloats}, DType::kUint32), ListOf<uint32_t>({3})});
  add("BitwiseNot", Newest("BitwiseNot"), {Lazy({kFloats}, DType::kInt32)});
  add("Not", Newest("Not"), {Lazy({kBytes}, DType::kBool)});
  add("IsNaN", Newest("IsNaN"), {Lazy({kBytes})});
  add("IsInf", Newest("IsInf"), {Lazy({kBytes})});
  add("Where", Newest("Where"), {Zeros({1}, DType::kBool), row, one});
  add("Where_outer", Newest("Where"), {Zeros({1 << 14, 1}, DType::kBool), Zeros({1, 1 << 14}), one});
  add("Dropout_mask", Newest("Dropout"), {Lazy({kBytes / 2}, DType::kFloat16), ScalarOf<float>(0), TruthsOf({0})}, 2,
      1);
  cases.back().inputs[2] = TensorOf<uint8_t>({}, std::vector<uint8_t>{0}, DType::kBool);

  // Made of shapes and scalars.
  add("Range", Newest("Range"), {ScalarOf<float>(0), ScalarOf<float>(1e9f), ScalarOf<float>(1)});
  add("Range_int64", Newest("Range"), {ScalarOf<int64_t>(0), ScalarOf<int64_t>(kFloats / 2), ScalarOf<int64_t>(1)});
  add("ConstantOfShape", Newest("ConstantOfShape"), {ListOf<int64_t>({kFloats})});
  add("ConstantOfShape_ones", Newest("ConstantOfShape").Set("value", TensorOf<float>({1}, {1.5f})),
      {ListOf<int64_t>({1 << 14, 1 << 14})});
  add("EyeLike", Newest("EyeLike"), {Lazy({1 << 14, 1 << 14})});
  add("EyeLike_wide", Newest("EyeLike"), {Lazy({1, kFloats})});
  for (const char* op : {"RandomNormal", "RandomUniform"}) add(op, Newest(op).Set("shape", Dims{kFloats}), {});
  for (const char* op : {"RandomNormalLike", "RandomUniformLike", "Bernoulli"}) add(op, Newest(op), {row});
  add("Multinomial", Newest("Multinomial").Set("sample_size", kFloats), {Zeros({1, 4})});
  for (const char* op : {"HannWindow", "HammingWindow", "BlackmanWindow"})
    add(op, Newest(op), {ScalarOf<int64_t>(kFloats)});
  add("MelWeightMatrix", Newest("MelWeightMatrix"),
      {ScalarOf<int64_t>(16), ScalarOf<int64_t>(kFloats / 8), ScalarOf<int64_t>(8000), ScalarOf<float>(0),
       ScalarOf<float>(4000)});

  // Larger than their inputs.
  add("Expand", Newest("Expand"), {one, ListOf<int64_t>({kFloats})});
  add("Expand_rows", Newest("Expand"), {Zeros({1, 1000}), ListOf<int64_t>({kFloats / 1000, 1000})});
  add("Expand_columns", Newest("Expand"), {Zeros({4, 1}), ListOf<int64_t>({4, kFloats / 4})});
  add("Tile", Newest("Tile"), {Zeros({1000}), ListOf<int64_t>({kFloats / 1000})});
  add("Tile_one", Newest("Tile"), {one, ListOf<int64_t>({kFloats})});
  add("Tile_long", Newest("Tile"), {Lazy({1, kFloats / 8}), ListOf<int64_t>({8, 1})});
  add("Pad", Newest("Pad"), {one, ListOf<int64_t>({kFloats / 2, kFloats / 2})});
  add("Pad_rows", Newest("Pad"), {Zeros({1, 1}), ListOf<int64_t>({0, 1 << 14, 0, 1 << 14})});
  cases.back().inputs[1] = ListOf<int64_t>({1 << 13, 1 << 13, 1 << 13, 1 << 13});
  for (const char* mode : {"edge", "wrap", "reflect"}) {
    add(std::string("Pad_") + mode, Newest("Pad").Set("mode", std::string(mode)),
        {Zeros({2, 4}), ListOf<int64_t>({0, 0, (1 << 15) - 2, (1 << 13) - 4})});
    add(std::string("Pad_long_") + mode, Newest("Pad").Set("mode", std::string(mode)),
        {Zeros({4}), ListOf<int64_t>({0, kFloats / 2})});
  }
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    add(std::string("Resize_") + mode, Newest("Resize").Set("mode", std::string(mode)),
        {Zeros({1, 1, 16, 16}), Tensor(), Tensor(), ListOf<int64_t>({1, 1, 1 << 14, 1 << 14})});
    add(std::string("Resize_rows_") + mode, Newest("Resize").Set("mode", std::string(mode)),
        {Lazy({1, 1, 4, kFloats / 64}), Tensor(), Tensor(), ListOf<int64_t>({1, 1, 64, kFloats / 64})});
  }
  add("Resize_long", Newest("Resize"), {Zeros({1, 4}), Tensor(), Tensor(), ListOf<int64_t>({1, kFloats / 2})});
  add("Resize_crop", Newest("Resize").Set("coordinate_transformation_mode", std::string("tf_crop_and_resize")),
      {Zeros({16, 16}), ListOf<float>({0, 0, 2, 2}), Tensor(), ListOf<int64_t>({1 << 14, 1 << 14})});
  add("Upsample", PrimitiveBuilder("", "Upsample", 9), {Zeros({1, 1, 16, 16}), ListOf<float>({1, 1, 1024, 1024})});
  add("OneHot", Newest("OneHot"), {Lazy({1 << 14}, DType::kInt64), ScalarOf<int64_t>(1 << 14), ListOf<float>({0, 1})});
  add("OneHot_long", Newest("OneHot"), {Lazy({1}, DType::kInt64), ScalarOf<int64_t>(kFloats), ListOf<float>({0, 1})});
  add("CenterCropPad", Newest("CenterCropPad"), {Zeros({4, 4}), ListOf<int64_t>({1 << 14, 1 << 14})});
  add("Col2Im", Newest("Col2Im"), {Zeros({1, 1, 1}), ListOf<int64_t>({1 << 14, 1 << 14}), ListOf<int64_t>({1, 1})});
  cases.back().node.Set("strides", Dims{1 << 14, 1 << 14});
  add("MaxUnpool",
      Newest("MaxUnpool").Set("kernel_shape", Dims{1 << 13, 1 << 13}).Set("strides", Dims{1 << 13, 1 << 13}),
      {Zeros({1, 1, 2, 2}), Zeros({1, 1, 2, 2}, DType::kInt64)});
  add("ConvTranspose", Newest("ConvTranspose").Set("strides", Dims{1 << 12, 1 << 12}),
      {Zeros({1, 1, 4, 4}), Zeros({1, 1, 1 << 12, 1 << 12})});
  add("Einsum", Newest("Einsum").Set("equation", std::string("i,j->ij")), {Zeros({1 << 14}), Zeros({1 << 14})});
  add("MatMul", Newest("MatMul"), {Zeros({1 << 14, 1}), Zeros({1, 1 << 14})});
  add("Gemm", Newest("Gemm"), {Zeros({1 << 14, 1}), Zeros({1, 1 << 14})});
  add("MatMulInteger", Newest("MatMulInteger"),
      {Zeros({1 << 14, 1}, DType::kUint8), Zeros({1, 1 << 14}, DType::kUint8)});
  add("GridSample", Newest("GridSample"), {Zeros({1, 8, 4, 4}), Lazy({1, 1 << 12, 1 << 13, 2})});
  add("AffineGrid", Newest("AffineGrid"), {Zeros({1, 2, 3}), ListOf<int64_t>({1, 1, 1 << 13, 1 << 14})});
  add("RoiAlign", Newest("RoiAlign").Set("output_height", int64_t{1 << 12}).Set("output_width", int64_t{1 << 12}),
      {Zeros({1, 1, 4, 4}), Zeros({16, 4}), Zeros({16}, DType::kInt64)});
  add("MaxRoiPool", Newest("MaxRoiPool").Set("pooled_shape", Dims{1 << 12, 1 << 12}),
      {Zeros({1, 1, 4, 4}), Zeros({16, 5})});

  // Moved.
  add("Concat", Newest("Concat").Set("axis", int64_t{0}), {Lazy({kFloats / 2}), Lazy({kFloats / 2})});
  add("Concat_columns", Newest("Concat").Set("axis", int64_t{1}), {Lazy({1000, 1 << 17}), Lazy({1000, 1 << 17})});
  add("Split", Newest("Split").Set("axis", int64_t{1}),
      {Lazy({2, kFloats}), ListOf<int64_t>({kFloats / 2, kFloats / 2})}, 2);
  add("Slice", Newest("Slice"), {Lazy({kFloats + 8}), ListOf<int64_t>({8}), ListOf<int64_t>({kFloats + 8})});
  add("Slice_backwards", Newest("Slice"),
      {row, ListOf<int64_t>({-1}), ListOf<int64_t>({INT64_MIN}), ListOf<int64_t>({0}), ListOf<int64_t>({-1})});
  add("Transpose", Newest("Transpose").Set("perm", Dims{1, 0}), {Lazy({1 << 14, 1 << 14})});
  add("Transpose_pairs", Newest("Transpose").Set("perm", Dims{1, 0}), {Lazy({kFloats / 2, 2})});
  add("Transpose_long", Newest("Transpose").Set("perm", Dims{1, 0}), {Lazy({3, kFloats / 4})});
  add("SpaceToDepth", Newest("SpaceToDepth").Set("blocksize", int64_t{4}), {Lazy({1, 4, 1 << 13, 1 << 13})});
  add("DepthToSpace", Newest("DepthToSpace").Set("blocksize", int64_t{4}), {Lazy({1, 64, 1 << 11, 1 << 11})});
  add("Reshape", Newest("Reshape"), {row, ListOf<int64_t>({16, -1})});
  add("Squeeze", Newest("Squeeze"), {Lazy({1, kFloats}), ListOf<int64_t>({0})});
  add("Unsqueeze", Newest("Unsqueeze"), {row, ListOf<int64_t>({0})});
  add("Trilu", Newest("Trilu"), {Lazy({1 << 14, 1 << 14})});
  add("Trilu_wide", Newest("Trilu"), {Lazy({2, kFloats / 2})});
  add("Trilu_lower", Newest("Trilu").Set("upper", int64_t{0}), {Lazy({2, kFloats / 2})});
  add("Gather", Newest("Gather"), {Zeros({4, 1000}), Lazy({kFloats / 1000}, DType::kInt64)});
  add("Gather_long", Newest("Gather"), {Lazy({2, kFloats / 2}), Zeros({2}, DType::kInt64)});
  add("Gather_scalars", Newest("Gather"), {Zeros({4}), Lazy({kFloats}, DType::kInt64)});
  add("GatherElements", Newest("GatherElements"), {Lazy({kFloats}), Lazy({kFloats}, DType::kInt64)});
  add("GatherElements_rows", Newest("GatherElements"), {Lazy({16, 1 << 24}), Lazy({16, 1 << 24}, DType::kInt64)});
  add("GatherND", Newest("GatherND"), {Lazy({2, kFloats / 2}), Zeros({2, 1}, DType::kInt64)});
  add("GatherND_scalars", Newest("GatherND"), {Zeros({4}), Lazy({kFloats, 1}, DType::kInt64)});
  add("Scatter", PrimitiveBuilder("", "Scatter", 9), {row, Zeros({1}, DType::kInt64), one});
  add("ScatterElements", Newest("ScatterElements"), {row, Zeros({1}, DType::kInt64), one});
  add("ScatterND", Newest("ScatterND"), {row, Zeros({1, 1}, DType::kInt64), one});
  add("ScatterND_long", Newest("ScatterND"), {matrix, Zeros({1, 1}, DType::kInt64), Lazy({1, kFloats / 16})});
  add("Compress", Newest("Compress").Set("axis", int64_t{0}), {Lazy({4, kFloats / 4}), TruthsOf({1, 1, 1, 1})});
  add("ReverseSequence", Newest("ReverseSequence"), {Lazy({4, 4, kFloats / 16}), ListOf<int64_t>({4, 4, 4, 4})});
  add("ReverseSequence_short", Newest("ReverseSequence"), {Lazy({kFloats / 4, 4}), ListOf<int64_t>({9, 9, 9, 9})});
  add("CumSum", Newest("CumSum"), {row, ScalarOf<int64_t>(0)});
  add("CumSum_rows", Newest("CumSum"), {matrix, ScalarOf<int64_t>(0)});
  add("CumProd", Newest("CumProd"), {row, ScalarOf<int64_t>(0)});
  add("BitCast", Newest("BitCast").Set("to", static_cast<int64_t>(DType::kInt32)), {row});
  add("BitCast_bool", Newest("BitCast").Set("to", static_cast<int64_t>(DType::kBool)), {Lazy({kBytes}, DType::kUint8)});
  add("Swish", Newest("Swish"), {row});
  add("SwiGLU", Newest("SwiGLU"), {row, row});
  add("TensorScatter", Newest("TensorScatter").Set("axis", int64_t{1}), {Lazy({1, kFloats}), Zeros({1, 1})});
  add("TensorScatter_long", Newest("TensorScatter").Set("axis", int64_t{1}), {Lazy({1, kFloats}), Lazy({1, kFloats})});
  add("CausalConvWithState", Newest("CausalConvWithState"), {Lazy({1, 1, kFloats}), Zeros({1, 1, 4})});
  add("TopK", Newest("TopK"), {Lazy({1 << 24, 8}), ListOf<int64_t>({8})}, 2);
  add("Cast", Newest("Cast").Set("to", static_cast<int64_t>(DType::kInt32)), {row});
  add("Cast_packed", Newest("Cast").Set("to", static_cast<int64_t>(DType::kInt4)), {Lazy({2 * kBytes}, DType::kUint8)});
  add("CastLike", Newest("CastLike"), {row, Zeros({1}, DType::kInt32)});
  add("QuantizeLinear", Newest("QuantizeLinear"), {Lazy({kBytes}), ScalarOf<float>(1), ScalarOf<uint8_t>(0)});
  add("DequantizeLinear", Newest("DequantizeLinear"), {Lazy({kFloats}, DType::kUint8), ScalarOf<float>(1)});
  add("DynamicQuantizeLinear", Newest("DynamicQuantizeLinear"), {Lazy({kBytes})}, 3);
  add("ReduceSum", Newest("ReduceSum"), {Lazy({kFloats, 1}), ListOf<int64_t>({1})});
  add("ReduceMax_columns", Newest("ReduceMax"), {Lazy({1, kFloats}), ListOf<int64_t>({0})});
  add("ReduceSum_empty", Newest("ReduceSum"), {Lazy({kFloats, 0}), ListOf<int64_t>({1})});
  add("ArgMax", Newest("ArgMax").Set("axis", int64_t{0}), {Lazy({1, kFloats / 2})});

  // A product of a column and a row, and one of integers with C.
  add("MatMul_int32", Newest("MatMul"), {Lazy({1 << 14, 1}, DType::kInt32), Lazy({1, 1 << 14}, DType::kInt32)});
  add("Gemm_int32", Newest("Gemm"),
      {Lazy({1 << 14, 1}, DType::kInt32), Lazy({1, 1 << 14}, DType::kInt32), Zeros({1}, DType::kInt32)});

  // Computed plane by plane and row by row.
  add("MaxPool", Newest("MaxPool").Set("kernel_shape", Dims{1, 1}), {Lazy({1, 1, 1 << 14, 1 << 14})});
  add("AveragePool", Newest("AveragePool").Set("kernel_shape", Dims{1, 1}), {Lazy({1, 1, 1 << 14, 1 << 14})});
  add("LpPool", Newest("LpPool").Set("kernel_shape", Dims{1, 1}), {Lazy({1, 1, 1 << 14, 1 << 14})});
  add("Conv", Newest("Conv"), {Lazy({1, 1, 1 << 14, 1 << 14}), Zeros({1, 1, 1, 1})});
  add("LRN", Newest("LRN").Set("size", int64_t{1}), {Lazy({1, 1, 1 << 14, 1 << 14})});
  add("LayerNormalization", Newest("LayerNormalization"), {Lazy({1 << 14, 1 << 14}), Zeros({1 << 14})});
  add("RMSNormalization", Newest("RMSNormalization"), {Lazy({1 << 14, 1 << 14}), Zeros({1 << 14})});
  add("InstanceNormalization", Newest("InstanceNormalization"),
      {Lazy({1, 16, 1 << 12, 1 << 12}), Zeros({16}), Zeros({16})});
  add("BatchNormalization", Newest("BatchNormalization"),
      {Lazy({1, 16, 1 << 12, 1 << 12}), Zeros({16}), Zeros({16}), Zeros({16}), Zeros({16})});
  add("GroupNormalization", Newest("GroupNormalization").Set("num_groups", int64_t{4}),
      {Lazy({1, 16, 1 << 12, 1 << 12}), Zeros({16}), Zeros({16})});
  add("MeanVarianceNormalization", Newest("MeanVarianceNormalization"), {Lazy({1, 16, 1 << 12, 1 << 12})});
  add("DFT", Newest("DFT"), {Lazy({1 << 13, 1 << 14, 1})});
  add("RotaryEmbedding", Newest("RotaryEmbedding"),
      {Lazy({1, 64, 1 << 16, 64}), Zeros({1, 1 << 16, 32}), Zeros({1, 1 << 16, 32})});
  return cases;
}

std::string NameOfCase(const testing::TestParamInfo<Case>& one) { return one.param.name; }
INSTANTIATE_TEST_SUITE_P(Operators, LongOutputs, testing::ValuesIn(Cases()), NameOfCase);

}  // namespace

std::set<OpKind> OperatorsWithLongOutputs() {
  std::set<OpKind> kinds;
  for (const Case& one : Cases()) kinds.insert(OperatorOf(one.node));
  return kinds;
}

}  // namespace deputy::host
