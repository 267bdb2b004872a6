#include "provider.hpp"

#include <algorithm>
#include <utility>

#include "deputy/output_file.hpp"

namespace ort_ep {
namespace {

using deputy::Model;
using deputy::Result;
using deputy::Status;
using deputy::StatusCode;
using ort::EpSlot;
using ort::Slot;

constexpr int32_t kChannelsFirst = 0;  // OrtEpDataLayout_NCHW
// Older ones give fused nodes of different graphs of a model the same name, and refuse the second; and they do not give
// a fused node what only subgraphs of its nodes read.
constexpr uint32_t kFirstWithSubgraphs = 26;
constexpr int kAsIs = 0;  // of ShouldConvertDataLayoutForOp: 0 no, 1 yes, negative: as the host would

Result<std::vector<std::string>> NamesAt(const Runtime& runtime, Slot count, Slot fill, const ort::Node* node) {
  size_t size = 0;
  DEPUTY_RETURN_IF_ERROR(runtime.Try(count, node, &size));
  std::vector<const ort::ValueInfo*> values(size, nullptr);
  if (size != 0) DEPUTY_RETURN_IF_ERROR(runtime.Try(fill, node, values.data(), size));
  std::vector<std::string> names;
  for (const ort::ValueInfo* value : values) {
    names.emplace_back();
    if (value == nullptr) continue;
    DEPUTY_ASSIGN_OR_RETURN(names.back(), NameOf(runtime, value));
  }
  return names;
}

}  // namespace

struct Provider::ComputeInfo final : ort::NodeComputeInfo {
  ComputeInfo(const Runtime& with, std::shared_ptr<FusedModel> of) : runtime(with), model(std::move(of)) {
    version = kStatedVersion;
    CreateState = [](NodeComputeInfo* info, ort::NodeComputeContext*, void** state) -> ort::Status* {
      *state = static_cast<ComputeInfo*>(info)->model.get();
      return nullptr;
    };
    Compute = [](NodeComputeInfo* info, void* state, ort::KernelContext* context) -> ort::Status* {
      const Runtime& its = static_cast<ComputeInfo*>(info)->runtime;
      return its.Guard([&] { return static_cast<FusedModel*>(state)->Run(its, context); });
    };
    ReleaseState = [](NodeComputeInfo*, void*) {};
  }

  const Runtime runtime;
  const std::shared_ptr<FusedModel> model;
};

Provider::Provider(const Runtime& environment, const ort::Logger* session_logger, Settings settings, Deputy deputy)
    : ort::Ep{},
      environment_(environment),
      runtime_(environment.WithLogger(session_logger)),
      planner_(std::move(deputy), environment.host_minor() >= kFirstWithSubgraphs) {
  report_.host_version = environment.host_version();
  report_.settings = std::move(settings);
  report_.absent = planner_.deputy().absent;
  for (const auto& [name, reason] : report_.absent)
    runtime_.Log(ort::kWarning, "delegate '" + name + "' is not used, its nodes go to the next one: " + reason);
  version = kStatedVersion;
  GetName = [](const Ep*) { return kProviderName; };
  GetCapability = [](Ep* ep, const ort::Graph* graph, ort::EpGraphSupportInfo* support) {
    auto* self = static_cast<Provider*>(ep);
    // The session goes on without this provider where the question fails, which it must not do silently.
    return self->runtime_.Guard([&] {
      Status status = self->Claim(graph, support);
      if (!status.ok()) self->runtime_.Log(ort::kError, "no node is taken: " + status.ToString());
      return status;
    });
  };
  // `ep_context_nodes` are for models with compiled parts, which Deputy keeps in its own store.
  Compile = [](Ep* ep, const ort::Graph** graphs, const ort::Node** fused, size_t count, ort::NodeComputeInfo** infos,
               ort::Node**) {
    auto* self = static_cast<Provider*>(ep);
    return self->runtime_.Guard([&] { return self->CompileAll(graphs, fused, count, infos); });
  };
  ReleaseNodeComputeInfos = [](Ep*, ort::NodeComputeInfo** infos, size_t count) {
    for (size_t i = 0; i < count; ++i) delete static_cast<ComputeInfo*>(infos[i]);
  };
  SetDynamicOptions = [](Ep* ep, const char* const* keys, const char* const* values, size_t count) {
    auto* self = static_cast<Provider*>(ep);
    return self->runtime_.Guard([&]() -> Status {
      for (size_t i = 0; i < count; ++i)
        DEPUTY_RETURN_IF_ERROR(SetDynamicOption(self->planner_.deputy().context, keys[i], values[i]));
      return {};
    });
  };
  GetPreferredDataLayout = [](Ep*, int32_t* layout) -> ort::Status* {
    *layout = kChannelsFirst;
    return nullptr;
  };
  ShouldConvertDataLayoutForOp = [](Ep*, const char*, const char*, int32_t, int* convert) -> ort::Status* {
    *convert = kAsIs;
    return nullptr;
  };
}

Result<std::unique_ptr<Provider>> Provider::Make(const Runtime& environment, const ort::Logger* session_logger,
                                                 Settings settings) {
  DEPUTY_ASSIGN_OR_RETURN(Deputy deputy, OpenDeputy(settings));
  return std::unique_ptr<Provider>(new Provider(environment, session_logger, std::move(settings), std::move(deputy)));
}

Provider::~Provider() {
  if (report_.settings.report.empty()) return;
  ort::Status* failed = environment_.Guard([this] {
    return deputy::WriteOutputFile(report_.settings.report, ReportText(report_, planner_.deputy().context));
  });
  if (const Status status = environment_.Taken(failed); !status.ok()) environment_.Log(ort::kError, status.message());
}

Status Provider::Claim(const ort::Graph* handle, ort::EpGraphSupportInfo* support) {
  const std::lock_guard lock(mutex_);
  DEPUTY_ASSIGN_OR_RETURN(const Graph graph, ReadGraph(runtime_, handle));
  const bool takes_one_graph = runtime_.host_minor() < kFirstWithSubgraphs;
  // With the CPU, a subgraph belongs to its node, which is claimed with it.
  if (graph.is_subgraph && (planner_.deputy().has_cpu || takes_one_graph)) return {};
  if (takes_one_graph && has_claimed_) return {};
  // ONNX Runtime would not find a fused node when it puts the function in the place of the operator.
  if (graph.is_in_function) return {};
  DEPUTY_ASSIGN_OR_RETURN(Claims claims, planner_.Claim(graph));
  for (const std::vector<size_t>& subset : claims.subsets) {
    std::vector<const ort::Node*> nodes;
    for (const size_t node : subset) nodes.push_back(graph.nodes[node].handle);
    // Constants are in Deputy's model, so that ONNX Runtime need not keep them.
    const ort::NodeFusionOptions options{kStatedVersion, true};
    DEPUTY_RETURN_IF_ERROR(runtime_.Try(EpSlot::EpGraphSupportInfo_AddNodesToFuse, support,
                                        static_cast<const ort::Node* const*>(nodes.data()), nodes.size(), &options));
  }
  has_claimed_ = has_claimed_ || !claims.subsets.empty();
  LogClaims(graph, claims);
  // Where it rewrites the graph between, ONNX Runtime asks again.
  for (LeftNode& node : claims.left) {
    const auto same = [&](const LeftNode& other) { return other.name == node.name && other.op_type == node.op_type; };
    const auto known = std::find_if(report_.left.begin(), report_.left.end(), same);
    if (known == report_.left.end())
      report_.left.push_back(std::move(node));
    else if (!node.is_assigned)
      *known = std::move(node);
  }
  return {};
}

void Provider::LogClaims(const Graph& graph, const Claims& claims) const {
  const size_t taken = graph.nodes.size() - claims.left.size();
  std::string text = std::to_string(taken) + " of " + std::to_string(graph.nodes.size()) + " nodes";
  if (!claims.subsets.empty()) text += " as " + std::to_string(claims.subsets.size());
  for (const LeftNode& node : claims.left)
    runtime_.Log(ort::kInfo, "node '" + node.name + "' (" + node.op_type + ") is left: " + node.reason);
  if (taken == 0 && !claims.left.empty())
    runtime_.Log(ort::kWarning, text + "; '" + claims.left[0].name + "': " + claims.left[0].reason);
  else
    runtime_.Log(ort::kInfo, text);
}

Result<std::shared_ptr<FusedModel>> Provider::CompileOne(const ort::Graph* handle, const ort::Node* fused) {
  const char* name = nullptr;
  DEPUTY_RETURN_IF_ERROR(runtime_.Try(Slot::Node_GetName, fused, &name));
  DEPUTY_ASSIGN_OR_RETURN(const Graph graph, ReadGraph(runtime_, handle));
  DEPUTY_ASSIGN_OR_RETURN(Model model, planner_.ModelOf(graph));
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<std::string> inputs,
                          NamesAt(runtime_, Slot::Node_GetNumInputs, Slot::Node_GetInputs, fused));
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<std::string> outputs,
                          NamesAt(runtime_, Slot::Node_GetNumOutputs, Slot::Node_GetOutputs, fused));
  DEPUTY_ASSIGN_OR_RETURN(
      std::unique_ptr<FusedModel> made,
      FusedModel::Make(name == nullptr ? "" : name, graph.nodes.size(), std::move(model), inputs, outputs));
  return std::shared_ptr<FusedModel>(std::move(made));
}

Status Provider::CompileAll(const ort::Graph** graphs, const ort::Node** fused, size_t count,
                            ort::NodeComputeInfo** infos) {
  const std::lock_guard lock(mutex_);
  std::vector<std::unique_ptr<ComputeInfo>> made;
  for (size_t i = 0; i < count; ++i) {
    DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<FusedModel> model, CompileOne(graphs[i], fused[i]));
    report_.models.push_back(model);
    made.push_back(std::make_unique<ComputeInfo>(runtime_, std::move(model)));
  }
  for (size_t i = 0; i < count; ++i) infos[i] = made[i].release();
  planner_.Clear();
  return {};
}

}  // namespace ort_ep
