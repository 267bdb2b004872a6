#include "import/onnx/attributes.hpp"

#include <algorithm>
#include <climits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/printable.hpp"
#include "graph/graph.hpp"
#include "import/onnx/tensors.hpp"

namespace deputy::host::onnx_import {
namespace {

constexpr pb::AttributeProto::AttributeType ProtoTypeOf(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kInt: return pb::AttributeProto::INT;
    case AttributeKind::kFloat: return pb::AttributeProto::FLOAT;
    case AttributeKind::kString: return pb::AttributeProto::STRING;
    case AttributeKind::kInts: return pb::AttributeProto::INTS;
    case AttributeKind::kFloats: return pb::AttributeProto::FLOATS;
    case AttributeKind::kStrings: return pb::AttributeProto::STRINGS;
    case AttributeKind::kTensor: return pb::AttributeProto::TENSOR;
  }
  return pb::AttributeProto::UNDEFINED;
}

bool IsHint(std::string_view name) { return name.starts_with("__"); }

// In a definition newer than those known here an attribute may change the result. In a known definition it may be a
// vendor's hint, which is kept for the vendor's delegate.
Status CheckUnknown(const OperatorInfo& info, int64_t opset, const std::string& name) {
  if (opset <= NewestOpset(info.domain) || IsHint(name)) return {};
  return Error(StatusCode::kNotSupported,
               "attribute '{}' is not supported: opset {} is newer than {}-{}, its newest definition known here (known "
               "up to {})",
               Printable(name), opset, info.name, info.newest(), NewestOpset(info.domain));
}

Status CheckKind(OpKind op, int64_t opset, const std::string& name, pb::AttributeProto::AttributeType type) {
  if (op == OpKind::kOther) return {};
  const OperatorAttribute* wanted = nullptr;
  for (const OperatorAttribute& listed : InfoOf(op)->attributes) {
    if (listed.name != name || !listed.IsIn(opset)) continue;
    if (ProtoTypeOf(listed.kind) == type) return {};
    wanted = &listed;
  }
  if (wanted == nullptr) return CheckUnknown(*InfoOf(op), opset, name);
  return Error(StatusCode::kModel, "attribute '{}' has type {}, expected {}", name,
               pb::AttributeProto::AttributeType_Name(type),
               pb::AttributeProto::AttributeType_Name(ProtoTypeOf(wanted->kind)));
}

}  // namespace

bool IsUnknownAttribute(const OperatorInfo& info, int64_t opset, std::string_view name) {
  const auto is_it = [&](const OperatorAttribute& listed) { return listed.name == name && listed.IsIn(opset); };
  return !IsHint(name) && std::none_of(info.attributes.begin(), info.attributes.end(), is_it);
}

bool IsOfOtherDefinitions(const OperatorInfo& info, int64_t opset, std::string_view name) {
  return opset <= NewestOpset(info.domain) && IsUnknownAttribute(info, opset, name) &&
         std::any_of(info.attributes.begin(), info.attributes.end(),
                     [&](const OperatorAttribute& listed) { return listed.name == name; });
}

pb::AttributeProto::AttributeType TypeOf(const pb::AttributeProto& attribute) {
  if (attribute.type() != pb::AttributeProto::UNDEFINED) return attribute.type();
  if (attribute.has_f()) return pb::AttributeProto::FLOAT;
  if (attribute.has_i()) return pb::AttributeProto::INT;
  if (attribute.has_s()) return pb::AttributeProto::STRING;
  if (attribute.has_t()) return pb::AttributeProto::TENSOR;
  if (attribute.has_g()) return pb::AttributeProto::GRAPH;
  if (attribute.has_tp()) return pb::AttributeProto::TYPE_PROTO;
  if (attribute.floats_size() != 0) return pb::AttributeProto::FLOATS;
  if (attribute.ints_size() != 0) return pb::AttributeProto::INTS;
  if (attribute.strings_size() != 0) return pb::AttributeProto::STRINGS;
  return pb::AttributeProto::UNDEFINED;
}

Status AddAttribute(PrimitiveBuilder& builder, OpKind op, int64_t opset, const std::string& name,
                    const pb::AttributeProto& attribute, const TensorReader& tensors) {
  const pb::AttributeProto::AttributeType type = TypeOf(attribute);
  // Types are stored as text.
  const bool is_type = type == pb::AttributeProto::TYPE_PROTO;
  DEPUTY_RETURN_IF_ERROR(CheckKind(op, opset, name, is_type ? pb::AttributeProto::STRING : type));
  switch (type) {
    case pb::AttributeProto::INT: builder.Set(name, attribute.i()); return {};
    case pb::AttributeProto::FLOAT: builder.Set(name, attribute.f()); return {};
    case pb::AttributeProto::STRING: builder.Set(name, attribute.s()); return {};
    case pb::AttributeProto::INTS:
      builder.Set(name, std::vector<int64_t>(attribute.ints().begin(), attribute.ints().end()));
      return {};
    case pb::AttributeProto::FLOATS:
      builder.Set(name, std::vector<float>(attribute.floats().begin(), attribute.floats().end()));
      return {};
    case pb::AttributeProto::STRINGS:
      builder.Set(name, std::vector<std::string>(attribute.strings().begin(), attribute.strings().end()));
      return {};
    case pb::AttributeProto::TENSOR: {
      Result<Tensor> tensor = tensors.Read(attribute.t());
      if (!tensor.ok()) return std::move(tensor).status().At("attribute '" + Printable(name) + "'");
      builder.Set(name, std::move(tensor).value());
      return {};
    }
    case pb::AttributeProto::TYPE_PROTO: {
      Symbols of_its_own;
      Result<ValueType> read = ReadType(attribute.tp(), of_its_own);
      if (!read.ok()) return std::move(read).status().At("attribute '" + Printable(name) + "'");
      builder.Set(name, NotationOf(*read));
      return {};
    }
    case pb::AttributeProto::UNDEFINED:
      return Error(StatusCode::kModel, "attribute '{}' has no value", Printable(name));
    default:
      return Error(StatusCode::kNotSupported, "attribute '{}' has type {}, which is not supported", Printable(name),
                   pb::AttributeProto::AttributeType_Name(type));
  }
}

}  // namespace deputy::host::onnx_import
