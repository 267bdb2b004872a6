#include "import/onnx/exporter.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <variant>

#include "import/onnx/proto.hpp"

namespace deputy::host::onnx_import {
namespace {

constexpr int64_t kIrVersion = 8;  // of ONNX 1.12, the newest whose message types are compiled here

Status FillTensor(const Tensor& tensor, pb::TensorProto& proto) {
  if (SizeOf(tensor.dtype()) == 0 && BitsOf(tensor.dtype()) == 0)
    return Error(StatusCode::kNotSupported, "{} tensors cannot be exported", NameOf(tensor.dtype()));
  proto.set_data_type(static_cast<int32_t>(tensor.dtype()));
  for (const int64_t extent : tensor.shape()) proto.add_dims(extent);
  proto.set_raw_data(tensor.data(), tensor.byte_size());
  return {};
}

Status FillAttribute(const std::string& name, const PrimitiveBuilder::Attribute& value, pb::AttributeProto& proto) {
  proto.set_name(name);
  if (const auto* number = std::get_if<int64_t>(&value)) {
    proto.set_type(pb::AttributeProto::INT);
    proto.set_i(*number);
  } else if (const auto* real = std::get_if<float>(&value)) {
    proto.set_type(pb::AttributeProto::FLOAT);
    proto.set_f(*real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    proto.set_type(pb::AttributeProto::STRING);
    proto.set_s(*text);
  } else if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value)) {
    proto.set_type(pb::AttributeProto::INTS);
    for (const int64_t item : *numbers) proto.add_ints(item);
  } else if (const auto* reals = std::get_if<std::vector<float>>(&value)) {
    proto.set_type(pb::AttributeProto::FLOATS);
    for (const float item : *reals) proto.add_floats(item);
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    proto.set_type(pb::AttributeProto::STRINGS);
    for (const std::string& item : *texts) proto.add_strings(item);
  } else {
    proto.set_type(pb::AttributeProto::TENSOR);
    return FillTensor(std::get<Tensor>(value), *proto.mutable_t());
  }
  return {};
}

class Exporter {
 public:
  explicit Exporter(const Graph& graph) : graph_(graph) {}

  Result<std::string> Run() {
    NameValues();
    model_.set_ir_version(kIrVersion);
    model_.set_producer_name("deputy");
    pb::GraphProto& out = *model_.mutable_graph();
    out.set_name(graph_.name.empty() ? "part" : graph_.name);
    for (const NodeId id : Ids())
      DEPUTY_RETURN_IF_ERROR(AddNode(graph_.nodes[id], *out.add_node()).At(Describe(graph_, id)));
    for (const auto& [domain, version] : versions_) {
      pb::OperatorSetIdProto& set = *model_.add_opset_import();
      set.set_domain(domain);
      set.set_version(version);
    }
    for (const std::vector<ValueId>* list : {&graph_.inputs, &graph_.captured})
      for (const ValueId id : *list) DEPUTY_RETURN_IF_ERROR(AddType(id, *out.add_input()));
    for (const ValueId id : graph_.outputs) {
      DEPUTY_RETURN_IF_ERROR(AddType(id, *out.add_output()));
      if (graph_.values[id].is_constant()) constants_.insert(id);
    }
    for (const ValueId id : constants_) {
      pb::TensorProto& proto = *out.add_initializer();
      proto.set_name(names_[id]);
      DEPUTY_RETURN_IF_ERROR(FillTensor(graph_.values[id].constant, proto));
    }
    return model_.SerializeAsString();
  }

 private:
  std::vector<NodeId> Ids() const {
    std::vector<NodeId> ids(graph_.nodes.size());
    for (NodeId id = 0; id < ids.size(); ++id) ids[id] = id;
    return ids;
  }

  // As in the model; unique, and never empty.
  void NameValues() {
    std::set<std::string> used;
    for (const Value& value : graph_.values) {
      std::string name = value.name.empty() ? "value_" + std::to_string(names_.size()) : value.name;
      while (!used.insert(name).second) name += "_";
      names_.push_back(std::move(name));
    }
  }

  Status AddNode(const Node& node, pb::NodeProto& proto) {
    if (!node.regions.empty()) return Error(StatusCode::kNotSupported, "nodes with regions cannot be exported");
    const std::string domain(node.primitive.domain());
    int64_t& version = versions_[domain];
    version = std::max<int64_t>(version, node.primitive.since_version());
    proto.set_name(node.name);
    proto.set_op_type(std::string(node.primitive.op_type()));
    proto.set_domain(domain);
    for (const ValueId id : node.inputs) {
      proto.add_input(id == kNone ? std::string() : names_[id]);
      if (id != kNone && graph_.values[id].is_constant()) constants_.insert(id);
    }
    for (const ValueId id : node.outputs) proto.add_output(id == kNone ? std::string() : names_[id]);
    const PrimitiveBuilder content(node.primitive);
    for (const auto& [name, value] : content.attributes())
      DEPUTY_RETURN_IF_ERROR(FillAttribute(name, value, *proto.add_attribute()));
    return {};
  }

  Status AddType(ValueId id, pb::ValueInfoProto& proto) const {
    const ValueType& type = graph_.values[id].type;
    if (!type.is_tensor())
      return Error(StatusCode::kNotSupported, "value '{}' is not a tensor and cannot be exported", names_[id]);
    proto.set_name(names_[id]);
    pb::TypeProto_Tensor& tensor = *proto.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(static_cast<int32_t>(type.dtype));
    if (!type.ranked) return {};
    pb::TensorShapeProto& shape = *tensor.mutable_shape();
    for (const int64_t extent : type.dims) {
      pb::TensorShapeProto_Dimension& dim = *shape.add_dim();
      if (extent >= 0) dim.set_dim_value(extent);
      if (IsSymbol(extent) && SymbolIndex(extent) < graph_.symbols.size())
        dim.set_dim_param(graph_.symbols[SymbolIndex(extent)]);
    }
    return {};
  }

  const Graph& graph_;
  pb::ModelProto model_;
  std::vector<std::string> names_;  // per value
  std::map<std::string, int64_t> versions_;
  std::set<ValueId> constants_;
};

}  // namespace

Result<std::string> ExportModel(const Graph& graph) { return Exporter(graph).Run(); }

Result<std::string> ExportTensor(const Tensor& tensor, const std::string& name) {
  pb::TensorProto proto;
  proto.set_name(name);
  DEPUTY_RETURN_IF_ERROR(FillTensor(tensor, proto));
  return proto.SerializeAsString();
}

}  // namespace deputy::host::onnx_import
