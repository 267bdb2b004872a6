// The context in which a node's operators and attributes are resolved: the model itself, or the body of a called
// function.
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
  const pb::FunctionProto* function = nullptr;  // the called function; null in the model itself
  const Frame* caller = nullptr;
  std::map<std::string, pb::AttributeProto> attributes;  // of the call; a function's nodes refer to them

  Result<int32_t> OpsetOf(const std::string& domain) const;
  // The attribute itself, or the one of the call that it refers to; null when the call leaves that one out.
  Result<const pb::AttributeProto*> Resolve(const pb::AttributeProto& attribute) const;
};

// The functions that a model defines. Views into the model.
class Functions {
 public:
  static Result<Functions> Of(const pb::ModelProto& model);
  const pb::FunctionProto* Find(const std::string& domain, const std::string& name) const;

 private:
  std::map<std::pair<std::string, std::string>, const pb::FunctionProto*> functions_;
};

// The frame of one call. Fails when the calls of functions form a cycle or are too deep.
Result<Frame> FrameOfCall(const Frame& caller, const pb::NodeProto& call, const pb::FunctionProto& function);

}  // namespace deputy::host::onnx_import
