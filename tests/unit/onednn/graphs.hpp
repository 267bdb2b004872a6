// Small graphs for tests of the oneDNN plugin's parts: written down node by node, read into a program, fused or not,
// and run on seeded random numbers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plugins/onednn/fusion/fusion.hpp"
#include "plugins/onednn/lowering/faults.hpp"
#include "plugins/onednn/lowering/lowering.hpp"
#include "plugins/onednn/operators/operators.hpp"
#include "unit/sdk/fake_host.hpp"

namespace onednn {

using Dims = std::vector<int64_t>;

class Graph {
 public:
  explicit Graph(uint32_t seed = 1) : state_(seed) {}

  deputy_value_id Input(const Dims& dims);
  // Random elements around zero, or the given ones.
  deputy_value_id Constant(const Dims& dims);
  deputy_value_id Constant(const Dims& dims, std::vector<float> values);
  using Attributes = std::function<void(fake::PrimitiveBytes&)>;
  deputy_value_id Add(const std::string& type, const std::vector<deputy_value_id>& inputs, const Dims& dims,
                      Attributes attributes = {}, uint32_t since = 13);
  // The parts of a Split with these extents.
  std::vector<deputy_value_id> Split(deputy_value_id x, int64_t axis, const std::vector<Dims>& parts);
  void Output(deputy_value_id value) { host.outputs.push_back(value); }

  // The operations in order, each with its post-ops: "Convolution[relu,add]".
  std::string Describe(bool fused = true) const;
  std::unique_ptr<Executable> Compile(bool fused = true, int threads = 1) const;
  // The constants of which the executable has a form of its own.
  std::vector<deputy_value_id> Converted() const;
  // All outputs one after the other, for seeded random inputs, which it checks to be untouched.
  std::vector<float> Run(bool fused = true, int threads = 1) const;
  // What compiling it would make, and whether that is enough to do.
  Analysis Analyze() const;
  bool IsWorthCalling() const;
  sdk::Verdict VerdictOn(deputy_node_id node) const;

  fake::Host host;
  sdk::Host clock;  // of executables

 private:
  struct Reading {
    Program program;
    Origins origins;
    Shapes shapes;
    size_t saved = 0;
  };
  Reading Read(bool fused) const;
  std::vector<float> Random(const Dims& dims);

  uint32_t state_;
};

}  // namespace onednn
