// Builds models of equal extents with floats of one type, for the patterns.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cases/model_builder.hpp"

namespace deputy::conformance {

constexpr int64_t kSide = 8;  // devices have channels in eights

inline Dims Row() { return {kSide}; }
inline Dims Square() { return {kSide, kSide}; }
inline Dims Cube() { return {kSide, kSide, kSide}; }
inline Dims Image() { return {1, kSide, kSide, kSide}; }

class PatternBuilder {
 public:
  PatternBuilder(std::vector<ModelCase>& all, deputy_dtype dtype, uint64_t seed)
      : all_(all), dtype_(dtype), seed_(seed) {}

  PatternBuilder& Begin(const std::string& label) {
    model_.emplace_back(label, seed_);
    return *this;
  }
  // The model is complete; the last of the outputs is added.
  void Done(size_t output) {
    model_.back().Out(output);
    all_.push_back(model_.back().Done());
    model_.clear();
  }
  void Out(size_t value) { model_.back().Out(value); }

  size_t In(Dims dims, double low = -1.5, double high = 1.5) {
    return model_.back().In(model_.back().Full(dtype_, std::move(dims), low, high));
  }
  size_t Const(Dims dims, double low = -1, double high = 1) {
    return model_.back().Const(model_.back().Full(dtype_, std::move(dims), low, high));
  }
  size_t Scalar(double value) { return model_.back().Const(RealScalar(value, dtype_)); }
  size_t Zero(int64_t value) { return model_.back().Const(conformance::Zero(kU8, {value})); }
  size_t Axis(int64_t value) { return model_.back().Const(WholeScalar(value)); }
  size_t Numbers(std::vector<int64_t> values) { return model_.back().Const(Whole(std::move(values))); }
  size_t Op(const std::string& type, std::vector<size_t> inputs, const NodeSettings& settings = {}) {
    return model_.back().Op(type, std::move(inputs), settings);
  }

  size_t Conv(size_t x, int64_t kernel, int64_t pad, bool biased = false) {
    std::vector<size_t> inputs = {x, Const({kSide, kSide, kernel, kernel}, -0.25, 0.25)};
    if (biased) inputs.push_back(Const(Row()));
    return Op("Conv", std::move(inputs),
              {{"kernel_shape", Ints({kernel, kernel})}, {"pads", Ints({pad, pad, pad, pad})}});
  }
  size_t MatMul(size_t x) { return Op("MatMul", {x, Const(Square(), -0.4, 0.4)}); }
  size_t Transpose(size_t x, Dims order) { return Op("Transpose", {x}, {{"perm", Ints(std::move(order))}}); }
  size_t Pool(const std::string& type, size_t x, int64_t pad, NodeSettings more = {}) {
    more.push_back({"kernel_shape", Ints({3, 3})});
    more.push_back({"pads", Ints({pad, pad, pad, pad})});
    return Op(type, {x}, more);
  }
  size_t BatchNormalization(size_t x) {
    return Op("BatchNormalization", {x, Const(Row(), 0.5, 1.5), Const(Row()), Const(Row()), Const(Row(), 0.5, 2)});
  }
  // Of the last two axes by one element, or on every side of the axes that `pads` names.
  size_t Pad(size_t x, const std::string& mode, double value, std::vector<int64_t> pads = {0, 0, 1, 1, 0, 0, 1, 1}) {
    std::vector<size_t> inputs = {x, Numbers(std::move(pads))};
    if (mode == "constant" && value != 0) inputs.push_back(Scalar(value));
    return Op("Pad", std::move(inputs), {{"mode", Text(mode)}});
  }
  size_t Mean(size_t x, Dims axes, int64_t keepdims = 1) {
    return Op("ReduceMean", {x, Numbers(std::move(axes))}, {{"keepdims", Int(keepdims)}});
  }
  deputy_dtype dtype() const { return dtype_; }

 private:
  std::vector<ModelCase>& all_;
  deputy_dtype dtype_;
  uint64_t seed_;
  std::vector<ModelBuilder> model_;  // the one that is being built
};

}  // namespace deputy::conformance
