#include "import/onnx/frame.hpp"

#include <google/protobuf/io/coded_stream.h>

#include <climits>

#include "base/printable.hpp"
#include "tensor/shape.hpp"

namespace deputy::host::onnx_import {
namespace {

constexpr size_t kMostCalls = 32;  // of functions within functions
// Fields that are newer than the types of libonnx 1.12, in which they are unknown.
constexpr int kDefaultAttributesField = 11, kNodeOverloadField = 8, kFunctionOverloadField = 13;

// Calls visit(number, bytes) with each field that has a length. protobuf keeps fields that it does not know as they
// were in the file; the lite runtime has no other form of them.
template <class Visit>
void ForEachChunk(const std::string& unknown_fields, const Visit& visit) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(unknown_fields.data()),
                                                static_cast<int>(unknown_fields.size()));
  while (const uint32_t tag = stream.ReadTag()) {
    uint64_t number = 0;
    uint32_t size = 0;
    bool is_read = false;
    switch (tag & 7) {
      case 0: is_read = stream.ReadVarint64(&number); break;
      case 1: is_read = stream.Skip(8); break;
      case 5: is_read = stream.Skip(4); break;
      case 2: {
        std::string bytes;
        is_read = stream.ReadVarint32(&size) && stream.ReadString(&bytes, static_cast<int>(size));
        if (is_read) visit(static_cast<int>(tag >> 3), bytes);
      }
    }
    if (!is_read) return;
  }
}

// The last text of this number.
std::string TextOf(const std::string& unknown_fields, int number) {
  std::string text;
  ForEachChunk(unknown_fields, [&](int field, const std::string& bytes) {
    if (field == number) text = bytes;
  });
  return text;
}

Status CheckCalls(const Frame& caller, const pb::FunctionProto& function) {
  size_t depth = 0;
  for (const Frame* at = &caller; at != nullptr; at = at->caller, ++depth)
    if (at->function == &function) return Error(StatusCode::kModel, "{} calls itself", Describe(function));
  if (depth > kMostCalls)
    return Error(StatusCode::kResourceExhausted, "function calls are nested deeper than {}", kMostCalls);
  return {};
}

}  // namespace

std::string NormalDomain(const std::string& domain) { return domain == "ai.onnx" ? std::string() : domain; }

Result<OperatorSets> ReadOperatorSets(const google::protobuf::RepeatedPtrField<pb::OperatorSetIdProto>& imports) {
  OperatorSets opsets;
  for (const pb::OperatorSetIdProto& import : imports) {
    if (import.version() < 1 || import.version() > INT32_MAX)
      return Error(StatusCode::kModel, "imports the invalid version {} of operator set '{}'", import.version(),
                   Printable(import.domain()));
    const auto [known, added] = opsets.emplace(NormalDomain(import.domain()), static_cast<int32_t>(import.version()));
    if (!added && known->second != import.version())
      return Error(StatusCode::kModel, "imports operator set '{}' in two versions, {} and {}",
                   Printable(import.domain()), known->second, import.version())
          .Advise("keep the import of the version that the nodes were written for");
  }
  return opsets;
}

Result<int32_t> Frame::OpsetOf(const std::string& domain) const {
  const auto found = opsets.find(domain);
  if (found != opsets.end()) return found->second;
  // ONNX Runtime reads models that use its domain without an import, and optimizers write such models.
  if (domain == "com.microsoft") return 1;
  return Error(StatusCode::kModel, "the {} does not import operator set '{}'",
               function == nullptr ? "model" : "function", Printable(domain));
}

Result<const pb::AttributeProto*> Frame::Resolve(const pb::AttributeProto& attribute) const {
  if (attribute.ref_attr_name().empty()) return &attribute;
  if (function == nullptr)
    return Error(StatusCode::kModel, "attribute '{}' refers to a function attribute outside of a function",
                 Printable(attribute.name()));
  const auto found = attributes.find(attribute.ref_attr_name());
  return found == attributes.end() ? nullptr : &found->second;
}

std::string Describe(const pb::FunctionProto& function) {
  const std::string overload = OverloadOf(function);
  return "function '" + Printable(overload.empty() ? function.name() : function.name() + ":" + overload) + "'";
}

std::string OverloadOf(const pb::NodeProto& node) { return TextOf(node.unknown_fields(), kNodeOverloadField); }
std::string OverloadOf(const pb::FunctionProto& function) {
  return TextOf(function.unknown_fields(), kFunctionOverloadField);
}

Result<Functions> Functions::Of(const pb::ModelProto& model) {
  Functions functions;
  for (const pb::FunctionProto& function : model.functions()) {
    std::tuple key(NormalDomain(function.domain()), function.name(), OverloadOf(function));
    if (!functions.functions_.emplace(std::move(key), &function).second)
      return Error(StatusCode::kModel, "defines {} more than once", Describe(function));
  }
  return functions;
}

const pb::FunctionProto* Functions::Find(const std::string& domain, const std::string& name,
                                         const std::string& overload) const {
  const auto found = functions_.find({domain, name, overload});
  return found == functions_.end() ? nullptr : found->second;
}

std::vector<std::string> Functions::OverloadsOf(const std::string& domain, const std::string& name) const {
  std::vector<std::string> names;
  if (functions_.empty()) return names;  // of most models, which have many nodes
  for (auto it = functions_.lower_bound({domain, name, ""}); it != functions_.end(); ++it) {
    const auto& [of_domain, of_name, overload] = it->first;
    if (of_domain != domain || of_name != name) break;
    names.push_back(overload);
  }
  return names;
}

Result<Frame> FrameOfCall(const Frame& caller, const pb::NodeProto& call, const pb::FunctionProto& function) {
  DEPUTY_RETURN_IF_ERROR(CheckCalls(caller, function));
  Frame frame;
  frame.function = &function;
  frame.caller = &caller;
  Result<OperatorSets> opsets = ReadOperatorSets(function.opset_import());
  if (!opsets.ok()) return std::move(opsets).status().At(Describe(function));
  frame.opsets = std::move(opsets).value();
  for (const pb::AttributeProto& attribute : call.attribute()) {
    DEPUTY_ASSIGN_OR_RETURN(const pb::AttributeProto* const value, caller.Resolve(attribute));
    if (value == nullptr) continue;
    if (value->has_g())
      return Error(StatusCode::kNotSupported, "attribute '{}' of a function is a graph, which is not supported",
                   Printable(attribute.name()));
    if (!frame.attributes.emplace(attribute.name(), *value).second)
      return Error(StatusCode::kModel, "attribute '{}' is given twice", Printable(attribute.name()));
  }
  bool is_valid = true;
  ForEachChunk(function.unknown_fields(), [&](int field, const std::string& bytes) {
    if (field != kDefaultAttributesField) return;
    pb::AttributeProto attribute;
    is_valid = attribute.ParseFromString(bytes) && is_valid;
    frame.attributes.emplace(attribute.name(), attribute);
  });
  if (!is_valid) return Error(StatusCode::kModel, "{} has a corrupt attribute default", Describe(function));
  return frame;
}

void Scope::Reserve(size_t nodes) {
  // At least doubled: a function that is called often must not make room for each call alone.
  const auto grow = [nodes](auto& list) {
    if (list.capacity() < list.size() + nodes) list.reserve(std::max(list.size() + nodes, 2 * list.capacity()));
  };
  grow(graph_.nodes);
  grow(graph_.values);
  values_.reserve(values_.size() + nodes);
}

Status Scope::Define(std::string_view name, ValueId id) {
  if (name.empty()) return Error(StatusCode::kModel, "a value has no name");
  if (unusable_.count(name) != 0 || !values_.emplace(name, id).second)
    return Error(StatusCode::kModel, "value '{}' is defined more than once", Printable(name));
  return {};
}

Status Scope::DefineConstant(std::string_view name, std::string value_name, Tensor tensor) {
  const auto known = values_.find(name);
  if (known == values_.end() || constants_.count(known->second) == 0) {
    const ValueId id = graph_.AddConstant(std::move(value_name), std::move(tensor));
    constants_.insert(id);
    return Define(name, id);
  }
  Tensor& before = graph_.values[known->second].constant;
  if (before.dtype() != tensor.dtype() || before.shape() != tensor.shape())
    return Error(StatusCode::kModel, "constant '{}' is given twice, as {} {} and as {} {}", Printable(name),
                 NameOf(before.dtype()), ShapeToString(before.shape()), NameOf(tensor.dtype()),
                 ShapeToString(tensor.shape()));
  before = std::move(tensor);
  return {};
}

const Tensor* Scope::ConstantOf(std::string_view name) const {
  const auto known = values_.find(name);
  if (known == values_.end() || constants_.count(known->second) == 0) return nullptr;
  return &graph_.values[known->second].constant;
}

Status Scope::DefineUnusable(std::string_view name, Status reason) {
  if (values_.count(name) != 0)
    return Error(StatusCode::kModel, "value '{}' is defined more than once", Printable(name));
  unusable_.insert_or_assign(name, std::move(reason));
  return {};
}

Result<ValueId> Scope::Resolve(std::string_view name) {
  const auto known = values_.find(name);
  if (known != values_.end()) return known->second;
  const auto unusable = unusable_.find(name);
  if (unusable != unusable_.end()) return unusable->second;
  if (outer_ == nullptr) return Error(StatusCode::kModel, "reads '{}', which no node produces", Printable(name));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId outside, outer_->Resolve(name));
  ValueId inside = kNone;
  if (outside != kNone) {
    inside = graph_.AddValue(std::string(name), outer_->graph_.values[outside].type);
    graph_.captured.push_back(inside);
    region_->captures.push_back(outside);
  }
  values_.emplace(name, inside);
  return inside;
}

}  // namespace deputy::host::onnx_import
