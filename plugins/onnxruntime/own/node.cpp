// The functions of the tables for nodes and their attributes.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

#include "own/graph.hpp"
#include "own/status.hpp"
#include "own/tables.hpp"
#include "schema/operator_name.hpp"

namespace ort::own {
namespace {

Status* Node_GetId(const Node* node, size_t* out) {
  *out = node->id;
  return nullptr;
}
Status* Node_GetName(const Node* node, const char** out) {
  *out = node->node->name.c_str();
  return nullptr;
}
Status* Node_GetOperatorType(const Node* node, const char** out) {
  *out = node->node->type.c_str();
  return nullptr;
}
Status* Node_GetDomain(const Node* node, const char** out) {
  *out = node->node->domain.c_str();
  return nullptr;
}
Status* Node_GetSinceVersion(const Node* node, int* out) {
  *out = node->node->since_version;
  return nullptr;
}
Status* Node_GetNumInputs(const Node* node, size_t* out) {
  *out = node->inputs.size();
  return nullptr;
}
Status* WriteValues(const std::vector<const ValueInfo*>& values, const ValueInfo** out, size_t count) {
  if (count < values.size()) return Fail("there is no room for the values");
  std::copy(values.begin(), values.end(), out);
  return nullptr;
}
Status* Node_GetInputs(const Node* node, const ValueInfo** out, size_t count) {
  return WriteValues(node->inputs, out, count);
}
Status* Node_GetNumOutputs(const Node* node, size_t* out) {
  *out = node->outputs.size();
  return nullptr;
}
Status* Node_GetOutputs(const Node* node, const ValueInfo** out, size_t count) {
  return WriteValues(node->outputs, out, count);
}
// Nodes with graphs are not offered to EPs.
Status* CountNone(const Node*, size_t* out) {
  *out = 0;
  return nullptr;
}
Status* Node_GetImplicitInputs(const Node*, const ValueInfo**, size_t) { return nullptr; }
Status* Node_GetSubgraphs(const Node*, const Graph**, size_t, const char**) { return nullptr; }
Status* Node_GetGraph(const Node* node, const Graph** out) {
  *out = node->graph;
  return nullptr;
}
Status* Node_GetEpName(const Node* node, const char** out) {
  *out = node->provider.c_str();
  return nullptr;
}
// Of a graph, or of a compilation, which owns it.
void ReleaseNode(Node*) {}

Status* Node_GetNumAttributes(const Node* node, size_t* out) {
  *out = node->node->attributes.size();
  return nullptr;
}
Status* Node_GetAttributes(const Node* node, const OpAttr** out, size_t count) {
  if (count < node->node->attributes.size()) return Fail("there is no room for the attributes");
  for (const OpAttr& attribute : node->node->attributes) *out++ = &attribute;
  return nullptr;
}

// Domain, type and name of each attribute of a known operator.
std::string AttributeKey(std::string_view domain, std::string_view type, std::string_view name) {
  return std::string(domain) + ":" + std::string(type) + ":" + std::string(name);
}
const std::unordered_set<std::string>& KnownAttributes() {
  static const std::unordered_set<std::string> known = [] {
    std::unordered_set<std::string> keys;
    std::string_view domain;
#define DEPUTY_OPERATOR_BEGIN(name, operator_domain, min_inputs, max_inputs, min_outputs, max_outputs) \
  domain = operator_domain;
#define DEPUTY_ATTRIBUTE(name, kind, attribute, since, until, ...) \
  keys.insert(AttributeKey(domain, deputy::schema::OperatorType(#name), #attribute));
#include "schema/operators.inc"
    return keys;
  }();
  return known;
}

// As ONNX Runtime: no attribute, and success, where the operator has an attribute of this name that the node leaves
// out.
Status* Node_GetAttributeByName(const Node* node, const char* name, const OpAttr** out) {
  return Guarded([&]() -> Status* {
    *out = nullptr;
    for (const OpAttr& attribute : node->node->attributes)
      if (attribute.name == name) *out = &attribute;
    if (*out != nullptr || KnownAttributes().count(AttributeKey(node->node->domain, node->node->type, name)) != 0)
      return nullptr;
    return Fail(kNotFound, node->node->type + " has no attribute '" + name + "'");
  });
}

Status* OpAttr_GetType(const OpAttr* attribute, AttributeType* out) {
  *out = attribute->type;
  return nullptr;
}
Status* OpAttr_GetName(const OpAttr* attribute, const char** out) {
  *out = attribute->name.c_str();
  return nullptr;
}
Status* OpAttr_GetTensorAttributeAsOrtValue(const OpAttr* attribute, Value** out) {
  return Guarded([&]() -> Status* {
    if (attribute->type != kTensorAttribute) return Fail("attribute '" + attribute->name + "' is not a tensor");
    auto value = std::make_unique<Value>();
    value->type.tensor.type = attribute->element;
    value->type.tensor.dims = attribute->dims;
    value->data = const_cast<void*>(attribute->data);  // read only, as ONNX Runtime's documentation demands
    value->bytes = attribute->bytes;
    *out = value.release();
    return nullptr;
  });
}

// Writes so many bytes, or how many are needed.
Status* Give(const OpAttr& attribute, const void* from, size_t size, void* to, size_t room, size_t* out) {
  *out = size;
  if (room < size)
    return Fail("attribute '" + attribute.name + "' has " + std::to_string(size) + " bytes, more than " +
                std::to_string(room));
  if (size > 0) std::memcpy(to, from, size);
  return nullptr;
}
Status* ReadOpAttr(const OpAttr* attribute, AttributeType type, void* to, size_t room, size_t* out) {
  return Guarded([&]() -> Status* {
    *out = 0;
    if (attribute == nullptr) return Fail("there is no attribute");
    if (attribute->type != type) return Fail("attribute '" + attribute->name + "' is of another type");
    switch (type) {
      case kIntAttribute: return Give(*attribute, &attribute->number, sizeof attribute->number, to, room, out);
      case kFloatAttribute: return Give(*attribute, &attribute->real, sizeof attribute->real, to, room, out);
      case kIntsAttribute:
        return Give(*attribute, attribute->numbers.data(), attribute->numbers.size() * sizeof(int64_t), to, room, out);
      case kFloatsAttribute:
        return Give(*attribute, attribute->reals.data(), attribute->reals.size() * sizeof(float), to, room, out);
      case kStringAttribute:  // without the zero at its end
        return Give(*attribute, attribute->text.data(), attribute->text.size(), to, room, out);
      case kStringsAttribute: {
        std::string all;
        for (const std::string& text : attribute->texts) all.append(text.c_str(), text.size() + 1);
        return Give(*attribute, all.data(), all.size(), to, room, out);
      }
      default: return Fail("attribute '" + attribute->name + "' is not read as bytes");
    }
  });
}

}  // namespace

void SetNodeFunctions(Tables& tables) {
  tables.Set(Slot::Node_GetId, Node_GetId);
  tables.Set(Slot::Node_GetName, Node_GetName);
  tables.Set(Slot::Node_GetOperatorType, Node_GetOperatorType);
  tables.Set(Slot::Node_GetDomain, Node_GetDomain);
  tables.Set(Slot::Node_GetSinceVersion, Node_GetSinceVersion);
  tables.Set(Slot::Node_GetNumInputs, Node_GetNumInputs);
  tables.Set(Slot::Node_GetInputs, Node_GetInputs);
  tables.Set(Slot::Node_GetNumOutputs, Node_GetNumOutputs);
  tables.Set(Slot::Node_GetOutputs, Node_GetOutputs);
  tables.Set(Slot::Node_GetNumImplicitInputs, CountNone);
  tables.Set(Slot::Node_GetImplicitInputs, Node_GetImplicitInputs);
  tables.Set(Slot::Node_GetNumSubgraphs, CountNone);
  tables.Set(Slot::Node_GetSubgraphs, Node_GetSubgraphs);
  tables.Set(Slot::Node_GetGraph, Node_GetGraph);
  tables.Set(Slot::Node_GetEpName, Node_GetEpName);
  tables.Set(Slot::ReleaseNode, ReleaseNode);
  tables.Set(Slot::Node_GetNumAttributes, Node_GetNumAttributes);
  tables.Set(Slot::Node_GetAttributes, Node_GetAttributes);
  tables.Set(Slot::Node_GetAttributeByName, Node_GetAttributeByName);
  tables.Set(Slot::OpAttr_GetType, OpAttr_GetType);
  tables.Set(Slot::OpAttr_GetName, OpAttr_GetName);
  tables.Set(Slot::OpAttr_GetTensorAttributeAsOrtValue, OpAttr_GetTensorAttributeAsOrtValue);
  tables.Set(Slot::ReadOpAttr, ReadOpAttr);
}

}  // namespace ort::own
