#include "host_services.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "float_control.hpp"
#include "model_graph.hpp"
#include "partitions.hpp"
#include "text.hpp"
#include "threads.hpp"

namespace deputy::conformance {
namespace {

constexpr uint32_t kThreads = 4;
constexpr size_t kMostKept = 1024;

deputy_status* StatusNew(void* self, deputy_code code, deputy_node_id node, const char* message, uint64_t size) {
  HostServices& host = HostServices::Of(self);
  const std::string text = message == nullptr ? "" : std::string(message, size);
  if (code == DEPUTY_OK) host.Fault("status_new was called with the code of success");
  if (!IsUtf8(text)) host.Fault("the message of a status is not UTF-8");
  return host.NewStatus(code, node, text);
}

void StatusRelease(void* self, deputy_status* status) { HostServices::Of(self).Release(status); }

deputy_code StatusCode(void*, const deputy_status* status) { return status == nullptr ? DEPUTY_OK : status->code; }

deputy_node_id StatusNode(void*, const deputy_status* status) {
  return status == nullptr ? DEPUTY_NO_NODE : status->node;
}

deputy_str StatusMessage(void*, const deputy_status* status) {
  return status == nullptr ? deputy_str{"", 0} : StrOf(status->message);
}

void Log(void* self, deputy_log_level level, const char* message, uint64_t size) {
  HostServices& host = HostServices::Of(self);
  if (level < DEPUTY_LOG_DEBUG || level > DEPUTY_LOG_ERROR)
    host.Fault("log was called with the unknown level " + std::to_string(level));
  if (message != nullptr && !IsUtf8(std::string(message, size))) host.Fault("a log message is not UTF-8");
}

const void* GetExtension(void* self, const char* id) { return HostServices::Of(self).Extension(id); }

// The graph, if the handle is valid; `function` was called with it.
const deputy_graph* Live(void* self, const deputy_graph* graph, const char* function) {
  HostServices::Of(self).Interrupt();
  HostServices& host = HostServices::Of(self);
  if (host.HasGraph(graph)) return graph;
  host.Fault(std::string(function) + " was called with a graph handle that is no longer valid");
  return nullptr;
}

deputy_status* NoGraph(void* self) {
  return HostServices::Of(self).NewStatus(DEPUTY_INVALID_ARGUMENT, DEPUTY_NO_NODE, "the graph handle is not alive");
}

uint32_t NodeCount(void* self, const deputy_graph* graph) {
  graph = Live(self, graph, "graph_node_count");
  return graph == nullptr ? 0 : graph->node_count();
}

deputy_node_id NodeAt(void* self, const deputy_graph* graph, uint32_t index) {
  graph = Live(self, graph, "graph_node_at");
  return graph == nullptr ? DEPUTY_NO_NODE : graph->node_at(index);
}

deputy_status* NodeInfo(void* self, const deputy_graph* graph, deputy_node_id node, deputy_node_info* out) {
  graph = Live(self, graph, "graph_node_info");
  if (graph == nullptr) return NoGraph(self);
  if (graph->NodeInfo(node, out)) return nullptr;
  return HostServices::Of(self).NewStatus(DEPUTY_INVALID_ARGUMENT, node, "there is no such node");
}

deputy_status* ValueInfo(void* self, const deputy_graph* graph, deputy_value_id value, deputy_value_info* out) {
  graph = Live(self, graph, "graph_value_info");
  if (graph == nullptr) return NoGraph(self);
  if (graph->ValueInfo(value, out)) return nullptr;
  return HostServices::Of(self).NewStatus(DEPUTY_INVALID_ARGUMENT, DEPUTY_NO_NODE, "there is no such value");
}

const deputy_value_id* GraphInputs(void* self, const deputy_graph* graph, uint32_t* count) {
  graph = Live(self, graph, "graph_inputs");
  *count = graph == nullptr ? 0 : static_cast<uint32_t>(graph->inputs().size());
  return graph == nullptr ? nullptr : graph->inputs().data();
}

const deputy_value_id* GraphOutputs(void* self, const deputy_graph* graph, uint32_t* count) {
  graph = Live(self, graph, "graph_outputs");
  *count = graph == nullptr ? 0 : static_cast<uint32_t>(graph->outputs().size());
  return graph == nullptr ? nullptr : graph->outputs().data();
}

deputy_status* ConstantRead(void* self, const deputy_graph* graph, deputy_value_id value, uint64_t offset,
                            uint64_t size, void* to) {
  graph = Live(self, graph, "constant_read");
  if (graph == nullptr) return NoGraph(self);
  if (graph->ReadConstant(value, offset, size, to)) return nullptr;
  return HostServices::Of(self).NewStatus(DEPUTY_INVALID_ARGUMENT, DEPUTY_NO_NODE, "there are no such bytes");
}

// The kit's constants are in no file.
deputy_status* ConstantFile(void* self, const deputy_graph* graph, deputy_value_id, int32_t*, uint64_t*) {
  graph = Live(self, graph, "constant_file");
  if (graph == nullptr) return NoGraph(self);
  return HostServices::Of(self).NewStatus(DEPUTY_NOT_FOUND, DEPUTY_NO_NODE, "the constant is in no file");
}

deputy_status* NodeAttribute(void* self, const deputy_graph* graph, deputy_node_id node, const char* name,
                             deputy_attribute* out) {
  graph = Live(self, graph, "node_attribute");
  if (graph == nullptr) return NoGraph(self);
  if (graph->AttributeOf(node, name, out)) return nullptr;
  return HostServices::Of(self).NewStatus(DEPUTY_INVALID_ARGUMENT, node, "there is no such node");
}

void ParallelFor(void* self, int64_t count, int64_t grain, deputy_parallel_fn fn, void* job) {
  HostServices::Of(self).ParallelFor(count, grain, fn, job);
}

uint32_t ThreadCount(void*) { return kThreads; }

uint64_t ClockNs(void* self) { return HostServices::Of(self).LookAtClock(); }

}  // namespace

std::string Outcome::ToString() const {
  if (ok()) return "success";
  return message.empty() ? CodeName(code) : std::string(CodeName(code)) + ": " + message;
}

HostServices::HostServices() {
  table_.struct_size = sizeof table_;
  table_.abi_version = DEPUTY_ABI_VERSION;
  table_.self = this;
  table_.status_new = StatusNew;
  table_.status_release = StatusRelease;
  table_.status_code = StatusCode;
  table_.status_node = StatusNode;
  table_.status_message = StatusMessage;
  table_.log = Log;
  table_.get_extension = GetExtension;
  table_.graph_node_count = NodeCount;
  table_.graph_node_at = NodeAt;
  table_.graph_node_info = conformance::NodeInfo;
  table_.graph_value_info = ValueInfo;
  table_.graph_inputs = GraphInputs;
  table_.graph_outputs = GraphOutputs;
  table_.constant_read = ConstantRead;
  table_.constant_file = ConstantFile;
  table_.node_attribute = NodeAttribute;
  table_.parallel_for = conformance::ParallelFor;
  table_.thread_count = ThreadCount;
  table_.clock_ns = conformance::ClockNs;
  helpers_ = HelpersOf(*this);
}

const void* HostServices::Extension(const char* id) {
  if (id == nullptr) Fault("get_extension was called with NULL");
  return id != nullptr && std::strcmp(id, DEPUTY_EXT_PARTITION_HELPERS) == 0 ? &helpers_ : nullptr;
}

deputy_status* HostServices::NewStatus(deputy_code code, deputy_node_id node, std::string message) {
  auto made = std::make_unique<deputy_status>(deputy_status{code, node, std::move(message)});
  deputy_status* status = made.get();
  const std::lock_guard lock(mutex_);
  out_.emplace(status, std::move(made));
  return status;
}

Outcome HostServices::Take(deputy_status* status) {
  if (status == nullptr) return {};
  const std::lock_guard lock(mutex_);
  const auto found = out_.find(status);
  if (found == out_.end()) {
    const bool again =
        std::any_of(returned_.begin(), returned_.end(), [&](const auto& kept) { return kept.get() == status; });
    faults_.push_back(again ? "it returned a status that it had returned before"
                            : "it returned a status that the host did not make");
    return {DEPUTY_INTERNAL, DEPUTY_NO_NODE, faults_.back()};
  }
  const Outcome outcome{status->code, status->node, status->message};
  if (outcome.ok()) faults_.push_back("it returned a status whose code is success");
  const char* const name = CodeName(outcome.code);
  if (std::strcmp(name, "unknown code") == 0 && outcome.code < DEPUTY_VENDOR_FIRST)
    faults_.push_back("it returned a status with the unknown code " + std::to_string(outcome.code));
  if (returned_.size() < kMostKept) returned_.push_back(std::move(found->second));
  out_.erase(found);
  return outcome;
}

void HostServices::Release(deputy_status* status) {
  if (status == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (out_.erase(status) == 0) faults_.push_back("it released a status that it had returned or released before");
}

size_t HostServices::statuses_out() const {
  const std::lock_guard lock(mutex_);
  return out_.size();
}

void HostServices::AddGraph(const deputy_graph* graph) {
  const std::lock_guard lock(mutex_);
  graphs_.insert(graph);
}
void HostServices::RemoveGraph(const deputy_graph* graph) {
  const std::lock_guard lock(mutex_);
  graphs_.erase(graph);
}
bool HostServices::HasGraph(const deputy_graph* graph) const {
  const std::lock_guard lock(mutex_);
  return graphs_.count(graph) != 0;
}

void HostServices::SetLook(std::function<void(Look)> look) {
  const std::lock_guard lock(mutex_);
  look_ = look ? std::make_shared<const std::function<void(Look)>>(std::move(look)) : nullptr;
}

void HostServices::CallLook(Look look) {
  std::shared_ptr<const std::function<void(Look)>> called;
  {
    const std::lock_guard lock(mutex_);
    called = look_;
  }
  if (called != nullptr) (*called)(look);
}

uint64_t HostServices::LookAtClock() {
  CallLook(Look::kClock);
  return ClockNs();
}

uint64_t HostServices::ClockNs() const {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()) + ahead_ns_;
}

void HostServices::Fault(std::string text) {
  const std::lock_guard lock(mutex_);
  if (std::find(faults_.begin(), faults_.end(), text) == faults_.end()) faults_.push_back(std::move(text));
}
std::vector<std::string> HostServices::TakeFaults() {
  const std::lock_guard lock(mutex_);
  return std::move(faults_);
}

// Several ranges for each of several threads, none of them smaller than the grain, and handed out in no order: a race
// between ranges of a job is noticed, and one that takes the caller for worker 0.
void HostServices::ParallelFor(int64_t count, int64_t grain, deputy_parallel_fn fn, void* job) {
  CallLook(Look::kParallelFor);
  if (count <= 0) return;
  const int64_t ranges = std::clamp<int64_t>(count / std::max<int64_t>(1, grain), 1, 2 * kThreads);
  std::atomic<int64_t> next{0};
  const auto work = [&](uint32_t worker) {
    for (int64_t range = next++; range < ranges; range = next++) {
      const uint64_t control = FloatControl();
      fn(job, range * (count / ranges), range + 1 == ranges ? count : (range + 1) * (count / ranges), worker);
      if (const uint64_t after = FloatControl(); after != control) {
        RestoreFloatControl(control);
        Fault("parallel_for: a range changed the floating point environment of its thread, which is the host's: " +
              FloatChanges(control, after));
      }
    }
  };
  // With fewer threads, where the system refuses one, the others do its ranges.
  Threads others;
  for (uint32_t i = 0; i + 1 < kThreads && i + 1 < ranges; ++i)
    if (!others.Start([&work, i] { work(i); })) break;
  work(kThreads - 1);
  others.Join();
}

const char* CodeName(deputy_code code) {
  switch (code) {
    case DEPUTY_OK: return "success";
    case DEPUTY_CANCELLED: return "cancelled";
    case DEPUTY_UNKNOWN: return "unknown";
    case DEPUTY_INVALID_ARGUMENT: return "invalid argument";
    case DEPUTY_DEADLINE_EXCEEDED: return "deadline exceeded";
    case DEPUTY_NOT_FOUND: return "not found";
    case DEPUTY_OUT_OF_MEMORY: return "out of memory";
    case DEPUTY_FAILED_PRECONDITION: return "failed precondition";
    case DEPUTY_ABORTED: return "aborted";
    case DEPUTY_NOT_SUPPORTED: return "not supported";
    case DEPUTY_INTERNAL: return "internal";
    case DEPUTY_UNAVAILABLE: return "unavailable";
    case DEPUTY_DEVICE_LOST: return "device lost";
    case DEPUTY_INCOMPATIBLE: return "incompatible";
    default: return "unknown code";
  }
}

}  // namespace deputy::conformance
