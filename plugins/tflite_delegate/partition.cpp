#include "partition.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

namespace deputy::tflite_delegate {
namespace {

// A list in the layout of the interpreter's.
std::vector<int32_t> AsIntArray(const std::vector<int>& values) {
  std::vector<int32_t> made{static_cast<int32_t>(values.size())};
  made.insert(made.end(), values.begin(), values.end());
  return made;
}

std::vector<Dims> InputDims(const SourceGraph& graph, const Subset& subset) {
  std::vector<Dims> dims;
  for (const int32_t input : subset.inputs) dims.push_back(graph.tensors.at(input).shape);
  return dims;
}

struct BuiltModel {
  deputy::Model model;
  std::vector<Dims> outputs;
};

// For these shapes of the inputs.
Result<BuiltModel> BuildModel(const SourceGraph& graph, const Subset& subset, const deputy::Context& context,
                              const std::vector<Dims>& inputs) {
  DEPUTY_ASSIGN_OR_RETURN(const WrittenModel written, WriteModel(graph, subset));
  BuildOptions options;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const SourceTensor& tensor = graph.tensors.at(subset.inputs[i]);
    if (inputs[i] == tensor.shape) continue;
    Shape shape(inputs[i].begin(), inputs[i].end());
    if (tensor.type == tflite_abi::kComplex64) shape.push_back(2);  // complex numbers have an axis of their own
    options.input_shapes.emplace_back(written.inputs[i], std::move(shape));
  }
  BuiltModel built;
  Status status = built.model.Build(written.bytes.data(), written.bytes.size(), ModelType::kTflite, context, options);
  if (!status.ok())
    return std::move(status).At("the partition from node " + std::to_string(graph.nodes[subset.nodes.front()].index));
  if (built.model.inputs().size() != subset.inputs.size() || built.model.outputs().size() != subset.outputs.size())
    return Status(StatusCode::kInternal,
                  "the model has another number of inputs or outputs than the interpreter's nodes");
  for (size_t i = 0; i < subset.outputs.size(); ++i) {
    const TensorInfo& info = built.model.outputs()[i];
    const bool known =
        info.ranked && std::all_of(info.shape.begin(), info.shape.end(), [](int64_t n) { return n >= 0; });
    if (!known) return Status(StatusCode::kNotSupported, "has a shape that is known only after a run").At(info.name);
    Dims& dims = built.outputs.emplace_back();
    for (const int64_t extent : info.shape) dims.push_back(static_cast<int32_t>(extent));
    if (graph.tensors.at(subset.outputs[i]).type == tflite_abi::kComplex64) dims.pop_back();
  }
  return built;
}

// One node alone.
Subset Alone(const SourceGraph& graph, size_t place) {
  Subset made{{place}, {}, graph.nodes[place].outputs};
  for (const int32_t input : graph.nodes[place].inputs)
    if (input >= 0 && graph.tensors.at(input).constant == nullptr &&
        std::find(made.inputs.begin(), made.inputs.end(), input) == made.inputs.end())
      made.inputs.push_back(input);
  return made;
}

class Chooser {
 public:
  Chooser(tflite_abi::Context* interpreter, std::shared_ptr<SourceGraph> graph, const deputy::Context& context,
          const ConfigSources& sources)
      : interpreter_(interpreter), graph_(std::move(graph)), context_(context), sources_(sources) {}

  // Each round leaves at least one node, or is the last.
  Result<std::vector<std::shared_ptr<Partition>>> Run() {
    for (;;) {
      DEPUTY_ASSIGN_OR_RETURN(const std::vector<Subset> subsets, Subsets());
      std::vector<std::shared_ptr<Partition>> made;
      leaving_.clear();
      frozen_ = std::make_shared<const SourceGraph>(*graph_);
      for (const Subset& subset : subsets) {
        Result<std::shared_ptr<Partition>> partition = Try(subset);
        if (partition.ok()) made.push_back(std::move(partition).value());
      }
      if (leaving_.empty()) return made;
      for (const auto& [index, reason] : leaving_) graph_->Leave(index, reason);
    }
  }

 private:
  Result<std::vector<Subset>> Subsets() {
    std::vector<Subset> made;
    if (graph_->nodes.empty()) return made;
    std::map<int, size_t> places;
    std::vector<int> indices;
    for (size_t i = 0; i < graph_->nodes.size(); ++i) {
      places.emplace(graph_->nodes[i].index, i);
      indices.push_back(graph_->nodes[i].index);
    }
    const std::vector<int32_t> list = AsIntArray(indices);
    tflite_abi::DelegateParams* params = nullptr;
    int count = 0;
    if (interpreter_->PreviewDelegatePartitioning(interpreter_,
                                                  reinterpret_cast<const tflite_abi::IntArray*>(list.data()), &params,
                                                  &count) != tflite_abi::kOk)
      return Status(StatusCode::kUnavailable, "the interpreter does not partition its graph");
    for (int i = 0; i < count; ++i) {
      Subset& subset = made.emplace_back();
      for (const int32_t node : tflite_abi::Values(params[i].nodes_to_replace)) {
        if (places.count(node) == 0)
          return Status(StatusCode::kUnavailable, "the interpreter partitions nodes that were not given to it");
        subset.nodes.push_back(places.at(node));
      }
      for (const int32_t input : tflite_abi::Values(params[i].input_tensors))
        if (input >= 0 && graph_->tensors.count(input) != 0 && graph_->tensors.at(input).constant == nullptr)
          subset.inputs.push_back(input);
      for (const int32_t output : tflite_abi::Values(params[i].output_tensors)) subset.outputs.push_back(output);
      std::sort(subset.nodes.begin(), subset.nodes.end());
    }
    return made;
  }

  // A subset that is unchanged since the last round keeps its model.
  Result<std::shared_ptr<Partition>> Try(const Subset& subset) {
    std::vector<int> key;
    for (const size_t place : subset.nodes) key.push_back(graph_->nodes[place].index);
    if (const auto found = built_.find(key); found != built_.end()) return found->second;
    Result<std::shared_ptr<Partition>> partition = Partition::Build(frozen_, subset, context_);
    if (partition.ok()) {
      built_.emplace(std::move(key), *partition);
      return partition;
    }
    if (!context_.HasFallback() && LeaveWhatOnlyTheCpuRuns(subset)) return partition;
    if (subset.nodes.size() == 1) {
      Leave(subset.nodes[0], partition.status());
      return partition;
    }
    const size_t before = leaving_.size();
    for (const size_t place : subset.nodes) {
      const Subset alone = Alone(*frozen_, place);
      const Status status = BuildModel(*frozen_, alone, context_, InputDims(*frozen_, alone)).status();
      if (!status.ok()) Leave(place, status);
    }
    if (leaving_.size() == before)
      for (const size_t place : subset.nodes) Leave(place, partition.status());
    return partition;
  }

  void Leave(size_t place, const Status& status) { leaving_.emplace(graph_->nodes[place].index, status.ToString()); }

  // As the placement with a fallback shows. Whether there are such nodes.
  bool LeaveWhatOnlyTheCpuRuns(const Subset& subset) {
    if (!survey_) {
      ConfigSources sources = sources_;
      sources.settings.push_back("fallback=cpu");
      Result<deputy::Context> made = deputy::Context::FromLayers(sources);
      if (!made.ok()) return false;
      survey_ = std::move(made).value();
    }
    Result<BuiltModel> built = BuildModel(*frozen_, subset, *survey_, InputDims(*frozen_, subset));
    if (!built.ok()) return false;
    Result<PlacementReport> placement = built->model.Placement();
    if (!placement.ok()) return false;
    const size_t before = leaving_.size();
    for (const NodeReport& node : placement->nodes) {
      const int source = node.delegate == "cpu" ? SourceOf(*frozen_, subset, node.name) : -1;
      if (source < 0) continue;
      std::string reason = "no delegate runs its node '" + node.name + "', and the configuration has no fallback";
      for (const RefusalReport& refusal : node.refusals)
        reason +=
            "; " + refusal.delegate + ": " + refusal.reason + (refusal.detail.empty() ? "" : ", " + refusal.detail);
      leaving_.emplace(source, reason);
    }
    return leaving_.size() != before;
  }

  tflite_abi::Context* interpreter_;
  std::shared_ptr<SourceGraph> graph_;
  const deputy::Context& context_;
  const ConfigSources& sources_;
  std::optional<deputy::Context> survey_;      // the same with `fallback: cpu`
  std::shared_ptr<const SourceGraph> frozen_;  // of this round: partitions keep places in it
  std::map<std::vector<int>, std::shared_ptr<Partition>> built_;
  std::map<int, std::string> leaving_;  // in this round, by index
};

}  // namespace

Result<std::shared_ptr<Partition>> Partition::Build(std::shared_ptr<const SourceGraph> graph, Subset subset,
                                                    const deputy::Context& context) {
  std::shared_ptr<Partition> made(new Partition(std::move(graph), std::move(subset), context));
  DEPUTY_RETURN_IF_ERROR(made->Rebuild(InputDims(*made->graph_, made->subset_)));
  return made;
}

Status Partition::Rebuild(const std::vector<Dims>& inputs) {
  DEPUTY_ASSIGN_OR_RETURN(BuiltModel built, BuildModel(*graph_, subset_, context_, inputs));
  DEPUTY_ASSIGN_OR_RETURN(session_, built.model.CreateSession());
  model_ = built.model;
  input_dims_ = inputs;
  output_dims_ = std::move(built.outputs);
  return {};
}

std::vector<int> Partition::NodeIndices() const {
  std::vector<int> indices;
  for (const size_t place : subset_.nodes) indices.push_back(graph_->nodes[place].index);
  return indices;
}

Result<std::vector<std::shared_ptr<Partition>>> BuildPartitions(tflite_abi::Context* interpreter,
                                                                const std::shared_ptr<SourceGraph>& graph,
                                                                const deputy::Context& context,
                                                                const ConfigSources& sources) {
  return Chooser(interpreter, graph, context, sources).Run();
}

// The importer names nodes "CONV_2D_3/Conv", with the number of the operator in the file.
int SourceOf(const SourceGraph& graph, const Subset& subset, const std::string& node_name) {
  const size_t end = node_name.find('/');
  if (end == std::string::npos) return -1;
  const size_t begin = node_name.rfind('_', end);
  if (begin == std::string::npos) return -1;
  size_t place = 0;
  const char *first = node_name.data() + begin + 1, *last = node_name.data() + end;
  if (std::from_chars(first, last, place).ptr != last || first == last) return -1;
  return place < subset.nodes.size() ? graph.nodes[subset.nodes[place]].index : -1;
}

}  // namespace deputy::tflite_delegate
