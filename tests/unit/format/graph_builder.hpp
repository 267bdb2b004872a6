// Graphs for the tests of the model format, and files that go away with the test.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "support/temp_folder.hpp"
#include "support/test_graph.hpp"

namespace deputy::host::test {

inline Tensor Floats(std::vector<float> values) {
  return *Tensor::FromValues<float>(DType::kFloat32, {static_cast<int64_t>(values.size())}, values);
}

// y = If(c, Relu(x + w), Neg(x + w)), with symbols, metadata, attributes and constants of several kinds.
inline Graph VariedGraph() {
  Graph graph;
  graph.name = "varied";
  graph.metadata = {{"producer_name", "test"}, {"labels", "0,1"}};
  const auto n = SymbolDim(graph.AddSymbol("N"));
  const ValueId x = graph.AddValue("x", {DType::kFloat32, true, {n, kUnknownDim, 2}});
  const ValueId c = graph.AddValue("c", {DType::kBool, true, {}});
  graph.inputs = {x, c};
  const ValueId w = graph.AddConstant("w", Floats({1, 2}));
  graph.AddConstant("w_again", Floats({1, 2}));
  graph.AddConstant("nothing", *Tensor::Allocate(DType::kInt64, {0}));
  graph.AddConstant("flags", *Tensor::FromValues<uint8_t>(DType::kBool, {3}, std::vector<uint8_t>{0, 1, 1}));
  const ValueId sum = graph.AddValue("sum");
  graph.nodes.push_back(MakeNode(PrimitiveBuilder("", "Add", 14), {x, w}, {sum}, "add"));
  const ValueId clipped = graph.AddValue("clipped");
  graph.nodes.push_back(MakeNode(PrimitiveBuilder("", "Clip", 13), {sum, kNone, sum}, {clipped}, "clip"));
  Node branch = MakeNode(PrimitiveBuilder("", "If", 16), {c}, {graph.AddValue("y")}, "if");
  for (const char* name : {"then_branch", "else_branch"}) {
    Region region;
    region.name = name;
    region.body = std::make_shared<Graph>();
    region.body->symbols = graph.symbols;
    const ValueId inner = region.body->AddValue("clipped");
    region.body->captured = {inner};
    region.captures = {clipped};
    region.body->AddConstant("w_inside", Floats({1, 2}));
    const ValueId out = region.body->AddValue("out");
    const char* op = name[0] == 't' ? "Relu" : "Neg";
    region.body->nodes.push_back(MakeNode(PrimitiveBuilder("", op, 13), {inner}, {out}, op));
    region.body->outputs = {out};
    branch.regions.push_back(std::move(region));
  }
  graph.nodes.push_back(std::move(branch));
  const PrimitiveBuilder vendor = PrimitiveBuilder("own", "Vendor", 3)
                                      .Set("ints", std::vector<int64_t>{1, 2, 3})
                                      .Set("text", std::string("text"))
                                      .Set("tensor", Floats({4, 5}))
                                      .Set("strings", std::vector<std::string>{"a", "b"});
  const ValueId z = graph.AddValue("z", {DType::kFloat16, false, {}});
  graph.nodes.push_back(MakeNode(vendor, {graph.nodes[2].outputs[0]}, {z}));
  graph.nodes.back().name.clear();
  graph.outputs = {z, sum};
  return graph;
}

// A folder that is gone after the test.
class Scratch : public testing::Test {
 protected:
  static std::string Load(const std::filesystem::path& path) { return ReadAll<std::string>(path); }
  std::filesystem::path Store(const std::string& name, const std::string& bytes) const {
    WriteAll(folder_ / name, bytes);
    return folder_ / name;
  }

  const TempFolder scratch_;
  const std::filesystem::path& folder_ = scratch_.path();
};

}  // namespace deputy::host::test
