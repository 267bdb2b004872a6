#include "operators/operators.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace onednn {

namespace {

template <class Visit>
void VisitOperators(Visit visit) {
  for (const auto& family :
       {BinaryOperators(), ConvolutionOperators(), ElementwiseOperators(), MatmulOperators(), MovementOperators(),
        NormalizationOperators(), PoolingOperators(), QuantizationOperators(), ReductionOperators(), ResizeOperators()})
    for (const Operator& op : family) visit(op);
}

}  // namespace

std::vector<sdk::Capability> ListCapabilities() {
  std::vector<sdk::Capability> rows;
  VisitOperators([&](const Operator& op) {
    sdk::Capability row;
    row.op_type = op.type;
    row.dtypes = {kDataType};
    if (op.types != kFloats) row.dtypes.insert(row.dtypes.end(), {sdk::DType::kInt8, sdk::DType::kUint8});
    row.min_rank = op.ranks.least;
    row.max_rank = op.ranks.most;
    row.note = op.note;
    row.max_version = static_cast<uint32_t>(sdk::NewestDefinition("", op.type));
    rows.push_back(std::move(row));
  });
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.op_type < b.op_type; });
  return rows;
}

const Operator* FindOperator(const sdk::NodeView& node) {
  static const std::unordered_map<std::string_view, const Operator*> operators = [] {
    std::unordered_map<std::string_view, const Operator*> all;
    VisitOperators([&](const Operator& op) { all.emplace(op.type, &op); });
    return all;
  }();
  const auto found = operators.find(node.op_type());
  return !node.domain().empty() || found == operators.end() ? nullptr : found->second;
}

std::optional<std::vector<int64_t>> ConstantInts(const sdk::ValueView& value) {
  if (!value.exists() || !value.is_constant()) return std::nullopt;
  if (value.dtype() == sdk::DType::kInt64) return value.constant_values<int64_t>().ToVector();
  if (value.dtype() != sdk::DType::kInt32) return std::nullopt;
  const auto values = value.constant_values<int32_t>();
  return std::vector<int64_t>(values.begin(), values.end());
}

std::optional<float> ConstantScalar(const sdk::ValueView& value) {
  if (!value.exists() || !value.is_constant() || value.element_count() != 1) return std::nullopt;
  if (value.dtype() == sdk::DType::kFloat32) return value.constant_values<float>()[0];
  if (value.dtype() == sdk::DType::kFloat64) return static_cast<float>(value.constant_values<double>()[0]);
  if (const auto ints = ConstantInts(value)) return static_cast<float>((*ints)[0]);
  return std::nullopt;
}

memory::dims PerChannel(int64_t channels, size_t rank) {
  memory::dims dims(rank, 1);
  dims[1] = channels;
  return dims;
}

Value AddLinear(Program& program, Value x, float scale, float shift) {
  return program.Add(Eltwise{dnnl::algorithm::eltwise_linear, scale, shift}, {x}, program.dims(x));
}

}  // namespace onednn
