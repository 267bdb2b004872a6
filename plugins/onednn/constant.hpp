// Elements that are known when a partition is compiled: the model's own, or computed from them (weights with a
// normalization folded in). Conversions to the layouts of primitives are made once and shared, through the store, by
// all executables that need the same one, for example those of one model at several input shapes.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "layout.hpp"

namespace onednn {

class Constant {
 public:
  // Elements that the model owns, as this value; they outlive every executable.
  Constant(const void* data, const memory::desc& desc, deputy_value_id model_value = DEPUTY_NO_VALUE);
  // Float elements, computed at the first access. Equal `recipe`, equal elements.
  Constant(std::string recipe, const memory::dims& dims, std::function<std::vector<float>()> make);

  // Elements made now.
  static std::shared_ptr<const Constant> OfBytes(std::string recipe, const memory::dims& dims,
                                                 std::vector<int8_t> bytes);

  const std::string& key() const { return key_; }
  const memory::desc& desc() const { return desc_; }  // plain
  const void* data() const;
  const float* floats() const { return static_cast<const float*>(data()); }
  // Lives as long as the model, so that no copy is needed.
  bool is_of_model() const { return make_ == nullptr && bytes_ == nullptr; }
  deputy_value_id model_value() const { return model_value_; }  // DEPUTY_NO_VALUE if it is not of the model
  // The same elements with other extents.
  static std::shared_ptr<const Constant> Reshaped(std::shared_ptr<const Constant> constant, const memory::dims& dims);

 private:
  std::string key_;
  memory::desc desc_;
  const void* data_ = nullptr;
  deputy_value_id model_value_ = DEPUTY_NO_VALUE;
  std::function<std::vector<float>()> make_;
  std::shared_ptr<const std::vector<int8_t>> bytes_;
  std::shared_ptr<const Constant> whole_;  // the constant of which this is a view
  mutable std::vector<float> made_;
};

// A number in a recipe, in hexadecimal: different numbers have different texts.
std::string Exactly(float number);

// Converted constants, kept alive by their users. [any-thread]
class ConstantStore {
 public:
  // The elements of `constant`, seen as `from`, in the layout `to`.
  std::shared_ptr<const memory> Converted(const Constant& constant, const memory::desc& from, const memory::desc& to,
                                          const dnnl::engine& engine);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<const memory>> kept_;
  size_t sweep_at_ = 64;
};

}  // namespace onednn
