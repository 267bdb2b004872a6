// OpenOwn: an EP by this plugin's own tables, without ONNX Runtime's library.
#include "provider.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "own/executable.hpp"
#include "own/instance.hpp"
#include "own/quantization.hpp"
#include "own/status.hpp"
#include "own/tables.hpp"

namespace ort {
namespace own {
namespace {

std::vector<size_t> AllNodes(const Model& model) {
  std::vector<size_t> nodes(model.nodes().size());
  for (size_t i = 0; i < nodes.size(); ++i) nodes[i] = i;
  return nodes;
}

class OwnProvider final : public Provider, public std::enable_shared_from_this<OwnProvider> {
 public:
  OwnProvider(const sdk::Host& host, const ProviderSettings& settings, std::shared_ptr<Library> library,
              EpFactory* factory)
      : host_(host), settings_(settings), library_(std::move(library)), factory_(factory), logger_(host) {
    name_ = factory->GetName(factory);
  }

  sdk::Status Open() {
    const std::lock_guard<std::mutex> lock(OneAtATime());
    DEPUTY_SDK_RETURN_IF_ERROR(Explained(FindDevices()));
    std::vector<HardwareDeviceType> types;
    for (const auto& device : devices_) types.push_back(device->hardware->type);
    const sdk::Result<size_t> chosen = ChooseDevice(types, settings_.device);
    if (!chosen.ok()) return Explained(chosen.status());
    device_ = devices_[*chosen].get();
    const std::string prefix = OptionPrefix(name_);
    for (const auto& [key, value] : device_->options.entries()) options_.entries.Add(prefix + key, value);
    for (const auto& [key, value] : settings_.options) options_.entries.Add(prefix + key, value);
    // There is no other provider for the nodes at the partition's inputs and outputs.
    options_.entries.Add("session.disable_cpu_ep_fallback", "1");
    for (const auto& [key, value] : settings_.session_config) options_.entries.Add(key, value);
    return Instantiate(asked_);
  }

  std::string Description() const override {
    const char* version =
        factory_->version >= 23 && factory_->GetVersion != nullptr ? factory_->GetVersion(factory_) : nullptr;
    return name_ + " " + (version == nullptr ? "of unknown version" : version) + ", with tables of version " +
           Tables::Get().base().GetVersionString();
  }

  sdk::Result<std::vector<Answer>> Ask(const sdk::PartitionView& nodes) override {
    const std::lock_guard<std::mutex> lock(OneAtATime());
    std::vector<Answer> answers(nodes.nodes().size());
    std::unordered_map<deputy_node_id, size_t> positions;  // of the nodes among the answers
    for (size_t i = 0; i < answers.size(); ++i) positions.emplace(nodes.nodes()[i].id(), i);
    const Quiet quiet(*this);
    if (asked_ == nullptr) DEPUTY_SDK_RETURN_IF_ERROR(Instantiate(asked_));
    const auto model = std::make_shared<Model>(nodes);
    SplitDequantization(*model);
    std::set<deputy_node_id> taken = TakenTogether(model);
    for (size_t i = 0; i < model->nodes().size(); ++i)
      if (const deputy_node_id id = model->nodes()[i].id; taken.count(id) == 0)
        answers[positions.at(id)] = AskAlone(model, i);
    if (asked_->prefers_channels_last() && !taken.empty()) {
      const auto rewritten = std::make_shared<Model>(nodes);
      DEPUTY_SDK_RETURN_IF_ERROR(
          asked_->RewriteLayout(*rewritten, [&](const ModelNode& node) { return taken.count(node.id) != 0; }));
      SplitDequantization(*rewritten);
      TakeReason();
      const std::set<deputy_node_id> again = TakenTogether(rewritten);
      const std::string reason = TakeReason();
      for (const deputy_node_id id : taken)
        if (again.count(id) == 0) answers[positions.at(id)].reason = WithReason("not with its channels last", reason);
      taken = again;
      rewritten->Detach();
    }
    for (const deputy_node_id id : taken) answers[positions.at(id)].is_taken = true;
    model->Detach();
    if (nodes.graph().failed()) throw sdk::HostFailure();
    return answers;
  }

  sdk::Result<std::unique_ptr<sdk::Executable>> Compile(const sdk::PartitionView& partition) override {
    const std::lock_guard<std::mutex> lock(OneAtATime());
    std::shared_ptr<Instance> instance = std::move(asked_);
    if (instance == nullptr) DEPUTY_SDK_RETURN_IF_ERROR(Instantiate(instance));
    auto model = std::make_shared<Model>(partition);
    SplitDequantization(*model);
    if (instance->prefers_channels_last()) {
      Graph graph(model, AllNodes(*model));
      graph.is_kept = true;
      DEPUTY_SDK_RETURN_IF_ERROR(Claim(*instance, graph).status());
      model = std::make_shared<Model>(partition);
      DEPUTY_SDK_RETURN_IF_ERROR(instance->RewriteLayout(*model, [](const ModelNode&) { return true; }));
      SplitDequantization(*model);
    }
    Graph graph(model, AllNodes(*model));
    graph.is_kept = true;
    DEPUTY_SDK_ASSIGN_OR_RETURN(const bool drops_constants, Claim(*instance, graph));
    if (!drops_constants) graph.AddConstantInputs();
    auto compiled = CompileGraph(instance, graph, partition);
    model->Detach();
    if (partition.graph().failed()) throw sdk::HostFailure();
    return compiled;
  }

 private:
  // What the EP says while it is asked is a reason, no warning.
  class Quiet {
   public:
    explicit Quiet(const OwnProvider& provider) : provider_(provider) { provider_.logger_.SetQuiet(true); }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;
    ~Quiet() {
      provider_.TakeReason();
      provider_.logger_.SetQuiet(false);
    }

   private:
    const OwnProvider& provider_;
  };

  std::string TakeReason() const {
    const std::string own = logger_.TakeReason(), of_library = library_->logger().TakeReason();
    return own.empty() ? of_library : own;
  }
  sdk::Status Explained(const sdk::Status& status) const {
    if (status.ok()) return status;
    const std::string missing = TakeMissingFunctions();
    return sdk::Status(
        status.code(),
        WithReason(WithReason(status.message(), TakeReason()), missing.empty() ? "" : "it has called " + missing),
        status.node().value_or(DEPUTY_NO_NODE));
  }

  sdk::Status FindDevices() {
    constexpr size_t kMost = 8;  // as ONNX Runtime
    if (factory_->GetSupportedDevices == nullptr)
      return sdk::Status(sdk::Code::kIncompatible, "the execution provider lacks the function GetSupportedDevices");
    const HardwareDevice* hardware[] = {&Cpu()};
    EpDevice* devices[kMost] = {};
    size_t count = 0;
    const sdk::Status status = own::Ask(sdk::Code::kNotSupported, "GetSupportedDevices", [&] {
      return factory_->GetSupportedDevices(factory_, hardware, std::size(hardware), devices, kMost, &count);
    });
    for (size_t i = 0; i < std::min(count, kMost); ++i)
      if (devices[i] != nullptr) devices_.emplace_back(devices[i]);
    return status;
  }

  sdk::Status Instantiate(std::shared_ptr<Instance>& instance) const {
    sdk::Result<std::shared_ptr<Instance>> made = Instance::Make(library_, *device_, options_, logger_);
    if (!made.ok()) return Explained(sdk::Status(made.status().code(), name_ + ": " + made.status().message()));
    instance = *std::move(made);
    return {};
  }

  // The host's nodes that the EP takes with all copies of them. A failure takes none.
  std::set<deputy_node_id> TakenTogether(const std::shared_ptr<const Model>& model) const {
    std::set<deputy_node_id> taken;
    if (model->nodes().empty()) return taken;
    Graph graph(model, AllNodes(*model));
    graph.is_kept = true;
    const sdk::Result<EpGraphSupportInfo> support = asked_->Capability(graph);
    if (!support.ok()) return taken;
    std::vector<bool> is_taken(model->nodes().size(), false);
    for (const EpGraphSupportInfo::Fused& fused : support->fused)
      for (const size_t node : fused.nodes) is_taken[node] = true;
    for (size_t i = 0; i < is_taken.size(); ++i)
      if (is_taken[i]) taken.insert(model->nodes()[i].id);
    for (size_t i = 0; i < is_taken.size(); ++i)
      if (!is_taken[i]) taken.erase(model->nodes()[i].id);
    taken.erase(DEPUTY_NO_NODE);  // of nodes that rewriting has added
    return taken;
  }

  Answer AskAlone(const std::shared_ptr<const Model>& model, size_t node) const {
    TakeReason();
    Graph graph(model, {node});
    graph.is_kept = true;
    const sdk::Result<EpGraphSupportInfo> support = asked_->Capability(graph);
    if (!support.ok()) return {false, WithReason(support.status().message(), TakeReason())};
    if (!support->fused.empty()) return {true, {}};
    return {false, support->single.empty() ? TakeReason() : "the execution provider runs it by a kernel of a registry"};
  }

  // That the EP takes the whole graph as one; whether it keeps copies of constants.
  sdk::Result<bool> Claim(const Instance& instance, const Graph& graph) const {
    TakeReason();
    const sdk::Result<EpGraphSupportInfo> support = instance.Capability(graph);
    if (!support.ok()) return Explained(support.status());
    std::vector<size_t> taken;
    for (const EpGraphSupportInfo::Fused& fused : support->fused)
      taken.insert(taken.end(), fused.nodes.begin(), fused.nodes.end());
    std::sort(taken.begin(), taken.end());
    taken.erase(std::unique(taken.begin(), taken.end()), taken.end());
    if (support->fused.size() == 1 && taken.size() == graph.nodes().size()) return support->fused[0].drops_constants;
    return Explained(sdk::Status(
        sdk::Code::kNotSupported,
        name_ + " takes " + std::to_string(taken.size()) + " of " + std::to_string(graph.nodes().size()) + " nodes" +
            (support->fused.size() > 1 ? ", in " + std::to_string(support->fused.size()) + " parts" : "")));
  }

  sdk::Result<std::unique_ptr<sdk::Executable>> CompileGraph(const std::shared_ptr<Instance>& instance,
                                                             const Graph& graph, const sdk::PartitionView& partition) {
    std::vector<CompiledGraph::Operand> inputs, outputs;
    DEPUTY_SDK_RETURN_IF_ERROR(FindOperands(graph.inputs(), partition.inputs(), *graph.model(), inputs));
    DEPUTY_SDK_RETURN_IF_ERROR(FindOperands(graph.outputs(), partition.outputs(), *graph.model(), outputs));
    if (outputs.size() != partition.outputs().size())
      return sdk::Status(sdk::Code::kNotSupported, "no node of the partition makes an output");
    ModelNode description;
    description.name = name_ + "_" + std::to_string(next_++);
    description.type = description.name;
    description.domain = name_;
    description.since_version = 1;
    Node fused;
    fused.node = &description;
    fused.id = graph.nodes().size();
    fused.graph = &graph;
    fused.inputs = graph.inputs();
    fused.outputs = graph.outputs();
    fused.provider = name_;
    const sdk::Result<NodeComputeInfo*> info = instance->Compile(graph, fused);
    if (!info.ok()) return Explained(sdk::Status(info.status().code(), name_ + ": " + info.status().message()));
    auto compiled = std::make_shared<CompiledGraph>(shared_from_this(), graph.model(), instance, *info, host_, logger_,
                                                    name_, settings_);
    compiled->inputs = std::move(inputs);
    compiled->outputs = std::move(outputs);
    DEPUTY_SDK_RETURN_IF_ERROR(Explained(compiled->CreateState(description.name)));
    return std::make_unique<OwnExecutable>(std::move(compiled));
  }

  static sdk::Status FindOperands(const std::vector<const ValueInfo*>& infos, const std::vector<sdk::ValueView>& views,
                                  const Model& model, std::vector<CompiledGraph::Operand>& operands) {
    std::unordered_map<deputy_value_id, size_t> positions;
    for (size_t i = 0; i < views.size(); ++i) positions.emplace(views[i].id(), i);
    for (const ValueInfo* info : infos) {
      CompiledGraph::Operand operand;
      operand.value = info->value;
      const auto found = positions.find(info->value->id);
      if (found != positions.end()) operand.position = found->second;
      if (info->value->constant != nullptr) operand.constant = model.Constant(info->number);
      if (found == positions.end() && operand.constant == nullptr)
        return sdk::Status(sdk::Code::kInternal, "the value '" + info->value->name + "' is not of the partition");
      operands.push_back(operand);
    }
    return {};
  }

  sdk::Host host_;
  const ProviderSettings settings_;
  std::shared_ptr<Library> library_;
  EpFactory* factory_;
  std::string name_;
  Logger logger_;
  std::vector<std::unique_ptr<EpDevice>> devices_;  // for this machine's hardware
  const EpDevice* device_ = nullptr;
  SessionOptions options_;
  std::shared_ptr<Instance> asked_;  // of the first compilation too; each other one has its own
  size_t next_ = 0;
};

sdk::Result<EpFactory*> FactoryOf(const Library& library, const std::string& name) {
  std::string names;
  for (EpFactory* factory : library.factories()) {
    const char* found = factory->GetName == nullptr ? nullptr : factory->GetName(factory);
    if (found == nullptr) continue;
    if (name.empty() || name == found) return factory;
    names += (names.empty() ? "" : ", ") + std::string(found);
  }
  return sdk::Status(sdk::Code::kNotFound, name.empty() ? "the library's execution provider has no name"
                                                        : "the library has no execution provider '" + name +
                                                              "'; it has: " + (names.empty() ? "none" : names));
}

}  // namespace
}  // namespace own

sdk::Result<std::shared_ptr<Provider>> OpenOwn(const sdk::Host& host, const ProviderSettings& settings) {
  if (settings.library.empty())
    return sdk::Status(sdk::Code::kInvalidArgument,
                       "the path of the execution provider's library is missing: only ONNX Runtime's library has "
                       "execution providers that are built into it");
  DEPUTY_SDK_ASSIGN_OR_RETURN(const std::shared_ptr<own::Library> library,
                              own::Library::Open(settings.library, settings.registered));
  DEPUTY_SDK_ASSIGN_OR_RETURN(EpFactory* const factory, own::FactoryOf(*library, settings.name));
  const auto provider = std::make_shared<own::OwnProvider>(host, settings, library, factory);
  DEPUTY_SDK_RETURN_IF_ERROR(provider->Open());
  return std::shared_ptr<Provider>(provider);
}

}  // namespace ort
