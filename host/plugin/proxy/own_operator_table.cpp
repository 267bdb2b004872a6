#include "plugin/proxy/own_operator_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plugin/checks/text.hpp"

namespace deputy::host {
namespace {

constexpr uint32_t kMaxOperators = 4096;
constexpr uint64_t kMaxAttributes = 256;
constexpr uint32_t kMaxRank = 64;

constexpr std::string_view kTypeNames[] = {"none", "an int", "a float", "a string",
                                           "ints", "floats", "strings", "a tensor"};

// The fault, or nothing.
Result<std::string> CheckNode(const OwnOperator& known, const Node& node, const LoneNode& lone) {
  const auto check = [](const char* noun, size_t count, uint32_t least, uint32_t most) {
    if (count >= least && count <= most) return std::string();
    return fmt::format("it has {} {}, expected {} to {}", count, noun, least, most);
  };
  std::string fault = check("inputs", node.inputs.size(), known.min_inputs, known.max_inputs);
  if (fault.empty()) fault = check("outputs", node.outputs.size(), known.min_outputs, known.max_outputs);
  if (!fault.empty()) return fault;
  for (const OwnAttribute& attribute : known.attributes)
    if (attribute.required && !node.primitive.Has(attribute.name))
      return fmt::format("it lacks the attribute '{}'", attribute.name);
  for (const std::string_view name : node.primitive.AttributeNames()) {
    const auto declared = std::find_if(known.attributes.begin(), known.attributes.end(),
                                       [&](const OwnAttribute& attribute) { return attribute.name == name; });
    if (declared == known.attributes.end()) return fmt::format("it has an attribute '{}', which is not declared", name);
    deputy_attribute attribute{};
    attribute.struct_size = sizeof attribute;
    DEPUTY_RETURN_IF_ERROR(lone.shown()->Attribute(0, name, &attribute));
    const deputy_attribute_type type = attribute.type;
    if (type != declared->type)
      return fmt::format("its attribute '{}' is {}, not {}", name, kTypeNames[std::min<uint32_t>(type, 7)],
                         kTypeNames[declared->type]);
  }
  return std::string();
}

// Collects the types that a plugin infers.
struct TypeCollector {
  InferenceContext& context;
  std::string fault;

  std::string Take(uint32_t output, deputy_dtype dtype, const int64_t* dims, uint32_t rank) const {
    if (output >= context.output_count()) return fmt::format("the node has no output {}", output);
    if (SizeOf(static_cast<DType>(dtype)) == 0) return fmt::format("output {} has the unknown dtype {}", output, dtype);
    if (dims == nullptr && rank != 0) return fmt::format("output {} counts extents that it does not list", output);
    if (rank > kMaxRank) return fmt::format("output {} has rank {}, expected at most {}", output, rank, kMaxRank);
    if (dims == nullptr) {
      context.SetOutputUnranked(output, static_cast<DType>(dtype));
      return {};
    }
    std::vector<int64_t> extents(dims, dims + rank);
    for (const int64_t extent : extents)
      if (extent < -1) return fmt::format("output {} has the invalid extent {}", output, extent);
    context.SetOutput(output, static_cast<DType>(dtype), std::move(extents));
    return {};
  }

  static deputy_status* Set(void* self, uint32_t output, deputy_dtype dtype, const int64_t* dims, uint32_t rank) {
    auto& collector = *static_cast<TypeCollector*>(self);
    return AnswerOfSink([&] { return collector.Take(output, dtype, dims, rank); },
                        [&](const std::string& reason) {
                          if (collector.fault.empty()) collector.fault = reason;
                        });
  }
};

}  // namespace

template <class ValueOf>
void LoneNode::Take(const Node& node, ValueOf&& value_of) {
  Node& copy = graph_.nodes.emplace_back();
  copy.name = node.name;
  copy.primitive = node.primitive;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    copy.inputs.push_back(node.inputs[i] == kNone ? kNone : graph_.AddValue(fmt::format("input {}", i)));
    if (copy.inputs[i] != kNone) value_of(graph_.values[copy.inputs[i]], i);
    if (copy.inputs[i] != kNone && !graph_.values[copy.inputs[i]].is_constant())
      graph_.inputs.push_back(copy.inputs[i]);
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    copy.outputs.push_back(node.outputs[i] == kNone ? kNone : graph_.AddValue(fmt::format("output {}", i)));
    if (copy.outputs[i] != kNone) graph_.outputs.push_back(copy.outputs[i]);
  }
}

LoneNode::LoneNode(const InferenceContext& context) {
  Take(context.node(), [&](Value& value, size_t i) {
    value.type = context.input(i);
    if (const Tensor* constant = context.constant(i)) value.constant = *constant;
  });
  shown_ = std::make_unique<const deputy_graph>(GraphView{&graph_, {0}, {1}});
}

LoneNode::LoneNode(const Graph& graph, const Node& node) {
  Take(node, [&](Value& value, size_t i) { value = graph.values[node.inputs[i]]; });
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i] != kNone) graph_.values[graph_.nodes[0].outputs[i]].type = graph.values[node.outputs[i]].type;
  shown_ = std::make_unique<const deputy_graph>(GraphView{&graph_, {0}, {1}});
}

OwnOperatorTable::OwnOperatorTable(std::shared_ptr<const OpenedDelegate> opened)
    : opened_(std::move(opened)), functions_(OperatorsOf(opened_->table())) {
  if (functions_ == nullptr) return;
  const deputy_delegate* table = &opened_->table();
  uint32_t count = 0;
  opened_->CallVoid("operator_count", [&] { count = functions_->operator_count(table); });
  if (count > kMaxOperators) {
    opened_->LogFault("operator_count", fmt::format("it returned {}, the maximum is {}", count, kMaxOperators));
    count = 0;
  }
  for (uint32_t i = 0; i < count; ++i) {
    const deputy_operator_info* info = nullptr;
    opened_->CallVoid("operator_at", [&] { info = functions_->operator_at(table, i); });
    const std::string fault = Add(info);
    if (!fault.empty()) opened_->LogFault("operator_at", fmt::format("operator {}: {}", i, fault));
  }
}

std::string OwnOperatorTable::Add(const deputy_operator_info* info) {
  if (info == nullptr || !DEPUTY_HAS(info, deputy_operator_info, reserved)) return "it has no description";
  const CopiedText domain = CopyText(info->domain, 128), op_type = CopyText(info->op_type, 128);
  if (!domain.fault.empty()) return "its domain " + domain.fault;
  if (!op_type.fault.empty()) return "its type " + op_type.fault;
  if (!IsPluginName(domain.text) || domain.text == "ai.onnx" || domain.text.compare(0, 8, "ai.onnx.") == 0)
    return fmt::format("'{}' is not a vendor's domain", CleanText(domain.text, 80));
  if (!IsPluginName(op_type.text)) return fmt::format("'{}' is not a valid name", CleanText(op_type.text, 80));
  if (info->since_version == 0 || info->min_inputs > info->max_inputs || info->min_outputs > info->max_outputs)
    return fmt::format("{}.{} has an invalid version or number of inputs or outputs", domain.text, op_type.text);
  OwnOperator known{domain.text,
                    op_type.text,
                    info->since_version,
                    info->min_inputs,
                    info->max_inputs,
                    info->min_outputs,
                    info->max_outputs,
                    {},
                    (info->flags & DEPUTY_OPERATOR_HAS_KERNEL) != 0 && functions_->compute != nullptr};
  for (const OwnOperator& other : operators_)
    if (other.domain == known.domain && other.op_type == known.op_type && other.since_version == known.since_version)
      return fmt::format("{}.{} of version {} is declared twice", known.domain, known.op_type, known.since_version);
  if (info->attribute_count > kMaxAttributes || (info->attributes == nullptr && info->attribute_count != 0))
    return fmt::format("{}.{} declares {} attributes, which is invalid", known.domain, known.op_type,
                       info->attribute_count);
  for (uint64_t i = 0; i < info->attribute_count; ++i) {
    const deputy_operator_attribute& attribute = info->attributes[i];
    const CopiedText name = CopyText(attribute.name, 128);
    if (!name.fault.empty() || !IsPluginName(name.text)) return "an attribute has an invalid name";
    if (attribute.type < DEPUTY_ATTRIBUTE_INT || attribute.type > DEPUTY_ATTRIBUTE_TENSOR)
      return fmt::format("attribute '{}' has the unknown type {}", name.text, attribute.type);
    known.attributes.push_back({name.text, attribute.type, attribute.required != 0});
  }
  operators_.push_back(std::move(known));
  return {};
}

bool OwnOperatorTable::has_kernels() const {
  return std::any_of(operators_.begin(), operators_.end(), [](const OwnOperator& known) { return known.has_kernel; });
}

const OwnOperator* OwnOperatorTable::Find(const Primitive& primitive) const {
  const OwnOperator* newest = nullptr;
  for (const OwnOperator& known : operators_)
    if (known.domain == primitive.domain() && known.op_type == primitive.op_type() &&
        static_cast<int64_t>(known.since_version) <= primitive.since_version() &&
        (newest == nullptr || newest->since_version < known.since_version))
      newest = &known;
  return newest;
}

Status OwnOperatorTable::Infer(InferenceContext& context) const {
  const OwnOperator* known = Find(context.primitive());
  if (known == nullptr) return Status(StatusCode::kNotSupported, "not one of the delegate's operators");
  const LoneNode lone(context);
  DEPUTY_ASSIGN_OR_RETURN(const std::string fault, CheckNode(*known, context.node(), lone));
  if (!fault.empty())
    return Error(StatusCode::kModel, "{} ({}.{}, as '{}' declares it)", fault, known->domain, known->op_type,
                 opened_->name());
  TypeCollector collector{context, {}};
  const deputy_type_sink sink{sizeof sink, 0, &collector, TypeCollector::Set};
  const deputy_delegate* table = &opened_->table();
  Status status = opened_->Call("infer", lone.shown(),
                                [&] { return functions_->infer(table, opened_->host(), lone.shown(), 0, &sink); });
  if (!collector.fault.empty()) return opened_->Fault("infer", collector.fault);
  return status;
}

}  // namespace deputy::host
