// The part of ModelReader that replaces calls of a model's functions by their bodies. A few nested calls can expand to
// more nodes than fit in memory, so steps and copied bytes are counted.
#include "base/printable.hpp"
#include "import/onnx/model_reader.hpp"

namespace deputy::host::onnx_import {
namespace {

constexpr size_t kMostSteps = 1'000'000;
constexpr size_t kMostExpandedBytes = size_t{256} << 20;
constexpr size_t kLongestPart = 64, kLongestPrefix = 256;

}  // namespace

Status ModelReader::Spend(const Frame& frame, const pb::NodeProto& proto) {
  if (++steps_ > kMostSteps)
    return Error(StatusCode::kResourceExhausted, "the model has more than {} nodes with its functions expanded",
                 kMostSteps);
  if (frame.function == nullptr) return {};
  // Names, attributes and the prefix in front of each name.
  expanded_bytes_ += proto.ByteSizeLong() + frame.prefix.size() * static_cast<size_t>(1 + proto.output_size());
  if (expanded_bytes_ > kMostExpandedBytes)
    return Error(StatusCode::kResourceExhausted, "the model has more than {} MiB with its functions expanded",
                 kMostExpandedBytes >> 20);
  return {};
}

// Names in the body become "call/name"; nameless and equal calls get a number.
std::string ModelReader::PrefixOfCall(const Frame& caller, const pb::NodeProto& call) {
  std::string prefix = caller.prefix.size() > kLongestPrefix ? std::string("...") : caller.prefix;
  prefix += (call.name().empty() ? call.op_type() : call.name()).substr(0, kLongestPart);
  std::string unique = prefix;
  for (size_t i = 2; !prefixes_.insert(unique).second; ++i) {
    // For many calls of one name, counting from 2 each time would take quadratic time.
    unique = prefix + "_" + std::to_string(i < 8 ? i : prefixes_.size());
  }
  return unique + "/";
}

Status ModelReader::Expand(const Frame& caller, Scope& scope, const pb::NodeProto& call,
                           const pb::FunctionProto& function) {
  DEPUTY_ASSIGN_OR_RETURN(Frame frame, FrameOfCall(caller, call, function));
  frame.prefix = PrefixOfCall(caller, call);
  if (call.input_size() > function.input_size() || call.output_size() > function.output_size())
    return Error(StatusCode::kModel, "has {} inputs and {} outputs, the function {} and {}", call.input_size(),
                 call.output_size(), function.input_size(), function.output_size());
  Scope inner(scope.graph());
  for (int i = 0; i < function.input_size(); ++i) {
    ValueId id = kNone;
    if (i < call.input_size() && !call.input(i).empty()) {
      DEPUTY_ASSIGN_OR_RETURN(id, scope.Resolve(call.input(i)));
    }
    DEPUTY_RETURN_IF_ERROR(inner.Define(function.input(i), id));
  }
  const size_t first_own = scope.graph().values.size();
  Status status = ReadNodes(frame, inner, function.node(), {});
  if (!status.ok()) return std::move(status).At("function '" + Printable(function.name()) + "'");
  return BindOutputs(caller, scope, inner, first_own, call, function);
}

Status ModelReader::BindOutputs(const Frame& caller, Scope& scope, Scope& inner, size_t first_own,
                                const pb::NodeProto& call, const pb::FunctionProto& function) {
  Graph& graph = scope.graph();
  std::unordered_set<ValueId> bound;
  for (int i = 0; i < call.output_size(); ++i) {
    const std::string& name = call.output(i);
    if (name.empty()) continue;
    DEPUTY_ASSIGN_OR_RETURN(ValueId id, inner.Resolve(function.output(i)));
    if (id == kNone)
      return Error(StatusCode::kModel, "output '{}' is an input that the call leaves out", Printable(name));
    if (id < first_own || !bound.insert(id).second) {
      // The function returns one of its inputs, or one value twice; a value has one name.
      Node identity;
      identity.name = caller.prefix + name;
      identity.primitive = PrimitiveBuilder("", "Identity", 1).Finish();
      identity.inputs = {id};
      id = graph.AddValue(caller.prefix + name);
      identity.outputs = {id};
      graph.nodes.push_back(std::move(identity));
    } else {
      graph.values[id].name = caller.prefix + name;
    }
    DEPUTY_RETURN_IF_ERROR(scope.Define(name, id));
  }
  return {};
}

}  // namespace deputy::host::onnx_import
