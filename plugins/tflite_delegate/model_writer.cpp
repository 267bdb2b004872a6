#include "model_writer.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace deputy::tflite_delegate {
namespace {

using flatbuffers::Offset;
template <class T>
using VectorOf = Offset<flatbuffers::Vector<T>>;
using Tables = std::vector<Offset<void>>;

constexpr uint32_t kSchemaVersion = 3;
constexpr size_t kAlignment = 16;                  // of the elements of constants
constexpr size_t kMostBytes = size_t{2000} << 20;  // a FlatBuffer has less than 2 GiB

// The fields of the format's tables, by the numbers of its schema.
namespace model {
enum : uint16_t { kVersion, kOperatorCodes, kSubgraphs, kDescription, kBuffers };
}
namespace subgraph {
enum : uint16_t { kTensors, kInputs, kOutputs, kOperators, kName };
}
namespace tensor {
enum : uint16_t { kShape, kType, kBuffer, kName, kQuantization };
}
namespace quantization {
enum : uint16_t { kScale = 2, kZeroPoint = 3, kDimension = 6 };
}
namespace code {
enum : uint16_t { kDeprecatedBuiltin, kCustom, kVersion, kBuiltin };
}
namespace op {
enum : uint16_t { kCode, kInputs, kOutputs, kOptionsType, kOptions, kCustomOptions, kIntermediates = 8 };
}
constexpr uint16_t kBufferData = 0;

// One table: fields are added in any order, and all that they point to is made before.
class Table {
 public:
  explicit Table(flatbuffers::FlatBufferBuilder& builder) : builder_(builder), start_(builder.StartTable()) {}
  template <class T>
  Table& Add(uint16_t field, T value) {
    builder_.AddElement<T>(flatbuffers::FieldIndexToOffset(field), value);
    return *this;
  }
  template <class T>
  Table& Add(uint16_t field, Offset<T> value) {
    builder_.AddOffset(flatbuffers::FieldIndexToOffset(field), value);
    return *this;
  }
  Offset<void> End() { return Offset<void>(builder_.EndTable(start_)); }

 private:
  flatbuffers::FlatBufferBuilder& builder_;
  flatbuffers::uoffset_t start_;
};

class Writer {
 public:
  Writer(const SourceGraph& graph, const Subset& subset) : graph_(graph), subset_(subset), builder_(kFirstBytes) {
    builder_.ForceDefaults(true);  // the defaults of the fields are not known here
  }

  Result<WrittenModel> Run() {
    DEPUTY_RETURN_IF_ERROR(CheckSize());
    for (const size_t place : subset_.nodes) {
      const SourceNode& node = graph_.nodes[place];
      for (const auto* list : {&node.inputs, &node.outputs, &node.intermediates})
        for (const int32_t index : *list)
          if (index >= 0) WriteTensor(index);
    }
    for (const size_t place : subset_.nodes) {
      const SourceNode& node = graph_.nodes[place];
      Status status = WriteOperator(node);
      if (!status.ok())
        return std::move(status).At("node " + std::to_string(node.index) + " (" + node.form->name + ")");
    }
    return Finish();
  }

 private:
  static constexpr size_t kFirstBytes = 1 << 16;

  Status CheckSize() const {
    std::set<int32_t> counted;
    size_t bytes = 0;
    for (const size_t place : subset_.nodes)
      for (const int32_t index : graph_.nodes[place].inputs)
        if (index >= 0 && counted.insert(index).second) bytes += graph_.tensors.at(index).bytes;
    if (bytes <= kMostBytes) return {};
    return Status(StatusCode::kNotSupported,
                  "the constants have " + std::to_string(bytes >> 20) + " MiB; a file has at most 2 GiB");
  }

  void WriteTensor(int32_t index) {
    if (places_.count(index) != 0) return;
    const SourceTensor& source = graph_.tensors.at(index);
    uint32_t buffer = 0;
    if (source.constant != nullptr) {
      builder_.ForceVectorAlignment(source.bytes, 1, kAlignment);
      const auto data = builder_.CreateVector(static_cast<const uint8_t*>(source.constant), source.bytes);
      buffers_.push_back(Table(builder_).Add(kBufferData, data).End());
      buffer = static_cast<uint32_t>(buffers_.size());  // buffer 0 is the empty one
    }
    std::string unique = source.name;
    if (unique.empty() || names_.count(unique) != 0) unique += "#" + std::to_string(index);
    names_.insert(unique);
    const auto name = builder_.CreateString(unique);
    const auto shape = builder_.CreateVector(source.shape);
    Offset<void> quantized;
    if (!source.scales.empty()) quantized = WriteQuantization(source);
    Table table(builder_);
    table.Add(tensor::kShape, shape).Add(tensor::kType, *FileTypeOf(source.type)).Add(tensor::kBuffer, buffer);
    table.Add(tensor::kName, name).Add(tensor::kQuantization, quantized);
    places_.emplace(index, static_cast<int32_t>(tensors_.size()));
    tensors_.push_back(table.End());
    written_names_.emplace(index, std::move(unique));
  }

  Offset<void> WriteQuantization(const SourceTensor& source) {
    const auto scales = builder_.CreateVector(source.scales);
    const auto zeros =
        builder_.CreateVector(std::vector<int64_t>(source.zero_points.begin(), source.zero_points.end()));
    Table table(builder_);
    table.Add(quantization::kScale, scales).Add(quantization::kZeroPoint, zeros);
    return table.Add(quantization::kDimension, source.axis).End();
  }

  uint32_t CodeOf(const SourceNode& node) {
    const auto key = std::make_tuple(node.form->number, node.version, node.custom_name);
    const auto found = code_places_.find(key);
    if (found != code_places_.end()) return found->second;
    Offset<flatbuffers::String> custom;
    if (node.form->number == kCustomOperator) custom = builder_.CreateString(node.custom_name);
    Table table(builder_);
    table.Add(code::kDeprecatedBuiltin, static_cast<int8_t>(std::min(node.form->number, 127)));
    table.Add(code::kCustom, custom).Add(code::kVersion, node.version).Add(code::kBuiltin, node.form->number);
    codes_.push_back(table.End());
    return code_places_.emplace(key, static_cast<uint32_t>(codes_.size() - 1)).first->second;
  }

  Status WriteOperator(const SourceNode& node) {
    DEPUTY_ASSIGN_OR_RETURN(const Offset<void> options, WriteOptions(builder_, *node.form, node.params));
    const uint32_t opcode = CodeOf(node);
    const auto inputs = Indices(node.inputs), outputs = Indices(node.outputs);
    VectorOf<int32_t> intermediates;
    if (!node.intermediates.empty()) intermediates = Indices(node.intermediates);
    VectorOf<uint8_t> custom;
    if (node.custom_options != nullptr)
      custom = builder_.CreateVector(static_cast<const uint8_t*>(node.custom_options), node.custom_size);
    Table table(builder_);
    table.Add(op::kCode, opcode).Add(op::kInputs, inputs).Add(op::kOutputs, outputs);
    table.Add(op::kOptionsType, node.form->options).Add(op::kOptions, options);
    operators_.push_back(table.Add(op::kCustomOptions, custom).Add(op::kIntermediates, intermediates).End());
    return {};
  }

  VectorOf<int32_t> Indices(const std::vector<int32_t>& list) {
    std::vector<int32_t> places;
    for (const int32_t index : list) places.push_back(index < 0 ? -1 : places_.at(index));
    return builder_.CreateVector(places);
  }

  Result<WrittenModel> Finish() {
    WrittenModel made;
    for (const auto& [list, names] : {std::pair(&subset_.inputs, &made.inputs), {&subset_.outputs, &made.outputs}})
      for (const int32_t index : *list) {
        if (places_.count(index) == 0)
          return Status(StatusCode::kInternal, "tensor " + std::to_string(index) + " belongs to none of the nodes");
        names->push_back(written_names_.at(index));
      }
    const auto inputs = Indices(subset_.inputs), outputs = Indices(subset_.outputs);
    const auto tensors = builder_.CreateVector(tensors_);
    const auto operators = builder_.CreateVector(operators_);
    Table graph(builder_);
    graph.Add(subgraph::kTensors, tensors).Add(subgraph::kInputs, inputs).Add(subgraph::kOutputs, outputs);
    const Tables subgraphs{graph.Add(subgraph::kOperators, operators).End()};
    buffers_.insert(buffers_.begin(), Table(builder_).End());
    const auto codes = builder_.CreateVector(codes_);
    const auto graphs = builder_.CreateVector(subgraphs);
    const auto buffers = builder_.CreateVector(buffers_);
    Table table(builder_);
    table.Add(model::kVersion, kSchemaVersion).Add(model::kOperatorCodes, codes);
    builder_.Finish(table.Add(model::kSubgraphs, graphs).Add(model::kBuffers, buffers).End(), "TFL3");
    made.bytes = builder_.Release();
    return made;
  }

  const SourceGraph& graph_;
  const Subset& subset_;
  flatbuffers::FlatBufferBuilder builder_;
  Tables buffers_, tensors_, codes_, operators_;
  std::map<int32_t, int32_t> places_;  // of tensors in the file
  std::map<int32_t, std::string> written_names_;
  std::map<std::tuple<int32_t, int, std::string>, uint32_t> code_places_;
  std::set<std::string> names_;
};

}  // namespace

std::optional<int8_t> FileTypeOf(tflite_abi::Type type) {
  switch (type) {
    case tflite_abi::kFloat32: return int8_t{0};
    case tflite_abi::kFloat16: return int8_t{1};
    case tflite_abi::kInt32: return int8_t{2};
    case tflite_abi::kUInt8: return int8_t{3};
    case tflite_abi::kInt64: return int8_t{4};
    case tflite_abi::kBool: return int8_t{6};
    case tflite_abi::kInt16: return int8_t{7};
    case tflite_abi::kComplex64: return int8_t{8};
    case tflite_abi::kInt8: return int8_t{9};
    case tflite_abi::kFloat64: return int8_t{10};
    case tflite_abi::kUInt64: return int8_t{12};
    case tflite_abi::kUInt32: return int8_t{15};
    case tflite_abi::kUInt16: return int8_t{16};
    case tflite_abi::kInt4: return int8_t{17};
    case tflite_abi::kBFloat16: return int8_t{18};
    default: return std::nullopt;
  }
}

Result<WrittenModel> WriteModel(const SourceGraph& graph, const Subset& subset) { return Writer(graph, subset).Run(); }

}  // namespace deputy::tflite_delegate
