// What names of operators and attributes mean where a node stands: in the model itself, or in the body of a function
// that some node calls.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/status.hpp"
#include "import/onnx/proto.hpp"

namespace deputy::host::onnx_import {

// "ai.onnx" is another spelling of "".
std::string NormalDomain(const std::string& domain);

using OperatorSets = std::unordered_map<std::string, int32_t>;
// The same version may be imported more than once, as merged models do; two versions of one operator set are an error.
Result<OperatorSets> ReadOperatorSets(const google::protobuf::RepeatedPtrField<pb::OperatorSetIdProto>& imports);

struct Frame {
  OperatorSets opsets;
  std::string prefix;                           // of names made here: "call/", or nothing
  const pb::FunctionProto* function = nullptr;  // whose body this is; null in the model itself
  const Frame* caller = nullptr;
  std::map<std::string, pb::AttributeProto> attributes;  // of the call; a function's nodes refer to them

  Result<int32_t> OpsetOf(const std::string& domain) const;
  // The attribute itself, or the one of the call that it refers to; null when the call leaves that one out.
  Result<const pb::AttributeProto*> Resolve(const pb::AttributeProto& attribute) const;
};

// The functions that a model brings along. Views into the model.
class Functions {
 public:
  static Result<Functions> Of(const pb::ModelProto& model);
  const pb::FunctionProto* Find(const std::string& domain, const std::string& name) const;

 private:
  std::map<std::pair<std::string, std::string>, const pb::FunctionProto*> functions_;
};

// The frame of one call. Fails when functions call each other in a circle or too deep.
Result<Frame> FrameOfCall(const Frame& caller, const pb::NodeProto& call, const pb::FunctionProto& function);

}  // namespace deputy::host::onnx_import
