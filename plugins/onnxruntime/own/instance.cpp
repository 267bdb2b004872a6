#include "own/instance.hpp"

#include "own/layout.hpp"
#include "own/status.hpp"

namespace ort::own {
namespace {

constexpr int32_t kChannelsLast = 1;
constexpr uint32_t kFirstEpVersion = 23;  // of ONNX Runtime's API from which on execution providers read graphs

sdk::Status Lacks(const char* function) {
  return sdk::Status(sdk::Code::kNotSupported, std::string("the execution provider lacks the function ") + function);
}

}  // namespace

sdk::Result<std::shared_ptr<Instance>> Instance::Make(std::shared_ptr<Library> library, const EpDevice& device,
                                                      const SessionOptions& options, const Logger& logger) {
  EpFactory* factory = device.factory;
  if (factory->CreateEp == nullptr) return Lacks("CreateEp");
  const KeyValuePairs* metadata = &device.metadata;
  Ep* ep = nullptr;
  DEPUTY_SDK_RETURN_IF_ERROR(Ask(sdk::Code::kNotSupported, "CreateEp", [&] {
    return factory->CreateEp(factory, &device.hardware, &metadata, 1, &options, &logger, &ep);
  }));
  if (ep == nullptr) return sdk::Status(sdk::Code::kNotSupported, "CreateEp made no execution provider");
  auto instance = std::make_shared<Instance>(std::move(library), factory, ep);
  DEPUTY_SDK_RETURN_IF_ERROR(instance->Check());
  return instance;
}

sdk::Status Instance::Check() {
  if (ep_->version < kFirstEpVersion)
    return sdk::Status(sdk::Code::kNotSupported,
                       "the execution provider is of version " + std::to_string(ep_->version) +
                           " of ONNX Runtime's API, older than " + std::to_string(kFirstEpVersion));
  if (ep_->GetCapability == nullptr) return Lacks("GetCapability");
  const KernelRegistry* registry = nullptr;
  if (ep_->version >= 24 && ep_->GetKernelRegistry != nullptr)
    DEPUTY_SDK_RETURN_IF_ERROR(
        Ask(sdk::Code::kNotSupported, "GetKernelRegistry", [&] { return ep_->GetKernelRegistry(ep_, &registry); }));
  if (registry != nullptr || ep_->Compile == nullptr)
    return sdk::Status(sdk::Code::kNotSupported,
                       "the execution provider computes by kernels in a registry, which only ONNX Runtime's library "
                       "runs");
  if (ep_->ReleaseNodeComputeInfos == nullptr) return Lacks("ReleaseNodeComputeInfos");
  int32_t layout = 0;
  if (ep_->GetPreferredDataLayout != nullptr)
    DEPUTY_SDK_RETURN_IF_ERROR(Ask(sdk::Code::kNotSupported, "GetPreferredDataLayout",
                                   [&] { return ep_->GetPreferredDataLayout(ep_, &layout); }));
  prefers_channels_last_ = layout == kChannelsLast;
  return {};
}

Instance::~Instance() {
  try {
    if (factory_->ReleaseEp != nullptr) factory_->ReleaseEp(factory_, ep_);
  } catch (...) {  // of the EP's, after which there is nothing left to do
  }
}

sdk::Status Instance::RewriteLayout(Model& model, const std::function<bool(const ModelNode&)>& is_taken) const {
  sdk::Status status;
  PutChannelsLast(model, [&](const ModelNode& node) {
    if (!is_taken(node)) return false;
    int decision = -1;  // ONNX Runtime's
    if (status.ok() && ep_->ShouldConvertDataLayoutForOp != nullptr)
      status = Ask(sdk::Code::kNotSupported, "ShouldConvertDataLayoutForOp", [&] {
        return ep_->ShouldConvertDataLayoutForOp(ep_, node.domain.c_str(), node.type.c_str(), kChannelsLast, &decision);
      });
    return decision < 0 ? DependsOnLayout(node) : decision > 0;
  });
  return status;
}

sdk::Result<EpGraphSupportInfo> Instance::Capability(const Graph& graph) const {
  EpGraphSupportInfo support;
  DEPUTY_SDK_RETURN_IF_ERROR(
      Ask(sdk::Code::kNotSupported, "GetCapability", [&] { return ep_->GetCapability(ep_, &graph, &support); }));
  for (const EpGraphSupportInfo::Fused& fused : support.fused)
    for (const size_t node : fused.nodes)
      if (node >= graph.model()->nodes().size())
        return sdk::Status(sdk::Code::kNotSupported, "GetCapability has taken a node that is not of the graph");
  return support;
}

sdk::Result<NodeComputeInfo*> Instance::Compile(const Graph& graph, const Node& fused) const {
  const Graph* graphs[] = {&graph};
  const Node* nodes[] = {&fused};
  NodeComputeInfo* infos[] = {nullptr};
  Node* context_nodes[] = {nullptr};
  const sdk::Status status = Ask(sdk::Code::kNotSupported, "Compile",
                                 [&] { return ep_->Compile(ep_, graphs, nodes, 1, infos, context_nodes); });
  if (infos[0] != nullptr && status.ok() && infos[0]->Compute != nullptr && infos[0]->CreateState != nullptr)
    return infos[0];
  if (infos[0] != nullptr) Release(infos[0]);
  if (!status.ok()) return status;
  return sdk::Status(sdk::Code::kNotSupported, infos[0] == nullptr ? "Compile succeeded without a result"
                                                                   : "Compile gave a result without Compute");
}

void Instance::Release(NodeComputeInfo* info) const {
  try {
    NodeComputeInfo* infos[] = {info};
    ep_->ReleaseNodeComputeInfos(ep_, infos, 1);
  } catch (...) {  // of the EP's, after which there is nothing left to do
  }
}

}  // namespace ort::own
