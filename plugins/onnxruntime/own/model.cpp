#include "own/model.hpp"

#include <algorithm>
#include <string_view>

namespace ort::own {
namespace {

namespace schema = deputy::schema;

// Where `name` is taken or empty, another one.
std::string Unique(std::set<std::string>& used, std::string_view name, const char* otherwise) {
  std::string unique(name);
  if (unique.empty()) unique = otherwise + std::to_string(used.size());
  while (!used.insert(unique).second) unique += "_";
  return unique;
}

std::string TextOf(const flatbuffers::String* text) {
  return text == nullptr ? std::string() : std::string(text->c_str(), text->size());
}

OpAttr AttributeOf(const schema::Attribute& attribute) {
  OpAttr made{TextOf(attribute.name())};
  switch (attribute.type()) {
    case schema::AttributeType_Int:
      made.type = kIntAttribute;
      made.number = attribute.i();
      break;
    case schema::AttributeType_Float:
      made.type = kFloatAttribute;
      made.real = attribute.f();
      break;
    case schema::AttributeType_String:
      made.type = kStringAttribute;
      made.text = TextOf(attribute.s());
      break;
    case schema::AttributeType_Ints:
      made.type = kIntsAttribute;
      made.numbers = sdk::ToVector(attribute.ints());
      break;
    case schema::AttributeType_Floats:
      made.type = kFloatsAttribute;
      made.reals = sdk::ToVector(attribute.floats());
      break;
    case schema::AttributeType_Strings:
      made.type = kStringsAttribute;
      if (attribute.strings() != nullptr)
        for (const schema::Text* text : *attribute.strings()) made.texts.push_back(TextOf(text->value()));
      break;
    case schema::AttributeType_Tensor:
      made.type = kTensorAttribute;
      if (const schema::TensorData* tensor = attribute.tensor()) {
        made.element = FromOnnx(tensor->dtype());
        made.dims = sdk::ToVector(tensor->dims());
        if (tensor->data() != nullptr) {
          made.data = tensor->data()->data();
          made.bytes = tensor->data()->size();
        }
      }
      break;
    default: break;
  }
  return made;
}

}  // namespace

Model::Model(const sdk::PartitionView& partition) : graph_(&partition.graph()), name_(partition.name()) {
  if (name_.empty()) name_ = "partition";
  // Before all others, so that the names of inputs and outputs are the host's where they are unique.
  for (const sdk::ValueView& input : partition.inputs()) Add(input);
  for (const sdk::ValueView& output : partition.outputs())
    if (const size_t number = Add(output); number != kNone) values_[number].is_read_outside = true;
  std::vector<ModelNode> nodes;
  for (const sdk::NodeView& node : partition.nodes()) nodes.push_back(NodeOf(node));
  SetNodes(std::move(nodes));
}

size_t Model::Add(const sdk::ValueView& view) {
  if (!view.exists()) return kNone;
  const auto [found, added] = numbers_.try_emplace(view.id(), values_.size());
  if (!added) return found->second;
  ModelValue value;
  value.name = Unique(value_names_, view.name(), "value_");
  value.id = view.id();
  value.type.is_kept = true;
  TensorTypeAndShapeInfo& tensor = value.type.tensor;
  tensor.is_kept = true;
  tensor.type = FromOnnx(static_cast<int32_t>(view.dtype()));
  tensor.has_shape = view.rank_known();
  tensor.dims = view.dims().ToVector();
  for (const deputy_extent& extent : view.extents()) tensor.symbols.emplace_back(sdk::ToView(extent.name));
  if (view.is_constant()) {
    value.constant = std::make_unique<Value>();
    value.constant->type = value.type;
    value.constant->is_kept = true;
    value.constant->bytes = view.constant_bytes();
    value.constant->data = const_cast<void*>(view.constant());  // read only, as ONNX Runtime's documentation demands
  }
  values_.push_back(std::move(value));
  views_.push_back(view);
  return found->second;
}

ModelNode Model::NodeOf(const sdk::NodeView& node) {
  ModelNode made;
  made.name = Unique(node_names_, node.name(), "node_");
  made.type = node.op_type();
  made.domain = node.domain();
  made.since_version = node.since_version();
  made.id = node.id();
  for (size_t i = 0; i < node.input_count(); ++i) made.inputs.push_back(Add(node.input(i)));
  for (size_t i = 0; i < node.output_count(); ++i) made.outputs.push_back(Add(node.output(i)));
  const schema::Primitive* primitive = node.primitive();
  if (primitive != nullptr && primitive->attributes() != nullptr)
    for (const schema::Attribute* attribute : *primitive->attributes())
      made.attributes.push_back(AttributeOf(*attribute));
  return made;
}

void Model::SetNodes(std::vector<ModelNode> nodes) {
  nodes_ = std::move(nodes);
  for (ModelValue& value : values_) value.consumers.clear();
  operator_sets_.clear();
  for (size_t number = 0; number < nodes_.size(); ++number) {
    const ModelNode& node = nodes_[number];
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i] != kNone) values_[node.inputs[i]].consumers.emplace_back(number, i);
    const auto found = std::find_if(operator_sets_.begin(), operator_sets_.end(),
                                    [&](const auto& set) { return set.first == node.domain; });
    if (found == operator_sets_.end())
      operator_sets_.emplace_back(node.domain, node.since_version);
    else
      found->second = std::max<int64_t>(found->second, node.since_version);
  }
}

size_t Model::NewValue(const std::string& name, ElementType type, std::vector<int64_t> dims) {
  ModelValue value;
  value.name = Unique(value_names_, name, "value_");
  value.type.is_kept = true;
  value.type.tensor.is_kept = true;
  value.type.tensor.type = type;
  value.type.tensor.dims = std::move(dims);
  values_.push_back(std::move(value));
  views_.emplace_back();
  return values_.size() - 1;
}

void Model::SetConstant(size_t value, Memory memory, size_t bytes) {
  auto constant = std::make_unique<Value>();
  constant->type = values_[value].type;
  constant->is_kept = true;
  constant->bytes = bytes;
  constant->data = memory.release();
  constant->allocator = &HostAllocator();
  values_[value].constant = std::move(constant);
}

std::string Model::NewNodeName(const std::string& name) { return Unique(node_names_, name, "node_"); }

const Value* Model::Constant(size_t value) const {
  Value* constant = values_[value].constant.get();
  if (constant == nullptr) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (constant->data != nullptr || constant->bytes == 0) return constant;
  if (graph_ == nullptr) return nullptr;
  Memory memory = Allocate(constant->bytes);
  if (memory == nullptr || !graph_->ReadConstant(views_[value], 0, memory.get(), constant->bytes)) return nullptr;
  constant->data = memory.release();
  constant->allocator = &HostAllocator();
  return constant;
}

}  // namespace ort::own
