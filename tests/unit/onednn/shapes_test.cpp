// What becomes of an executable when extents at its border change.
#include <gtest/gtest.h>

#include <deque>

#include "unit/onednn/graphs.hpp"

namespace onednn {
namespace {

// The answer of a context to these extents at its inputs and outputs.
sdk::Result<sdk::ResizeOutcome> Resize(const Graph& graph, const std::vector<Dims>& inputs,
                                       const std::vector<Dims>& outputs) {
  std::deque<deputy_tensor> tensors;
  std::vector<const deputy_tensor*> in, out;
  const auto add = [&](const Dims& dims, std::vector<const deputy_tensor*>& to) {
    deputy_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    tensor.rank = static_cast<uint32_t>(dims.size());
    tensor.dims = dims.data();
    tensors.push_back(tensor);
    to.push_back(&tensors.back());
  };
  for (const Dims& dims : inputs) add(dims, in);
  for (const Dims& dims : outputs) add(dims, out);
  deputy_resize_args args{};
  args.struct_size = sizeof args;
  args.input_count = static_cast<uint32_t>(in.size());
  args.output_count = static_cast<uint32_t>(out.size());
  args.inputs = in.data();
  args.outputs = out.data();
  const std::unique_ptr<Executable> executable = graph.Compile();
  const auto context = executable->CreateContext();
  return context.value()->Resize(sdk::ResizeArgs(args));
}

struct Relu : Graph {
  explicit Relu(const Dims& dims) { Output(Add("Relu", {Input(dims)}, dims)); }
};

TEST(Shapes, TheSameOnesNeedNothing) {
  EXPECT_EQ(Resize(Relu({2, 3}), {{2, 3}}, {{2, 3}}).value(), sdk::ResizeOutcome::kDone);
}

TEST(Shapes, AScalarStaysOne) { EXPECT_EQ(Resize(Relu({}), {{}}, {{}}).value(), sdk::ResizeOutcome::kDone); }

TEST(Shapes, OthersAreCompiledAnew) {
  EXPECT_EQ(Resize(Relu({2, 3}), {{4, 3}}, {{4, 3}}).value(), sdk::ResizeOutcome::kRecompile);
}

TEST(Shapes, ATensorWithoutElementsIsNotForThisDelegate) {
  EXPECT_EQ(Resize(Relu({2, 3}), {{0, 3}}, {{0, 3}}).status().code(), sdk::Code::kNotSupported);
}

TEST(Shapes, WhatTheRunDecidesMayHaveChangedUnseen) {
  Graph graph;
  const deputy_value_id x = graph.Input({2, 6}), shape = graph.Input({2});
  const deputy_value_id y = graph.Add("Reshape", {x, shape}, {3, 4});
  graph.Output(graph.Add("GlobalMaxPool", {graph.Add("Reshape", {y, graph.Constant({3})}, {3, 4, 1})}, {3, 4, 1}));
  EXPECT_EQ(Resize(graph, {{2, 6}, {2}}, {{3, 4, 1}}).value(), sdk::ResizeOutcome::kRecompile);
}

}  // namespace
}  // namespace onednn
