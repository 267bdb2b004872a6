// The context of a node in the model itself or in the body of a called function: operators and attributes in Frame,
// names of values in Scope.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/status.hpp"
#include "graph/graph.hpp"
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
  std::shared_ptr<const std::string> source;             // of the call, for nodes that state none
  std::map<std::string, pb::AttributeProto> attributes;  // of the call; a function's nodes refer to them

  Result<int32_t> OpsetOf(const std::string& domain) const;
  // The attribute itself, or the one of the call that it refers to; null when the call leaves that one out.
  Result<const pb::AttributeProto*> Resolve(const pb::AttributeProto& attribute) const;
};

// "function 'F'", with the overload "function 'F:fast'".
std::string Describe(const pb::FunctionProto& function);

// Which of several functions of one domain and name a node calls, or a function is; usually empty.
std::string OverloadOf(const pb::NodeProto& node);
std::string OverloadOf(const pb::FunctionProto& function);

// The functions that a model defines. Views into the model.
class Functions {
 public:
  static Result<Functions> Of(const pb::ModelProto& model);
  const pb::FunctionProto* Find(const std::string& domain, const std::string& name, const std::string& overload) const;
  // The names of the overloads of a function.
  std::vector<std::string> OverloadsOf(const std::string& domain, const std::string& name) const;

 private:
  std::map<std::tuple<std::string, std::string, std::string>, const pb::FunctionProto*> functions_;
};

// The frame of one call. Fails when the calls of functions form a cycle or are too deep.
Result<Frame> FrameOfCall(const Frame& caller, const pb::NodeProto& call, const pb::FunctionProto& function);

// Maps names to values. Names are views and must outlive the scope, as those of the model do. A region sees the names
// of the enclosing scopes and captures those that it uses, level by level; the body of a function sees only its own.
class Scope {
 public:
  // `graph` holds the values. With `outer`, `graph` is the body of `region`, which receives the captures.
  explicit Scope(Graph& graph, Scope* outer = nullptr, Region* region = nullptr)
      : graph_(graph), outer_(outer), region_(region) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  Graph& graph() { return graph_; }
  // Prepares for that many more nodes and names.
  void Reserve(size_t nodes);

  // Every name once (single static assignment). `id` may be kNone: an input of a function that the call omits.
  Status Define(std::string_view name, ValueId id);
  // A constant of this name, called `value_name` in the graph. It replaces a constant of the same name and scope, which
  // must have the same type: models with such duplicates exist, and ONNX Runtime takes the last one.
  Status DefineConstant(std::string_view name, std::string value_name, Tensor tensor);
  // Whether DefineConstant would replace one, and which it is.
  const Tensor* ConstantOf(std::string_view name) const;
  // A name whose use is an error, with the reason.
  Status DefineUnusable(std::string_view name, Status reason);
  // Captures a name of an enclosing scope if it is not defined here.
  Result<ValueId> Resolve(std::string_view name);

 private:
  Graph& graph_;
  Scope* outer_;
  Region* region_;
  std::pmr::monotonic_buffer_resource memory_;  // of the maps: freed at once
  std::pmr::unordered_map<std::string_view, ValueId> values_{&memory_};
  std::pmr::unordered_map<std::string_view, Status> unusable_{&memory_};
  std::pmr::unordered_set<ValueId> constants_{&memory_};  // made by DefineConstant
};

}  // namespace deputy::host::onnx_import
