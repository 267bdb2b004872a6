#include "random/draft.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace deputy::conformance {

using reference::Least;
using reference::Most;

namespace {

constexpr int64_t kMostElements = 400;

}  // namespace

Draft::Draft(const OperatorFacts& facts, uint64_t seed) : RandomSource(seed), facts_(facts) {
  const std::vector<Definition>& all = facts.definitions;
  definition_ = Half() ? &all.back() : &all[static_cast<size_t>(Next() % all.size())];
  may_be_empty_ = Once(12);
  tested_.node.op_type = facts.name;
  tested_.node.since_version = definition_->since;
}

bool Draft::Has(const std::string& attribute) const {
  return std::any_of(facts_.attributes.begin(), facts_.attributes.end(), [&](const AttributeFact& fact) {
    return fact.name == attribute && since() >= fact.since && since() < fact.until;
  });
}

deputy_dtype Draft::Type() { return Pick(definition_->types); }

deputy_dtype Draft::RealType() {
  std::vector<deputy_dtype> floats;
  for (const deputy_dtype dtype : definition_->types)
    if (reference::IsReal(dtype)) floats.push_back(dtype);
  return Pick(floats);
}

deputy_dtype Draft::AnyType() {
  const auto last = since() >= 13 ? kBF16 : kU64;
  const auto dtype = static_cast<deputy_dtype>(Between(1, last));
  // The oracle does not compute with strings and complex numbers.
  return reference::BytesOf(dtype) == 0 ? kF32 : dtype;
}

Dims Draft::FullShape(size_t least_rank, size_t most_rank) {
  // Small ranks are common, large ones must work.
  size_t rank = static_cast<size_t>(Between(static_cast<int64_t>(least_rank), static_cast<int64_t>(most_rank)));
  if (rank > 4 && Half()) rank = std::max<size_t>(least_rank, rank % 5);
  Dims dims(rank, 1);
  int64_t left = Once(8) ? 4 * kMostElements : kMostElements;
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), size_t{0});
  Shuffle(order);
  for (const size_t axis : order) {
    const int64_t most = rank <= 2 && Once(6) ? 40 : (rank > 5 ? 3 : 6);
    dims[axis] = Between(1, std::min(most, left));
    left /= dims[axis];
  }
  return dims;
}

Dims Draft::Shape(size_t least_rank, size_t most_rank) {
  Dims dims = FullShape(least_rank, most_rank);
  if (may_be_empty_ && !dims.empty()) dims[static_cast<size_t>(Next() % dims.size())] = 0;
  return dims;
}

int64_t Draft::Axis(size_t rank, bool from_end) {
  const auto count = static_cast<int64_t>(rank);
  return Between(from_end ? -count : 0, count - 1);
}

std::vector<int64_t> Draft::Axes(size_t rank, size_t count) { return Axes(rank, count, since() >= 11); }

std::vector<int64_t> Draft::Axes(size_t rank, size_t count, bool from_end) {
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  Shuffle(axes);
  axes.resize(count);
  for (int64_t& axis : axes)
    if (from_end && Half()) axis -= static_cast<int64_t>(rank);
  return axes;
}

Dims Draft::BroadcastableTo(const Dims& dims) {
  Dims part = dims;
  if (Once(3)) return part;
  for (int64_t& extent : part)
    if (Once(3)) extent = 1;
  if (Half()) part.erase(part.begin(), part.begin() + Between(0, static_cast<int64_t>(part.size())));
  return part;
}

Tensor Draft::Values(deputy_dtype dtype, Dims dims, double low, double high) {
  Tensor tensor(dtype, std::move(dims));
  const auto first = static_cast<int64_t>(low * 32), last = static_cast<int64_t>(high * 32);
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const double value = static_cast<double>(Between(first, last)) / 32;
    if (dtype == kBool)
      tensor.Put(i, Between(0, 1));
    else if (reference::IsReal(dtype))
      tensor.Put(i, value);
    else
      tensor.Put(i, static_cast<int64_t>((IsUnsigned(dtype) ? value - low : value) * 3));
  }
  return tensor;
}

Tensor Draft::Ties(deputy_dtype dtype, Dims dims, int64_t low, int64_t high) {
  Tensor tensor(dtype, std::move(dims));
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const int64_t value = Between(low, high);
    if (reference::IsReal(dtype))
      tensor.Put(i, static_cast<double>(value));
    else
      tensor.Put(i, IsUnsigned(dtype) ? value - low : value);
  }
  return tensor;
}

Tensor Draft::Wild(deputy_dtype dtype, Dims dims) {
  Tensor tensor = Values(dtype, std::move(dims));
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const double huge = dtype == kF16 ? 65504 : 1e30;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    if (!Once(3)) continue;
    if (reference::IsReal(dtype))
      tensor.Put(i,
                 Pick<double>({kInfinite, -kInfinite, std::nan(""), 0.0, -0.0, huge, -huge, 1000, -1000, 0.5, 1e-7}));
    else
      tensor.Put(i, Pick<int64_t>({Least(dtype), Most(dtype), 0, 1, Most(dtype) - 1, Least(dtype) + 1}));
  }
  return tensor;
}

Tensor Draft::Any(deputy_dtype dtype, Dims dims) {
  return Once(4) ? Wild(dtype, std::move(dims)) : Values(dtype, std::move(dims));
}

Tensor Draft::Distinct(deputy_dtype dtype, Dims dims) {
  Tensor tensor(dtype, std::move(dims));
  std::vector<int64_t> order(static_cast<size_t>(tensor.count()));
  std::iota(order.begin(), order.end(), 0);
  Shuffle(order);
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const int64_t value = order[static_cast<size_t>(i)];
    if (reference::IsReal(dtype))
      tensor.Put(i, static_cast<double>(value - tensor.count() / 2) / 16);
    else
      tensor.Put(i, value);
  }
  return tensor;
}

Tensor Draft::Indices(deputy_dtype dtype, Dims dims, int64_t extent, bool from_end) {
  Tensor tensor(dtype, std::move(dims));
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.Put(i, Between(from_end ? -extent : 0, extent - 1));
  return tensor;
}

Draft& Draft::In(Tensor value) {
  const bool constant = Once(3);
  tested_.inputs.push_back({std::move(value), true, constant});
  return *this;
}
Draft& Draft::RunTime(Tensor value) {
  tested_.inputs.push_back({std::move(value), true, false});
  return *this;
}
Draft& Draft::Constant(Tensor value) {
  tested_.inputs.push_back({std::move(value), true, true});
  return *this;
}
Draft& Draft::None() {
  tested_.inputs.push_back({Tensor(), false, false});
  return *this;
}

Draft& Draft::Set(const std::string& name, Attribute value) {
  tested_.node.attributes[name] = std::move(value);
  return *this;
}
Draft& Draft::Maybe(const std::string& name, Attribute value) {
  return Has(name) && Half() ? Set(name, std::move(value)) : *this;
}

Case Draft::Finish() {
  std::string& label = tested_.label;
  label = "definition=" + std::to_string(since());
  for (const auto& [name, value] : tested_.node.attributes) label += " " + name + "=" + TextOf(value);
  for (const Operand& input : tested_.inputs) {
    label += " ";
    if (!input.present) {
      label += "-";
      continue;
    }
    const Tensor& value = input.value;
    label += std::string(input.constant ? "constant " : "") + reference::NameOf(value.dtype) + TextOf(value.dims);
    // Short lists are axes, extents and similar parameters, which the label names.
    if (!reference::IsReal(value.dtype) && value.rank() <= 1 && value.count() <= 8) label += "=" + TextOf(value.whole);
  }
  return std::move(tested_);
}

}  // namespace deputy::conformance
