#include "plugin/proxy/delegate_proxy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <set>
#include <utility>

#include "plugin/checks/text.hpp"
#include "plugin/discovery/description.hpp"
#include "plugin/discovery/option_check.hpp"
#include "plugin/proxy/answer_sinks.hpp"
#include "plugin/proxy/executable_proxy.hpp"

namespace deputy::host {
namespace {

void LogFaults(const OpenedDelegate& opened, const char* function, const AnswerCollector& collector) {
  if (const std::string faults = collector.Faults(); !faults.empty()) opened.LogFault(function, faults);
}

}  // namespace

DelegateProxy::DelegateProxy(std::shared_ptr<OpenedDelegate> opened, std::string id)
    : opened_(std::move(opened)),
      id_(std::move(id)),
      propose_(ProposeOf(opened_->table())),
      groups_(GroupsOf(opened_->table())),
      estimate_(EstimateOf(opened_->table())),
      options_(OptionsOf(opened_->table())),
      device_control_(DeviceControlOf(opened_->table())),
      own_operators_(std::make_shared<const OwnOperatorTable>(opened_)) {
  const deputy_delegate& table = opened_->table();
  for (uint64_t i = 0; i < table.opset_count; ++i)
    opsets_.emplace_back(CopyText(table.opsets[i].domain, 128).text, table.opsets[i].version);
}

Result<std::unique_ptr<Delegate>> DelegateProxy::Open(std::shared_ptr<LoadedPlugin> plugin,
                                                      const OpenRequest& request) {
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<OpenedDelegate> opened, OpenedDelegate::Open(std::move(plugin), request));
  return std::unique_ptr<Delegate>(new DelegateProxy(std::move(opened), request.delegate));
}

DelegateProxy::~DelegateProxy() {
  const MutexLock lock(claims_mutex_);
  for (const auto& [claim, shown] : claims_) CallRelease(claim);
}

DelegateTraits DelegateProxy::traits() const {
  DelegateTraits traits;
  traits.takes_dynamic_shapes = (opened_->table().flags & DEPUTY_DELEGATE_DYNAMIC_SHAPES) != 0;
  traits.keeps_partitions = opened_->resize() != nullptr;
  traits.overlaps = opened_->is_accelerator();
  return traits;
}

uint32_t DelegateProxy::newest_definition(std::string_view domain) const {
  for (const auto& [known, version] : opsets_)
    if (known == domain) return version;
  return UINT32_MAX;
}

Status DelegateProxy::QuerySupport(const GraphView& view, std::vector<Verdict>& verdicts) {
  const deputy_graph graph(view, opened_->handle_tracker(), opened_->streams_constants());
  verdicts.assign(view.graph->nodes.size(), Verdict());
  SupportCollector collector(view, verdicts);
  const deputy_support_sink sink = SinkOf(collector);
  Status status = opened_->CallLoading(
      "query_support", &graph, [&] { return opened_->table().query_support(opened_->instance(), &graph, &sink); });
  LogFaults(*opened_, "query_support", collector);
  // Answers of a failed query are not used.
  if (!status.ok()) verdicts.assign(view.graph->nodes.size(), Verdict());
  return status;
}

Result<std::vector<PartitionSpec>> DelegateProxy::Propose(const GraphView& view) {
  const auto graph = std::make_shared<const deputy_graph>(GraphForm::Of(view), opened_->handle_tracker(),
                                                          opened_->streams_constants());
  const MutexLock lock(claims_mutex_);
  std::set<void*> held;
  for (const auto& [handle, shown] : claims_) held.insert(handle);
  ClaimCollector collector(view, std::move(held));
  const deputy_claim_sink sink = SinkOf(collector);
  Status status = opened_->CallLoading("propose", graph.get(),
                                       [&] { return propose_->propose(opened_->instance(), graph.get(), &sink); });
  LogFaults(*opened_, "propose", collector);
  std::vector<PartitionSpec> claims = std::move(collector.claims());
  size_t kept = 0;
  try {
    for (; status.ok() && kept < claims.size(); ++kept) {
      PartitionSpec& claim = claims[kept];
      claim.name = fmt::format("{}.{}", name(), kept);
      if (claim.claim != nullptr) claims_.emplace(claim.claim, graph);
    }
  } catch (const std::bad_alloc&) {
    status = Status(StatusCode::kResourceExhausted, "lacks memory");
  }
  if (status.ok()) return claims;
  for (const PartitionSpec& claim : claims) {
    if (claim.claim != nullptr) CallRelease(claim.claim);
    claims_.erase(claim.claim);
  }
  return status;
}

DelegateProxy::ShownGraph DelegateProxy::ShownWith(void* claim) {
  const MutexLock lock(claims_mutex_);
  const auto found = claims_.find(claim);
  return found == claims_.end() ? nullptr : found->second;
}

bool DelegateProxy::TakeClaim(void* claim) {
  const MutexLock lock(claims_mutex_);
  return claims_.erase(claim) != 0;
}

void DelegateProxy::ReleaseClaim(void* claim) {
  // Once only, even if the caller releases it again.
  if (TakeClaim(claim)) CallRelease(claim);
}

void DelegateProxy::CallRelease(void* claim) {
  opened_->CallVoidLoading("claim_release", [&] { propose_->claim_release(opened_->instance(), claim); });
}

Result<std::vector<std::vector<NodeId>>> DelegateProxy::Groups(const GraphView& view) {
  const deputy_graph graph(view, opened_->handle_tracker(), opened_->streams_constants());
  GroupCollector collector(view);
  const deputy_group_sink sink = SinkOf(collector);
  Status status =
      opened_->CallLoading("groups", &graph, [&] { return groups_->groups(opened_->instance(), &graph, &sink); });
  LogFaults(*opened_, "groups", collector);
  if (!status.ok()) return status;
  return std::move(collector.groups());
}

Result<Estimate> DelegateProxy::EstimatePartition(const GraphView& view, const PartitionSpec& partition) {
  const deputy_graph graph(GraphForm::Of(view), opened_->handle_tracker(), opened_->streams_constants());
  const deputy_partition form = FormOf(graph, partition);
  EstimateCollector collector(view, partition.nodes);
  const deputy_estimate_sink sink = SinkOf(collector);
  Status status =
      opened_->CallLoading("estimate", &graph, [&] { return estimate_->estimate(opened_->instance(), &form, &sink); });
  LogFaults(*opened_, "estimate", collector);
  if (!status.ok()) return status;
  return std::move(collector.estimate());
}

Result<std::shared_ptr<const Executable>> DelegateProxy::Compile(const GraphView& view,
                                                                 const PartitionSpec& partition) {
  auto graph = std::make_shared<const deputy_graph>(GraphForm::Of(view), opened_->handle_tracker(),
                                                    opened_->streams_constants());
  const ShownGraph shown = ShownWith(partition.claim);
  if (partition.claim != nullptr && shown == nullptr)
    return Error(StatusCode::kInternal, "the claim to compile does not exist").At(opened_->plugin().label());
  const CompileCall call(*opened_, *graph, partition);
  const auto proxy = std::make_shared<ExecutableProxy>(opened_, graph, shown, partition);
  const auto compile = [&](deputy_executable** to) {
    return opened_->table().compile(opened_->instance(), call.args(), to);
  };
  (void)TakeClaim(partition.claim);  // consumed from here on, also by a failure
  DEPUTY_RETURN_IF_ERROR(
      opened_->CallLoading("compile", graph.get(), [&] { return MakeOwn(proxy->own(), compile); }, {proxy->place()}));
  if (proxy->handle() == nullptr) return opened_->Fault("compile", "it succeeded without an executable");
  return std::shared_ptr<const Executable>(proxy);
}

Result<DeviceState> DelegateProxy::device_state() const {
  deputy_device_state raw{};
  raw.struct_size = sizeof raw;
  DEPUTY_RETURN_IF_ERROR(
      opened_->Call("device_state", nullptr, [&] { return device_control_->device_state(opened_->instance(), &raw); }));
  const CopiedText device_name = CopyText(raw.device_name, 512);
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

Status DelegateProxy::SetOption(const std::string& option, const std::string& text) {
  std::vector<OptionSchema> schema;
  if (const auto rejection = ListOptions(opened_->table(), schema)) return opened_->Fault("option_at", rejection->text);
  const std::pair<std::string, std::string> given[] = {{option, text}};
  const CheckedOptions checked = CheckOptions(schema, given);
  if (!checked.problems.empty()) {
    const OptionProblem& problem = checked.problems.front();
    return Error(problem.unknown ? StatusCode::kNotFound : StatusCode::kInvalidArgument, "delegate '{}': {}", name(),
                 problem.message);
  }
  for (const OptionSchema& one : schema)
    if (one.name == option && (!one.settable || !DEPUTY_HAS_FN(options_, deputy_ext_options, set_option)))
      return Error(StatusCode::kFailedPrecondition, "delegate '{}': option '{}' is set when the delegate is opened",
                   name(), option);
  const std::string& value = checked.values.front().second;
  return opened_->CallLoading("set_option", nullptr, [&] {
    return options_->set_option(opened_->instance(), {option.c_str(), option.size()}, {value.c_str(), value.size()});
  });
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
    const Status status = opened_->CallLoading("get_option", nullptr, [&] {
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
