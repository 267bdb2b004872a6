// Tensors out of attributes and of numbers that say how they shall look.
#include <algorithm>
#include <cmath>

#include "reference/node.hpp"

namespace deputy::conformance::reference {
namespace {

std::vector<Tensor> Constant(const Node& node, const Inputs&) {
  for (const auto& [name, value] : node.attributes) {
    if (name == "value") return {value.tensor};
    const bool real = name == "value_float" || name == "value_floats";
    if (!real && name != "value_int" && name != "value_ints") continue;
    const bool list = name.back() == 's';
    const auto count = static_cast<int64_t>(real ? value.floats.size() : value.ints.size());
    Tensor y(real ? DEPUTY_DTYPE_FLOAT32 : DEPUTY_DTYPE_INT64, list ? Dims{count} : Dims{});
    for (int64_t i = 0; i < y.count(); ++i) {
      const auto at = static_cast<size_t>(i);
      if (real)
        y.Put(i, static_cast<double>(list ? value.floats[at] : value.f));
      else
        y.Put(i, list ? value.ints[at] : value.i);
    }
    return {y};
  }
  return {};
}

std::vector<Tensor> ConstantOfShape(const Node& node, const Inputs& in) {
  const auto value = node.attributes.find("value");
  if (value == node.attributes.end()) return {Tensor(DEPUTY_DTYPE_FLOAT32, ListOf(*in[0]))};
  Tensor y(value->second.tensor.dtype, ListOf(*in[0]));
  for (int64_t i = 0; i < y.count(); ++i) y.Copy(i, value->second.tensor, 0);
  return {y};
}

std::vector<Tensor> Range(const Node&, const Inputs& in) {
  const double start = in[0]->Get(0), limit = in[1]->Get(0), step = in[2]->Get(0);
  Tensor y(in[0]->dtype, {std::max<int64_t>(0, static_cast<int64_t>(std::ceil((limit - start) / step)))});
  for (int64_t i = 0; i < y.count(); ++i) y.Put(i, start + static_cast<double>(i) * step);
  return {y};
}

}  // namespace

KernelRows GenerationKernels() {
  return {{"Constant", Constant}, {"ConstantOfShape", ConstantOfShape}, {"Range", Range}};
}

}  // namespace deputy::conformance::reference
