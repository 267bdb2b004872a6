// ONNX models made in memory, with the protobuf types: what a test says nothing about is small and valid.
#pragma once

#include <onnx/onnx.pb.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "deputy/sdk/protobuf_message.hpp"
#include "import/importer.hpp"

extern "C" const deputy::host::Importer* deputy_importer_v1(const char* build);

namespace deputy::host::test {

inline const Importer& OnnxImporter() { return *deputy_importer_v1(kImporterBuild); }

using Names = std::initializer_list<std::string>;

// A field that the types do not know.
inline std::string Chunk(uint32_t field, const std::string& bytes) {
  return sdk::ProtobufMessage().Chunk(field, bytes).bytes();
}

// Builds a graph; nested ones too.
class GraphBuilder {
 public:
  explicit GraphBuilder(onnx::GraphProto& proto) : proto_(proto) {}

  onnx::ValueInfoProto& Input(const std::string& name, std::vector<int64_t> dims = {2}, int32_t dtype = 1) {
    return Describe(*proto_.add_input(), name, dims, dtype);
  }
  onnx::ValueInfoProto& Output(const std::string& name) {
    onnx::ValueInfoProto& value = *proto_.add_output();
    value.set_name(name);
    return value;
  }
  onnx::ValueInfoProto& Declare(const std::string& name, std::vector<int64_t> dims, int32_t dtype = 1) {
    return Describe(*proto_.add_value_info(), name, dims, dtype);
  }
  onnx::TensorProto& Initializer(const std::string& name, std::vector<int64_t> dims, int32_t dtype,
                                 const std::string& raw) {
    onnx::TensorProto& tensor = *proto_.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(dtype);
    for (const int64_t dim : dims) tensor.add_dims(dim);
    tensor.set_raw_data(raw);
    return tensor;
  }
  onnx::TensorProto& Floats(const std::string& name, std::vector<float> values) {
    std::string raw(values.size() * sizeof(float), '\0');
    std::memcpy(raw.data(), values.data(), raw.size());
    return Initializer(name, {static_cast<int64_t>(values.size())}, onnx::TensorProto::FLOAT, raw);
  }
  onnx::NodeProto& Node(const std::string& op, Names inputs, Names outputs, const std::string& name = "") {
    onnx::NodeProto& node = *proto_.add_node();
    node.set_op_type(op);
    node.set_name(name);
    for (const std::string& input : inputs) node.add_input(input);
    for (const std::string& output : outputs) node.add_output(output);
    return node;
  }
  onnx::GraphProto& proto() { return proto_; }

 private:
  static onnx::ValueInfoProto& Describe(onnx::ValueInfoProto& value, const std::string& name,
                                        const std::vector<int64_t>& dims, int32_t dtype) {
    value.set_name(name);
    auto* tensor = value.mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(dtype);
    tensor->mutable_shape();
    for (const int64_t dim : dims) tensor->mutable_shape()->add_dim()->set_dim_value(dim);
    return value;
  }

  onnx::GraphProto& proto_;
};

inline onnx::AttributeProto& Attribute(onnx::NodeProto& node, const std::string& name,
                                       onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}
inline void SetInt(onnx::NodeProto& node, const std::string& name, int64_t value) {
  Attribute(node, name, onnx::AttributeProto::INT).set_i(value);
}
inline GraphBuilder AddGraph(onnx::NodeProto& node, const std::string& name) {
  return GraphBuilder(*Attribute(node, name, onnx::AttributeProto::GRAPH).mutable_g());
}

class ModelBuilder : public GraphBuilder {
 public:
  explicit ModelBuilder(int64_t opset = 17) : ModelBuilder(new onnx::ModelProto, opset) {}
  ModelBuilder(const ModelBuilder&) = delete;
  ModelBuilder& operator=(const ModelBuilder&) = delete;

  onnx::ModelProto& model() { return *model_; }
  void ImportDomain(const std::string& domain, int64_t version) {
    onnx::OperatorSetIdProto& opset = *model_->add_opset_import();
    opset.set_domain(domain);
    opset.set_version(version);
  }
  onnx::FunctionProto& Function(const std::string& domain, const std::string& name, Names inputs, Names outputs) {
    onnx::FunctionProto& function = *model_->add_functions();
    function.set_domain(domain);
    function.set_name(name);
    for (const std::string& input : inputs) function.add_input(input);
    for (const std::string& output : outputs) function.add_output(output);
    function.add_opset_import()->set_version(17);
    return function;
  }

  std::string Bytes() const { return model_->SerializeAsString(); }
  Result<Graph> Import() const { return ImportBytes(Bytes()); }

  static Result<Graph> ImportBytes(const std::string& bytes, const std::filesystem::path& path = {},
                                   FileAccess external = FileAccess::kMapped) {
    const std::span<const uint8_t> span{reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
    return OnnxImporter().Import({span, nullptr, path, {}, external});
  }

 private:
  ModelBuilder(onnx::ModelProto* model, int64_t opset) : GraphBuilder(*model->mutable_graph()), model_(model) {
    model->set_ir_version(8);
    ImportDomain("", opset);
  }

  std::unique_ptr<onnx::ModelProto> model_;
};

// What is said of a model that cannot be read.
inline std::string ErrorOf(const ModelBuilder& builder) {
  const Result<Graph> graph = builder.Import();
  return graph.ok() ? "accepted" : graph.status().ToString();
}

// Null: no value has this name.
inline const Value* Find(const Graph& graph, const std::string& name) {
  const auto found =
      std::find_if(graph.values.begin(), graph.values.end(), [&](const Value& value) { return value.name == name; });
  return found == graph.values.end() ? nullptr : &*found;
}

// A node of a function's body.
inline onnx::NodeProto& AddNode(onnx::FunctionProto& function, const std::string& op, Names inputs, Names outputs) {
  onnx::NodeProto& node = *function.add_node();
  node.set_op_type(op);
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  return node;
}

// y = Relu(x + w), with w a constant of two elements.
inline void AddSmallModel(GraphBuilder& builder) {
  builder.Input("x");
  builder.Floats("w", {1.0f, -2.0f});
  builder.Node("Add", {"x", "w"}, {"sum"}, "add");
  builder.Node("Relu", {"sum"}, {"y"}, "relu");
  builder.Output("y");
}

}  // namespace deputy::host::test
