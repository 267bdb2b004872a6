// Builds a model of several nodes, value by value; the oracle computes each node as it is added.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cases/families.hpp"
#include "cases/models.hpp"
#include "random/draft.hpp"

namespace deputy::conformance {

using NodeSettings = std::vector<Setting>;

class ModelBuilder {
 public:
  ModelBuilder(const std::string& label, uint64_t seed) : random_(unused_, label, seed), fractions_(seed) {
    made_.label = label;
  }

  size_t In(Dims dims) { return In(random_.Random(std::move(dims))); }
  size_t In(Tensor value) {
    made_.inputs.push_back(Value(std::move(value), false));
    return made_.inputs.back();
  }
  size_t Const(Dims dims) { return Const(random_.Random(kF32, std::move(dims), -1, 1)); }
  size_t Const(Tensor value) { return Value(std::move(value), true); }
  // Floats with all bits of their fraction.
  Tensor Full(deputy_dtype dtype, Dims dims, double low = -1, double high = 1);
  // The first output of a node.
  size_t Op(const std::string& type, std::vector<size_t> inputs, const NodeSettings& settings = {});
  // The node of a case, whose first input is the value `x` here; the other inputs are those of the case.
  size_t Append(const Case& tested, size_t x);
  size_t Conv(size_t x, int64_t from, int64_t to) {
    return Op("Conv", {x, Const({to, from, 3, 3})}, {{"pads", Ints({1, 1, 1, 1})}});
  }
  void Out(size_t value) { made_.outputs.push_back(value); }
  const Tensor& ValueOf(size_t value) const { return made_.values[value].value; }
  const ModelCase& model() const { return made_; }
  ModelCase Done() { return std::move(made_); }

 private:
  size_t Value(Tensor value, bool constant) {
    made_.values.push_back({std::move(value), constant});
    return made_.values.size() - 1;
  }

  std::vector<Case> unused_;
  CaseBuilder random_;
  RandomSource fractions_;
  ModelCase made_;
};

}  // namespace deputy::conformance
