#include "operators/operators.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "deputy/sdk/half.hpp"

namespace onednn {

namespace {

template <class Visit>
void VisitOperators(Visit visit) {
  for (const auto& family :
       {BinaryOperators(), ConvolutionOperators(), ElementwiseOperators(), MatmulOperators(), MovementOperators(),
        NormalizationOperators(), PoolingOperators(), QuantizationOperators(), ReductionOperators(), ResizeOperators()})
    for (const Operator& op : family) visit(op);
}

// The values through which a node has neighbours.
std::vector<deputy_value_id> DataOf(const sdk::NodeView& node, const Operator& op) {
  std::vector<deputy_value_id> values;
  for (size_t i = 0; i < node.input_count() && i < op.data_inputs; ++i) {
    const sdk::ValueView value = node.input(i);
    if (value.exists() && !value.is_constant()) values.push_back(value.id());
  }
  for (size_t i = 0; i < node.output_count(); ++i)
    if (node.output(i).exists()) values.push_back(node.output(i).id());
  return values;
}

}  // namespace

std::vector<sdk::Capability> ListCapabilities() {
  std::vector<sdk::Capability> rows;
  VisitOperators([&](const Operator& op) {
    sdk::Capability row;
    row.op_type = op.type;
    row.dtypes = {sdk::DType::kFloat32};
    if (op.types == kFloats) row.dtypes.push_back(sdk::DType::kFloat16);
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
  if (value.dtype() == sdk::DType::kFloat16) return sdk::FloatOf(*static_cast<const uint16_t*>(value.constant()));
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

std::unordered_set<deputy_node_id> MoversWorthTaking(const sdk::GraphView& graph,
                                                     const std::function<bool(const sdk::NodeView&)>& accepted) {
  struct Mover {
    deputy_node_id node;
    std::vector<deputy_value_id> values;
  };
  std::vector<Mover> movers;
  std::unordered_map<deputy_value_id, std::vector<size_t>> touching;  // movers by value
  std::vector<deputy_value_id> reached;
  for (size_t i = 0; i < graph.node_count(); ++i) {
    const sdk::NodeView node = graph.NodeAt(i);
    const Operator* op = FindOperator(node);
    if (op == nullptr || !node.offered() || !accepted(node)) continue;
    std::vector<deputy_value_id> values = DataOf(node, *op);
    if (!op->moves) {
      reached.insert(reached.end(), values.begin(), values.end());
      continue;
    }
    for (const deputy_value_id value : values) touching[value].push_back(movers.size());
    movers.push_back({node.id(), std::move(values)});
  }
  std::unordered_set<deputy_node_id> taken;
  while (!reached.empty()) {
    const deputy_value_id value = reached.back();
    reached.pop_back();
    for (const size_t at : touching[value])
      if (taken.insert(movers[at].node).second)
        reached.insert(reached.end(), movers[at].values.begin(), movers[at].values.end());
    touching.erase(value);
  }
  return taken;
}

}  // namespace onednn
