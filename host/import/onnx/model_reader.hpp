// ModelProto to Graph. Calls of the model's own functions are replaced by their bodies, Constant nodes by constants,
// and the bodies of If, Loop and Scan become regions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "graph/graph.hpp"
#include "import/onnx/frame.hpp"
#include "import/onnx/proto.hpp"
#include "import/onnx/tensors.hpp"
#include "import/onnx/warnings.hpp"

namespace deputy::host::onnx_import {

// The IR version of the newest release of ONNX whose fields are known (wire_schema.hpp).
inline constexpr int64_t kNewestIrVersion = 14;

// Reads one model once. [one-thread]
class ModelReader {
 public:
  // `given_inputs` as in ImportSource.
  ModelReader(const pb::ModelProto& model, TensorReader& tensors, const std::vector<std::string>& given_inputs)
      : model_(model), tensors_(tensors), given_inputs_(given_inputs.begin(), given_inputs.end()) {}
  Result<Graph> Read();

 private:
  // Types that a graph declares for its values; needed for operators whose types cannot be inferred.
  using DeclaredTypes = std::unordered_map<std::string_view, const pb::TypeProto*>;

  Result<Frame> ModelFrame();
  Status ReadGraph(const Frame& frame, Scope& scope, const pb::GraphProto& proto, bool region);
  Status ReadInputs(Scope& scope, const pb::GraphProto& proto, bool region);
  Status ReadInitializers(const Frame& frame, Scope& scope, const pb::GraphProto& proto);
  Status ReadNodes(const Frame& frame, Scope& scope, const google::protobuf::RepeatedPtrField<pb::NodeProto>& nodes,
                   const DeclaredTypes& declared);
  Status ReadNode(const Frame& frame, Scope& scope, const pb::NodeProto& proto, int index, std::vector<Region> regions,
                  const DeclaredTypes& declared);
  // The function of the model that the node calls; null for an operator.
  const pb::FunctionProto* Callee(const pb::NodeProto& proto) const;
  Result<Node> MakeNode(const Frame& frame, Scope& scope, const pb::NodeProto& proto, int index);
  // What a node of a listed operator may be in doubt about.
  Status CheckKnown(const pb::NodeProto& proto, int index, const OperatorInfo& info, int32_t opset, int32_t since);
  // Whether a constant of the model itself is an input instead.
  bool IsGiven(const std::string& name) const { return given_inputs_.count(name) != 0; }
  // Nodes of one line of the exporting program share it.
  std::shared_ptr<const std::string> SourceOf(const Frame& frame, const pb::NodeProto& proto);
  // The primitive that all nodes of a definition share which have no attributes.
  const Primitive& Plain(OpKind op, int32_t since);
  // Into an object of the caller, which small frames on the stack cannot hold.
  Status ReadRegions(const Frame& frame, Scope& scope, const pb::NodeProto& proto, std::vector<Region>& regions);
  Status ReadRegion(const Frame& frame, Scope& scope, const std::string& name, const pb::GraphProto& proto,
                    Region& region);
  Status ReadConstant(const Frame& frame, Scope& scope, const pb::NodeProto& proto, int index);
  Result<Tensor> ConstantOf(const pb::AttributeProto& attribute, const std::string& name);
  Status AddInitializer(const Frame& frame, Scope& scope, const std::string& name, int index, Result<Tensor> tensor);
  Status AddConstant(const Frame& frame, Scope& scope, const std::string& name, Result<Tensor> tensor);
  Status Expand(const Frame& caller, Scope& scope, const pb::NodeProto& call, const pb::FunctionProto& function);
  Status BindOutputs(const Frame& caller, Scope& scope, Scope& inner, size_t first_own, const pb::NodeProto& call,
                     const pb::FunctionProto& function);
  std::string PrefixOfCall(const Frame& caller, const pb::NodeProto& call);
  Status Spend(const Frame& frame, const pb::NodeProto& proto);
  Status AssignSymbols(Graph& graph);

  const pb::ModelProto& model_;
  TensorReader& tensors_;
  std::unordered_set<std::string_view> given_inputs_;
  Functions functions_;
  Warnings warnings_;
  Symbols symbols_;
  std::map<std::pair<OpKind, int32_t>, Primitive> plain_;
  std::unordered_map<std::string, std::shared_ptr<const std::string>> sources_;
  std::unordered_set<std::string> prefixes_;
  std::unordered_map<std::string, size_t> last_numbers_;  // per prefix that several calls have
  std::unordered_set<std::string> replaced_;  // outputs of nodes that are read as others, whose types do not count
  std::vector<std::string> notes_;
  size_t steps_ = 0;           // nodes and calls; those in functions once per call
  size_t expanded_bytes_ = 0;  // copied by calls of functions
  size_t symbol_copies_ = 0;   // bytes of names in all graphs
  size_t region_depth_ = 0;
};

}  // namespace deputy::host::onnx_import
