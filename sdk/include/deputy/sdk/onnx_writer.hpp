// A partition as an ONNX model, for vendors' compilers that read this format. Written without a protobuf library; the
// numbers of the fields are those of onnx.proto (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "deputy/sdk/graph.hpp"
#include "deputy/sdk/operators.hpp"
#include "deputy/sdk/protobuf_message.hpp"
#include "deputy/sdk/status.hpp"

namespace deputy::sdk {

struct OnnxModel {
  std::string bytes;
  // Names in the model, in the partition's order: those of the host's model, made unique, and never empty.
  std::vector<std::string> inputs, outputs, nodes;
};

struct OnnxOptions {
  // Extents of the inputs in place of the host's, for compilers that need all of them: one list for each input, of its
  // rank, or none at all. Extents of other values are then left out.
  std::vector<std::vector<int64_t>> input_dims = {};
};

namespace detail {

// Runtimes read no older operator set of ONNX, or rewrite no model of one.
inline constexpr int32_t kLeastOpset = 7;

class OnnxWriter {
 public:
  OnnxWriter(const PartitionView& partition, const OnnxOptions& options) : partition_(partition), options_(options) {}

  Result<OnnxModel> Write() {
    if (!options_.input_dims.empty() && options_.input_dims.size() != partition_.inputs().size())
      return Status(Code::kInvalidArgument, "there are extents for " + std::to_string(options_.input_dims.size()) +
                                                " of " + std::to_string(partition_.inputs().size()) + " inputs");
    for (size_t i = 0; i < options_.input_dims.size(); ++i)
      if (partition_.inputs()[i].rank_known() && partition_.inputs()[i].rank() != options_.input_dims[i].size())
        return Status(Code::kInvalidArgument, "input " + std::to_string(i) + " has rank " +
                                                  std::to_string(partition_.inputs()[i].rank()) + ", not " +
                                                  std::to_string(options_.input_dims[i].size()));
    // Before all others, so that the names of inputs and outputs are the model's where they are unique.
    for (const ValueView& input : partition_.inputs()) model_.inputs.push_back(NameOf(input));
    for (const ValueView& output : partition_.outputs()) {
      model_.outputs.push_back(NameOf(output));
      outputs_.insert(output.id());
    }
    for (const NodeView& node : partition_.nodes()) DEPUTY_SDK_RETURN_IF_ERROR(AddNode(node));
    graph_.Chunk(kGraphName, partition_.name().empty() ? "partition" : partition_.name());
    for (size_t i = 0; i < partition_.inputs().size(); ++i)
      graph_.Part(kGraphInput,
                  Declared(partition_.inputs()[i], options_.input_dims.empty() ? nullptr : &options_.input_dims[i]));
    for (const ValueView& output : partition_.outputs()) {
      graph_.Part(kGraphOutput, Declared(output, nullptr));
      if (output.is_constant()) DEPUTY_SDK_RETURN_IF_ERROR(AddConstant(output, DEPUTY_NO_NODE));
    }
    if (options_.input_dims.empty())
      for (const ValueView& value : inner_) graph_.Part(kGraphValueInfo, Declared(value, nullptr));
    DEPUTY_SDK_RETURN_IF_ERROR(Finish());
    return std::move(model_);
  }

 private:
  // The first that has a type, by the comments of onnx.proto; 10 for all types that vendors' compilers know.
  static int64_t IrVersionOf(DType dtype) {
    switch (dtype) {
      case DType::kFloat4E2M1: return 11;
      case DType::kFloat8E8M0: return 12;
      case DType::kUint2:
      case DType::kInt2: return 13;
      default: return 10;
    }
  }
  // A message of protobuf has no more bytes.
  static constexpr uint64_t kMostBytes = 0x7fffffff;
  static constexpr uint32_t kModelIr = 1, kModelProducer = 2, kModelGraph = 7, kModelOpset = 8;
  static constexpr uint32_t kOpsetDomain = 1, kOpsetVersion = 2;
  static constexpr uint32_t kGraphNode = 1, kGraphName = 2, kGraphInitializer = 5, kGraphInput = 11, kGraphOutput = 12,
                            kGraphValueInfo = 13;
  static constexpr uint32_t kNodeInput = 1, kNodeOutput = 2, kNodeName = 3, kNodeType = 4, kNodeAttribute = 5,
                            kNodeDomain = 7;
  static constexpr uint32_t kTensorDims = 1, kTensorType = 2, kTensorName = 8, kTensorRaw = 9;
  static constexpr uint32_t kAttributeName = 1, kAttributeType = 20;

  // A constant whose elements are read when the size of everything is known.
  struct Constant {
    ValueView value;
    ProtobufMessage head;  // the tensor but for its elements, with their tag and size
  };

  // Where `name` is taken or empty, another one.
  std::string Unique(std::unordered_set<std::string>& used, std::string_view name, const char* otherwise) {
    std::string unique(name);
    if (unique.empty()) unique = otherwise + std::to_string(used.size());
    while (!used.insert(unique).second) unique += "_";
    return unique;
  }
  const std::string& NameOf(const ValueView& value) {
    static const std::string kAbsent;
    if (!value.exists()) return kAbsent;
    const auto [found, added] = names_.try_emplace(value.id());
    if (added) {
      found->second = Unique(used_values_, value.name(), "value_");
      ir_version_ = std::max(ir_version_, IrVersionOf(value.dtype()));
    }
    return found->second;
  }

  Status AddNode(const NodeView& node) {
    if (node.has_regions()) return Status(Code::kNotSupported, "nodes with graphs are not written as ONNX", node.id());
    ProtobufMessage message;
    for (size_t i = 0; i < node.input_count(); ++i) {
      const ValueView input = node.input(i);
      message.Chunk(kNodeInput, NameOf(input));
      if (input.exists() && input.is_constant()) DEPUTY_SDK_RETURN_IF_ERROR(AddConstant(input, node.id()));
    }
    for (size_t i = 0; i < node.output_count(); ++i) {
      const ValueView output = node.output(i);
      message.Chunk(kNodeOutput, NameOf(output));
      if (output.exists() && outputs_.count(output.id()) == 0) inner_.push_back(output);
    }
    model_.nodes.push_back(Unique(used_nodes_, node.name(), "node_"));
    message.Chunk(kNodeName, model_.nodes.back()).Chunk(kNodeType, node.op_type()).Chunk(kNodeDomain, node.domain());
    if (const schema::Primitive* primitive = node.primitive();
        primitive != nullptr && primitive->attributes() != nullptr)
      for (const schema::Attribute* attribute : *primitive->attributes())
        message.Part(kNodeAttribute, AttributeOf(*attribute));
    graph_.Part(kGraphNode, message);
    int64_t& version = opsets_[std::string(node.domain())];
    version = std::max<int64_t>(version, node.since_version());
    holds_in_least_opset_ = holds_in_least_opset_ && ChangedDefinitions(node, kLeastOpset).empty();
    return {};
  }

  Status AddConstant(const ValueView& value, deputy_node_id reader) {
    if (!constant_ids_.insert(value.id()).second) return {};
    if (value.dtype() == DType::kString)
      return Status(Code::kNotSupported, "constants of strings are not written", reader);
    Constant constant{value, {}};
    for (const int64_t extent : value.dims()) constant.head.Number(kTensorDims, extent);
    constant.head.Number(kTensorType, static_cast<int64_t>(value.dtype())).Chunk(kTensorName, NameOf(value));
    constant.head.BeginChunk(kTensorRaw, value.constant_bytes());
    constants_.push_back(std::move(constant));
    return {};
  }

  ProtobufMessage Declared(const ValueView& value, const std::vector<int64_t>* dims) {
    ProtobufMessage type, shape;
    type.Number(1, static_cast<int64_t>(value.dtype()));
    const Span<const int64_t> known = dims == nullptr ? value.dims() : Span<const int64_t>(dims->data(), dims->size());
    const bool is_given = options_.input_dims.empty() || dims != nullptr;
    for (size_t axis = 0; axis < known.size(); ++axis) {
      ProtobufMessage extent;
      if (known[axis] >= 0)
        extent.Number(1, known[axis]);
      else if (axis < value.extents().size() && value.extents()[axis].name.size != 0)
        extent.Chunk(2, ToView(value.extents()[axis].name));
      shape.Part(1, extent);
    }
    if (is_given && (dims != nullptr || value.rank_known())) type.Part(2, shape);
    ProtobufMessage declared;
    declared.Chunk(1, NameOf(value)).Part(2, ProtobufMessage().Part(1, type));
    return declared;
  }

  static ProtobufMessage AttributeOf(const schema::Attribute& attribute) {
    // In the order of the schema's types, of which the first is none: numbers of AttributeProto.AttributeType.
    enum : int64_t { kFloat = 1, kInt, kString, kTensor, kGraph, kFloats, kInts, kStrings };
    const auto view = [](const flatbuffers::String* text) {
      return text == nullptr ? std::string_view() : std::string_view(text->c_str(), text->size());
    };
    ProtobufMessage message;
    message.Chunk(kAttributeName, view(attribute.name()));
    switch (attribute.type()) {
      case schema::AttributeType_Float:
        return std::move(message.Float(2, attribute.f()).Number(kAttributeType, kFloat));
      case schema::AttributeType_Int: return std::move(message.Number(3, attribute.i()).Number(kAttributeType, kInt));
      case schema::AttributeType_String:
        return std::move(message.Chunk(4, view(attribute.s())).Number(kAttributeType, kString));
      case schema::AttributeType_Floats:
        for (const float value : ToVector(attribute.floats())) message.Float(7, value);
        return std::move(message.Number(kAttributeType, kFloats));
      case schema::AttributeType_Ints:
        for (const int64_t value : ToVector(attribute.ints())) message.Number(8, value);
        return std::move(message.Number(kAttributeType, kInts));
      case schema::AttributeType_Strings:
        if (attribute.strings() != nullptr)
          for (const schema::Text* text : *attribute.strings()) message.Chunk(9, view(text->value()));
        return std::move(message.Number(kAttributeType, kStrings));
      case schema::AttributeType_Tensor: {
        ProtobufMessage tensor;
        const schema::TensorData* data = attribute.tensor();
        if (data != nullptr) {
          for (const int64_t extent : ToVector(data->dims())) tensor.Number(kTensorDims, extent);
          tensor.Number(kTensorType, data->dtype());
          if (data->data() != nullptr)
            tensor.Chunk(kTensorRaw, {reinterpret_cast<const char*>(data->data()->data()), data->data()->size()});
        }
        return std::move(message.Part(5, tensor).Number(kAttributeType, kTensor));
      }
      default: return message;
    }
  }

  // Elements of constants are read into their place.
  Status Finish() {
    ProtobufMessage head;
    head.Number(kModelIr, ir_version_).Chunk(kModelProducer, "deputy");
    for (const auto& [domain, version] : opsets_)
      head.Part(kModelOpset, ProtobufMessage()
                                 .Chunk(kOpsetDomain, domain)
                                 .Number(kOpsetVersion, domain.empty() && holds_in_least_opset_
                                                            ? std::max<int64_t>(version, kLeastOpset)
                                                            : version));
    uint64_t size = graph_.bytes().size();
    std::vector<std::string> heads;
    for (const Constant& constant : constants_) {
      const uint64_t elements = constant.value.constant_bytes();
      ProtobufMessage outer;
      outer.BeginChunk(kGraphInitializer, constant.head.bytes().size() + elements);
      heads.push_back(outer.bytes() + constant.head.bytes());
      size += heads.back().size() + elements;
    }
    head.BeginChunk(kModelGraph, size);
    if (head.bytes().size() + size > kMostBytes)
      return Status(Code::kNotSupported,
                    "the partition has " + std::to_string(size >> 20) + " MiB, more than the 2048 of one ONNX file");
    std::string& bytes = model_.bytes;
    bytes.reserve(head.bytes().size() + static_cast<size_t>(size));
    bytes += head.bytes();
    bytes += graph_.bytes();
    for (size_t i = 0; i < constants_.size(); ++i) {
      const ValueView& value = constants_[i].value;
      bytes += heads[i];
      if (value.constant() != nullptr) {
        bytes.append(static_cast<const char*>(value.constant()), value.constant_bytes());
        continue;
      }
      const size_t at = bytes.size();
      bytes.resize(at + value.constant_bytes());
      if (value.constant_bytes() != 0 && !partition_.graph().ReadConstant(value, 0, &bytes[at], value.constant_bytes()))
        throw HostFailure();
    }
    return {};
  }

  const PartitionView& partition_;
  const OnnxOptions& options_;
  OnnxModel model_;
  ProtobufMessage graph_;
  std::unordered_map<deputy_value_id, std::string> names_;
  std::unordered_set<std::string> used_values_, used_nodes_;
  std::map<std::string, int64_t> opsets_;
  std::set<deputy_value_id> outputs_, constant_ids_;
  int64_t ir_version_ = IrVersionOf(DType::kUndefined);
  bool holds_in_least_opset_ = true;
  std::vector<Constant> constants_;
  std::vector<ValueView> inner_;
};

}  // namespace detail

// The partition in the oldest operator sets that have the definitions of its nodes, that of ONNX from 7 on where the
// definitions hold there. Constants are in the bytes, in one copy. kNotSupported: a node with graphs, constants of
// strings, or more than 2 GiB. Throws HostFailure, as views do.
inline Result<OnnxModel> WriteOnnx(const PartitionView& partition, const OnnxOptions& options = {}) {
  return detail::OnnxWriter(partition, options).Write();
}

}  // namespace deputy::sdk
