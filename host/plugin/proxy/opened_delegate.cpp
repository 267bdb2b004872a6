#include "plugin/proxy/opened_delegate.hpp"

#include <fmt/format.h>

#include <atomic>
#include <vector>

#include "base/log.hpp"
#include "deputy/abi/ext/concurrency.h"
#include "plugin/discovery/description.hpp"

namespace deputy::host {
namespace {

// deputy_open_args.domain.
uint64_t NextDomain() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

OpenedDelegate::OpenedDelegate(std::shared_ptr<LoadedPlugin> plugin, const deputy_delegate* table,
                               const OpenRequest& request)
    : plugin_(std::move(plugin)),
      table_(table),
      services_(std::make_unique<HostServices>(request.name, request.pool, request.helpers, request.check)),
      faults_(request.name),
      blob_(BlobOf(*table)),
      resize_(ResizeOf(*table)),
      profiling_(ProfilingOf(*table)),
      memory_(MemoryOf(*table)),
      async_(AsyncOf(*table)),
      domain_(NextDomain()),
      device_(request.device),
      driver_(request.driver),
      is_accelerator_(request.is_accelerator),
      compile_only_(request.compile_only),
      priority_(request.priority),
      precision_(static_cast<deputy_dtype>(request.precision)),
      call_limit_{request.call_timeout, request.abort_on_hang ? HangAction::kAbort : HangAction::kReport},
      progress_(request.progress) {
  if (async_ != nullptr) submitted_runs_ = &plugin_->RunsOf(*table_);
  if (!is_serial()) return;
  limiter_ = &plugin_->LimiterOf(*table_);
  run_rules_ = {false, false, false, (table_->flags & DEPUTY_DELEGATE_LOADS_WHILE_RUNNING) != 0};
}

Result<std::shared_ptr<OpenedDelegate>> OpenedDelegate::Open(std::shared_ptr<LoadedPlugin> plugin,
                                                             const OpenRequest& request) {
  const deputy_delegate* table = plugin->FindDelegate(request.delegate);
  if (table == nullptr)
    return Error(StatusCode::kNotFound, "has no delegate '{}'", request.delegate).At(plugin->label());
  const deputy_ext_blob* blobs = request.compile_only ? BlobOf(*table) : nullptr;
  if (request.compile_only && (blobs == nullptr || (blobs->flags & DEPUTY_BLOB_COMPILE_ONLY) == 0))
    return Error(StatusCode::kNotSupported, "delegate '{}' cannot compile without its device", request.delegate)
        .At(plugin->label());
  std::shared_ptr<OpenedDelegate> opened(new OpenedDelegate(std::move(plugin), table, request));
  if (!opened->driver_.empty()) opened->AskDriver();
  std::vector<deputy_kv> options;
  for (const auto& [name, value] : request.options)
    options.push_back({{name.c_str(), name.size()}, {value.c_str(), value.size()}});
  deputy_open_args args{};
  args.struct_size = sizeof args;
  args.host = opened->host();
  args.name = {request.name.c_str(), request.name.size()};
  args.device = {request.device.c_str(), request.device.size()};
  args.options = options.data();
  args.option_count = options.size();
  args.flags = request.compile_only ? uint32_t{DEPUTY_OPEN_COMPILE_ONLY} : 0u;
  args.domain = opened->domain();
  DEPUTY_RETURN_IF_ERROR(opened->CallLoading("open", nullptr, [&] {
    return MakeOwn(opened->instance_, [&](deputy_instance** to) { return table->open(table, &args, to); });
  }));
  if (opened->instance_ == nullptr) return opened->Fault("open", "it succeeded without an instance");
  DEPUTY_RETURN_IF_ERROR(opened->AskConcurrency());
  if (opened->async_ != nullptr) {
    DEPUTY_ASSIGN_OR_RETURN(opened->run_queue_, RunQueue::Make(*opened, SchedulingOf(*table)));
  }
  return opened;
}

OpenedDelegate::~OpenedDelegate() {
  if (instance_ != nullptr) CallVoidLoading("close", [&] { table_->close(instance_); });
  services_->ReportDroppedLines();
  faults_.ReportDropped();
  if (handle_tracker() == nullptr) return;
  if (const size_t out = handle_tracker()->statuses_out(); out != 0)
    LogFault("close", fmt::format("{} of the statuses that it got were never handed back", out));
  // A thread of the plugin that is still running finds the table, and its calls are reported.
  handle_tracker()->Close();
  plugin_->Keep(std::move(services_));
}

Status OpenedDelegate::AskConcurrency() {
  const deputy_ext_concurrency* concurrency = ConcurrencyOf(*table_);
  if (is_serial() || concurrency == nullptr) return {};
  limiter_ = &plugin_->LimiterOf(*table_);
  uint32_t flags = 0;
  DEPUTY_RETURN_IF_ERROR(
      CallLoading("concurrency", nullptr, [&] { return concurrency->concurrency(instance_, &flags); }));
  constexpr uint32_t kKnown = DEPUTY_CONCURRENT_CONTEXTS | DEPUTY_CONCURRENT_EXECUTABLES | DEPUTY_CONCURRENT_INSTANCES;
  if ((flags & ~kKnown) != 0) {
    LogFault("concurrency",
             fmt::format("its flags {:#x} have bits that this host does not know: nothing overlaps", flags));
    flags = 0;
  }
  run_rules_.contexts = (flags & DEPUTY_CONCURRENT_CONTEXTS) != 0;
  run_rules_.executables = (flags & DEPUTY_CONCURRENT_EXECUTABLES) != 0;
  run_rules_.instances = (flags & DEPUTY_CONCURRENT_INSTANCES) != 0;
  return {};
}

void OpenedDelegate::AskDriver() {
  std::vector<DeviceEntry> devices;
  Status failure;
  if (EnumerateDevices(*table_, host(), devices, failure)) return;
  for (DeviceEntry& device : devices)
    if (device.id == device_) driver_ = std::move(device.driver);
}

std::string OpenedDelegate::Place(const char* function) const {
  return fmt::format("{}: {}", plugin_->label(), function);
}

Status OpenedDelegate::Fault(const char* function, std::string fault) const {
  LogFault(function, fault);
  return Status(StatusCode::kPlugin, std::move(fault)).At(Place(function));
}

void OpenedDelegate::LogFault(const char* function, std::string_view fault) const noexcept {
  try {
    if (LogEnabled(LogLevel::kWarning, name()))
      faults_.Line(LogLevel::kWarning, fmt::format("{} broke its contract: {}", Place(function), fault));
  } catch (...) {  // no memory for the line; it may be the plugin that is waiting for this to return
  }
}

Status OpenedDelegate::Failure(const char* function, const deputy_graph* graph, StatusHandle status) const {
  if (!IsFailureCode(status->code)) return Fault(function, ToStatus(*status).message());
  Status failure = ToStatus(*status);
  if (status->node == DEPUTY_NO_NODE) return std::move(failure).At(Place(function));
  if (graph == nullptr || graph->position(status->node) == graph->node_count()) {
    LogFault(function, fmt::format("its failure names node {}, which does not exist", status->node));
    return std::move(failure).At(Place(function));
  }
  return std::move(failure).At(Describe(graph->graph(), status->node)).At(Place(function));
}

}  // namespace deputy::host
