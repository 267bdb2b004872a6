// A model of a few nodes, put together by hand and loaded through the public API.
#pragma once

#include <onnx/onnx.pb.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "deputy/deputy.hpp"

namespace deputy {

namespace pb = ::onnx;

// A model under construction.
class SmallModel {
 public:
  explicit SmallModel(int64_t opset = 18) {
    model_.set_ir_version(10);
    model_.add_opset_import()->set_version(opset);
    model_.mutable_graph()->set_name("limits");
  }
  pb::GraphProto& graph() { return *model_.mutable_graph(); }

  // Without `dims` the shape is not known.
  static void Describe(pb::ValueInfoProto& value, const std::string& name, int32_t type,
                       const std::vector<int64_t>* dims) {
    value.set_name(name);
    pb::TypeProto::Tensor& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    if (dims == nullptr) return;
    tensor.mutable_shape();
    for (const int64_t extent : *dims) tensor.mutable_shape()->add_dim()->set_dim_value(extent);
  }
  void Input(const std::string& name, int32_t type, const std::vector<int64_t>& dims) {
    Describe(*graph().add_input(), name, type, &dims);
  }
  void Output(const std::string& name, int32_t type) { Describe(*graph().add_output(), name, type, nullptr); }
  void Ints(const std::string& name, const std::vector<int64_t>& dims, const std::vector<int64_t>& values) {
    pb::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(pb::TensorProto::INT64);
    for (const int64_t extent : dims) tensor.add_dims(extent);
    for (const int64_t value : values) tensor.add_int64_data(value);
  }
  void Float(const std::string& name, float value) {
    pb::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(pb::TensorProto::FLOAT);
    tensor.add_float_data(value);
  }
  static pb::NodeProto& Node(pb::GraphProto& graph, const std::string& type, const std::vector<std::string>& inputs,
                             const std::vector<std::string>& outputs) {
    pb::NodeProto& node = *graph.add_node();
    node.set_op_type(type);
    node.set_name("the " + type);
    for (const std::string& input : inputs) node.add_input(input);
    for (const std::string& output : outputs) node.add_output(output);
    return node;
  }
  pb::NodeProto& Node(const std::string& type, const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs) {
    return Node(graph(), type, inputs, outputs);
  }
  Result<Session> Load() const {
    Result<Context> context = Context::FromYamlText("limits", "version: 1\nlog: {level: off}\ncache: {dir: off}\n");
    if (!context.ok()) return context.status();
    const std::string bytes = model_.SerializeAsString();
    Model model;
    if (Status status = model.Build(bytes.data(), bytes.size(), ModelType::kOnnx, context.value()); !status.ok())
      return status;
    return model.CreateSession();
  }

 private:
  pb::ModelProto model_;
};

inline Tensor IntTensor(Shape shape, const std::vector<int64_t>& values) {
  return Tensor::FromValues<int64_t>(DType::kInt64, std::move(shape), std::span<const int64_t>(values)).value();
}

}  // namespace deputy
