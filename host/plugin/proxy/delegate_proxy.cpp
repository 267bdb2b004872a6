#include "plugin/proxy/delegate_proxy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "plugin/checks/text.hpp"
#include "plugin/proxy/executable_proxy.hpp"
#include "plugin/proxy/placement_answers.hpp"

namespace deputy::host {
namespace {

constexpr size_t kMaxDetail = 512;

// Collects the answers of a support query.
struct Answers {
  const deputy_graph& graph;
  std::vector<Verdict>& verdicts;
  std::vector<uint8_t> answered = std::vector<uint8_t>(verdicts.size());
  std::string first_fault{};
  size_t faults = 0;

  void Complain(std::string fault) {
    if (faults++ == 0) first_fault = std::move(fault);
  }

  void Take(deputy_node_id node, deputy_reason reason, const deputy_str& detail) {
    if (graph.position(node) == graph.node_count())
      return Complain(fmt::format("it answers for node {}, which does not exist", node));
    if (!graph.offered(node))
      return Complain(fmt::format("it answers for {}, which was not offered", Describe(graph.graph(), node)));
    if (std::exchange(answered[node], uint8_t{1}) != 0)
      return Complain(fmt::format("it answers twice for {}", Describe(graph.graph(), node)));
    if (reason > DEPUTY_REASON_OTHER) {
      Complain(fmt::format("it answers {} with the unknown reason {}", Describe(graph.graph(), node), reason));
      reason = DEPUTY_REASON_OTHER;
    }
    const size_t size = detail.data == nullptr ? 0 : std::min<size_t>(detail.size, kMaxDetail);
    verdicts[node] = {static_cast<Reason>(reason), CleanText(std::string_view(detail.data, size), kMaxDetail)};
  }

  static void Answer(void* self, deputy_node_id node, deputy_reason reason, deputy_str detail) {
    auto& answers = *static_cast<Answers*>(self);
    try {
      answers.Take(node, reason, detail);
    } catch (...) {  // no memory; nothing may be thrown through the plugin
      ++answers.faults;
    }
  }
};

}  // namespace

DelegateProxy::DelegateProxy(std::shared_ptr<OpenedDelegate> opened, std::string id)
    : opened_(std::move(opened)),
      id_(std::move(id)),
      propose_(ProposeOf(opened_->table())),
      groups_(GroupsOf(opened_->table())),
      estimate_(EstimateOf(opened_->table())),
      options_(OptionsOf(opened_->table())),
      device_control_(DeviceControlOf(opened_->table())),
      own_operators_(std::make_shared<const OwnOperatorTable>(opened_)) {}

Result<std::unique_ptr<Delegate>> DelegateProxy::Open(std::shared_ptr<LoadedPlugin> plugin,
                                                      const OpenRequest& request) {
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<OpenedDelegate> opened, OpenedDelegate::Open(std::move(plugin), request));
  return std::unique_ptr<Delegate>(new DelegateProxy(std::move(opened), request.delegate));
}

DelegateProxy::~DelegateProxy() {
  while (!claims_.empty()) ReleaseClaim(claims_.begin()->first);
}

bool DelegateProxy::takes_dynamic_shapes() const {
  return (opened_->table().flags & DEPUTY_DELEGATE_DYNAMIC_SHAPES) != 0;
}

Status DelegateProxy::QuerySupport(const GraphView& view, std::vector<Verdict>& verdicts) {
  const deputy_graph graph(view, opened_->handle_tracker());
  verdicts.assign(view.graph->nodes.size(), Verdict());
  Answers answers{graph, verdicts};
  const deputy_support_sink sink{sizeof sink, 0, &answers, Answers::Answer};
  Status status = opened_->Call("query_support", &graph,
                                [&] { return opened_->table().query_support(opened_->instance(), &graph, &sink); });
  if (answers.faults != 0)
    opened_->LogFault("query_support", answers.faults == 1
                                           ? answers.first_fault
                                           : fmt::format("{} (and {} more)", answers.first_fault, answers.faults - 1));
  // Answers of a failed query are not used.
  if (!status.ok()) verdicts.assign(view.graph->nodes.size(), Verdict());
  return status;
}

Result<std::vector<PartitionSpec>> DelegateProxy::Propose(const GraphView& view) {
  if (propose_ == nullptr) return std::vector<PartitionSpec>();
  const auto graph = std::make_shared<const deputy_graph>(view, opened_->handle_tracker());
  std::set<void*> held;
  for (const auto& [handle, shown] : claims_) held.insert(handle);
  ClaimCollector collector(*graph, std::move(held));
  Status status = opened_->Call("propose", graph.get(),
                                [&] { return propose_->propose(opened_->instance(), graph.get(), collector.sink()); });
  for (const std::string& fault : collector.faults()) opened_->LogFault("propose", fault);
  std::vector<PartitionSpec> claims = std::move(collector.claims());
  for (PartitionSpec& claim : claims) {
    claim.name = fmt::format("{}.{}", name(), &claim - claims.data());
    if (claim.claim != nullptr) claims_.emplace(claim.claim, graph);
  }
  if (!status.ok()) {
    for (const PartitionSpec& claim : claims) ReleaseClaim(claim.claim);
    return status;
  }
  return claims;
}

void DelegateProxy::ReleaseClaim(void* claim) {
  // Once only, even if the caller releases it again.
  const auto found = claims_.find(claim);
  if (found == claims_.end()) return;
  opened_->CallVoid("claim_release", [&] { propose_->claim_release(opened_->instance(), claim); });
  claims_.erase(found);
}

Result<std::vector<std::vector<NodeId>>> DelegateProxy::Groups(const GraphView& view) {
  if (groups_ == nullptr) return Delegate::Groups(view);
  const deputy_graph graph(view, opened_->handle_tracker());
  GroupCollector collector(graph);
  Status status =
      opened_->Call("groups", &graph, [&] { return groups_->groups(opened_->instance(), &graph, collector.sink()); });
  for (const std::string& fault : collector.faults()) opened_->LogFault("groups", fault);
  if (!status.ok()) return status;
  return std::move(collector.groups());
}

Result<Estimate> DelegateProxy::EstimatePartition(const GraphView& view, const PartitionSpec& partition) {
  if (estimate_ == nullptr) return Delegate::EstimatePartition(view, partition);
  const deputy_graph graph(view, opened_->handle_tracker());
  const deputy_partition form = FormOf(graph, partition);
  EstimateCollector collector(*view.graph, partition.nodes);
  Status status = opened_->Call("estimate", &graph,
                                [&] { return estimate_->estimate(opened_->instance(), &form, collector.sink()); });
  for (const std::string& fault : collector.faults()) opened_->LogFault("estimate", fault);
  if (!status.ok()) return status;
  return std::move(collector.estimate());
}

Result<std::shared_ptr<const Executable>> DelegateProxy::Compile(const GraphView& view,
                                                                 const PartitionSpec& partition) {
  auto graph = std::make_shared<const deputy_graph>(view, opened_->handle_tracker());
  std::shared_ptr<const deputy_graph> claim_graph;
  if (partition.claim != nullptr) {
    const auto found = claims_.find(partition.claim);
    if (found == claims_.end())
      return Error(StatusCode::kInternal, "the claim to compile does not exist").At(opened_->plugin().label());
    claim_graph = std::move(found->second);
    claims_.erase(found);
  }
  const deputy_partition form = FormOf(*graph, partition);
  const std::string place = PlaceOf(*view.graph, partition);
  deputy_executable* executable = nullptr;
  DEPUTY_RETURN_IF_ERROR(
      opened_->Call("compile", graph.get(),
                    [&] { return opened_->table().compile(opened_->instance(), &form, &executable); }, {place}));
  if (executable == nullptr) return opened_->Fault("compile", "it succeeded without an executable");
  return std::shared_ptr<const Executable>(std::make_shared<const ExecutableProxy>(
      opened_, std::move(graph), std::move(claim_graph), executable, partition));
}

Result<DeviceState> DelegateProxy::device_state() const {
  if (device_control_ == nullptr) return Delegate::device_state();
  deputy_device_state raw{};
  raw.struct_size = sizeof raw;
  DEPUTY_RETURN_IF_ERROR(
      opened_->Call("device_state", nullptr, [&] { return device_control_->device_state(opened_->instance(), &raw); }));
  const CopiedText device_name = CopyText(raw.device_name, kMaxDetail);
  if (!device_name.fault.empty()) return opened_->Fault("device_state", "the device's name " + device_name.fault);
  DeviceState state;
  state.device_name = CleanText(device_name.text);
  state.level_requested = raw.level_requested;
  state.level_granted = raw.level_granted;
  state.frequency_requested_hz = raw.frequency_requested_hz;
  state.frequency_granted_hz = raw.frequency_granted_hz;
  state.busy_ns = raw.busy_ns;
  state.runs = raw.runs;
  return state;
}

std::vector<std::pair<std::string, std::string>> DelegateProxy::options() const {
  std::vector<std::pair<std::string, std::string>> values;
  if (options_ == nullptr || options_->get_option == nullptr) return values;
  const deputy_delegate* table = &opened_->table();
  uint32_t count = 0;
  opened_->CallVoid("option_count", [&] { count = options_->option_count(table); });
  constexpr uint32_t kMaxOptions = 256;
  for (uint32_t i = 0; i < std::min(count, kMaxOptions); ++i) {
    const deputy_option_info* info = nullptr;
    opened_->CallVoid("option_at", [&] { info = options_->option_at(table, i); });
    if (info == nullptr || !DEPUTY_HAS(info, deputy_option_info, name)) continue;
    const CopiedText option = CopyText(info->name, 128);
    if (!option.fault.empty()) continue;
    std::array<char, 1024> buffer{};
    uint64_t size = 0;
    const Status status = opened_->Call("get_option", nullptr, [&] {
      return options_->get_option(opened_->instance(), info->name, buffer.data(), buffer.size(), &size);
    });
    if (!status.ok()) continue;
    if (size >= buffer.size()) {
      opened_->LogFault("get_option", fmt::format("it wrote {} bytes into {}", size, buffer.size()));
      continue;
    }
    values.emplace_back(option.text, CleanText(std::string_view(buffer.data(), size)));
  }
  return values;
}

}  // namespace deputy::host
