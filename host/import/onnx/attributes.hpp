// Attributes of a node: from AttributeProto to a Primitive, each of the kind that the operator list declares.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "graph/primitive.hpp"
#include "import/onnx/proto.hpp"
#include "import/onnx/tensors.hpp"

namespace deputy::host::onnx_import {

// The declared type, or the one that the fields show: models before IR version 2 declare none.
pb::AttributeProto::AttributeType TypeOf(const pb::AttributeProto& attribute);

// Whether the operator's definition of this opset lacks the attribute. Names that begin with "__" are hints for
// delegates, and the regions of If, Loop and Scan are in no list.
bool IsUnknownAttribute(const OperatorInfo& info, int64_t opset, std::string_view name);

// Whether only other definitions of the operator, older or newer ones, have the attribute: in this one it must have no
// effect. False for opsets that are newer than the list.
bool IsOfOtherDefinitions(const OperatorInfo& info, int64_t opset, std::string_view name);

// Adds the attribute under `name`. `opset` tells the operator's definition. Does not take graphs.
Status AddAttribute(PrimitiveBuilder& builder, OpKind op, int64_t opset, const std::string& name,
                    const pb::AttributeProto& attribute, const TensorReader& tensors);

}  // namespace deputy::host::onnx_import
