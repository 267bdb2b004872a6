// The two functions that the library exports: an external delegate of TensorFlow Lite that runs nodes by Deputy.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "../tflite_abi/tflite_abi.hpp"
#include "delegate_options.hpp"
#include "deputy/config.hpp"
#include "deputy/context.hpp"
#include "deputy/output_file.hpp"
#include "deputy/printable.hpp"
#include "kernel.hpp"
#include "partition.hpp"
#include "report.hpp"
#include "source_graph.hpp"

namespace deputy::tflite_delegate {
namespace {

constexpr const char* kReportToLog = "log";
constexpr const char* kKernelName = "DeputyDelegate";

// A Status of what is called, without exceptions: no caller of these functions expects any.
template <class F>
Status Guarded(const F& f) noexcept {
  try {
    return f();
  } catch (const std::exception& error) {
    return Status(StatusCode::kInternal, error.what());
  } catch (...) {
    return Status(StatusCode::kInternal, "unknown exception");
  }
}

tflite_abi::Outcome Reported(tflite_abi::Context* context, const Status& status) noexcept {
  if (status.ok()) return tflite_abi::kOk;
  const Status written = Guarded([&] {
    context->ReportError(context, "%s", ("deputy: " + Printable(status.ToString())).c_str());
    return Status();
  });
  return tflite_abi::kError;
}

class DeputyDelegate {
 public:
  static Result<std::unique_ptr<DeputyDelegate>> Make(const DelegateOptions& options) {
    if (!options.report.empty() && options.report != kReportToLog)
      DEPUTY_RETURN_IF_ERROR(CheckOutputFile(options.report));
    std::unique_ptr<DeputyDelegate> made(new DeputyDelegate);
    if (!options.config.empty()) made->sources_.files.push_back(options.config);
    made->sources_.settings = options.settings;
    DEPUTY_ASSIGN_OR_RETURN(made->context_, deputy::Context::FromLayers(made->sources_));
    DEPUTY_RETURN_IF_ERROR(made->context_.Load());
    made->report_path_ = options.report;
    made->delegate_.data = made.get();
    made->delegate_.Prepare = PrepareGraph;
    made->delegate_.flags = tflite_abi::kAllowDynamicTensors;
    return made;
  }

  tflite_abi::Delegate* delegate() { return &delegate_; }
  static DeputyDelegate& Of(tflite_abi::Delegate* delegate) { return *static_cast<DeputyDelegate*>(delegate->data); }

  Status Apply(tflite_abi::Context* interpreter) {
    DEPUTY_ASSIGN_OR_RETURN(SourceGraph read, ReadGraph(interpreter));
    const auto graph = std::make_shared<SourceGraph>(std::move(read));
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<std::shared_ptr<Partition>> partitions,
                            BuildPartitions(interpreter, graph, context_, sources_));
    GraphRecord record{graph->plan_size, {}, graph->left};
    std::sort(record.left.begin(), record.left.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
    std::vector<int32_t> nodes{0};
    std::vector<Waiting> waiting;
    for (const std::shared_ptr<Partition>& partition : partitions) {
      const std::shared_ptr<PartitionRecord> part = report_->Add(*partition);
      report_->Update(*part, *partition);
      record.partitions.push_back(part);
      for (const int node : partition->NodeIndices()) nodes.push_back(node);
      waiting.emplace_back(partition, part);
    }
    report_->Add(std::move(record));
    if (partitions.empty()) return {};
    nodes[0] = static_cast<int32_t>(nodes.size() - 1);
    using Replace = tflite_abi::Outcome (*)(tflite_abi::Context*, tflite_abi::PaddedRegistration,
                                            const tflite_abi::IntArray*, tflite_abi::Delegate*);
    const auto replace =
        reinterpret_cast<Replace>(reinterpret_cast<void*>(interpreter->ReplaceNodeSubsetsWithDelegateKernels));
    SetWaiting(interpreter, std::move(waiting));
    const tflite_abi::Outcome outcome =
        replace(interpreter, {KernelRegistration(), {}}, reinterpret_cast<const tflite_abi::IntArray*>(nodes.data()),
                &delegate_);
    SetWaiting(interpreter, {});
    if (outcome != tflite_abi::kOk)
      return Status(StatusCode::kUnavailable, "the interpreter does not replace its nodes");
    return {};
  }

  // The kernel for these nodes of the interpreter, which Apply has built.
  Result<std::unique_ptr<Kernel>> Take(tflite_abi::Context* interpreter, const tflite_abi::DelegateParams& params) {
    const tflite_abi::ListView<int32_t> replaced = tflite_abi::Values(params.nodes_to_replace);
    const std::vector<int> wanted(replaced.begin(), replaced.end());
    const std::lock_guard lock(mutex_);
    if (const auto found = waiting_.find(interpreter); found != waiting_.end())
      for (const auto& [partition, record] : found->second)
        if (partition->NodeIndices() == wanted) return std::make_unique<Kernel>(partition, record, report_);
    return Status(StatusCode::kInternal, "the interpreter partitions its graph otherwise than in its preview");
  }

  Status WriteReport() const {
    if (report_path_.empty()) return {};
    if (report_path_ != kReportToLog) return WriteOutputFile(report_path_, report_->Json(context_.Health()));
    std::fputs(report_->Text(context_.Health()).c_str(), stderr);
    return {};
  }

 private:
  using Waiting = std::pair<std::shared_ptr<Partition>, std::shared_ptr<PartitionRecord>>;

  DeputyDelegate() = default;

  void SetWaiting(tflite_abi::Context* interpreter, std::vector<Waiting> partitions) {
    const std::lock_guard lock(mutex_);
    if (partitions.empty())
      waiting_.erase(interpreter);
    else
      waiting_[interpreter] = std::move(partitions);
  }

  static tflite_abi::Outcome PrepareGraph(tflite_abi::Context* context, tflite_abi::Delegate* delegate) {
    return Reported(context, Guarded([&] { return Of(delegate).Apply(context); }));
  }

  static void* Init(tflite_abi::Context* context, const char* buffer, size_t) {
    void* made = tflite_abi::kInitFailed;
    const Status status = Guarded([&]() -> Status {
      const auto& params = *reinterpret_cast<const tflite_abi::DelegateParams*>(buffer);
      DEPUTY_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, Of(params.delegate).Take(context, params));
      made = kernel.release();
      return {};
    });
    Reported(context, status);
    return made;
  }
  static void Free(tflite_abi::Context*, void* user_data) {
    if (user_data == tflite_abi::kInitFailed) return;
    const std::unique_ptr<Kernel> kernel(static_cast<Kernel*>(user_data));
    const Status status = Guarded([&] {
      kernel->WriteRecord();
      return Status();
    });
  }
  static tflite_abi::Outcome PrepareKernel(tflite_abi::Context* context, tflite_abi::Node* node) {
    return Reported(context, Guarded([&] { return static_cast<Kernel*>(node->user_data)->Prepare(context); }));
  }
  static tflite_abi::Outcome InvokeKernel(tflite_abi::Context* context, tflite_abi::Node* node) {
    return Reported(context, Guarded([&] { return static_cast<Kernel*>(node->user_data)->Invoke(context); }));
  }

  static tflite_abi::Registration KernelRegistration() {
    tflite_abi::Registration made{};
    made.init = Init;
    made.free = Free;
    made.prepare = PrepareKernel;
    made.invoke = InvokeKernel;
    made.builtin_code = kDelegateOperator;
    made.custom_name = kKernelName;
    made.version = 1;
    return made;
  }

  tflite_abi::Delegate delegate_{};
  ConfigSources sources_;  // of the context
  deputy::Context context_;
  std::string report_path_;
  std::shared_ptr<Report> report_ = std::make_shared<Report>();
  std::mutex mutex_;  // of waiting_: interpreters of several threads may share the delegate
  std::map<tflite_abi::Context*, std::vector<Waiting>> waiting_;  // while the interpreter replaces its nodes
};

}  // namespace
}  // namespace deputy::tflite_delegate

extern "C" {

// For TFLite's `load_delegate` and TfLiteExternalDelegate*: null and a report on failure. The result outlives the
// interpreters that it is applied to. [any-thread]
__attribute__((visibility("default"))) deputy::tflite_abi::Delegate* tflite_plugin_create_delegate(
    char** keys, char** values, size_t count, void (*report_error)(const char*)) {
  using deputy::tflite_delegate::DeputyDelegate;
  deputy::tflite_abi::Delegate* created = nullptr;
  const deputy::Status status = deputy::tflite_delegate::Guarded([&]() -> deputy::Status {
    DEPUTY_ASSIGN_OR_RETURN(const deputy::tflite_delegate::DelegateOptions options,
                            deputy::tflite_delegate::ParseOptions(keys, values, count));
    DEPUTY_ASSIGN_OR_RETURN(std::unique_ptr<DeputyDelegate> made, DeputyDelegate::Make(options));
    created = made.release()->delegate();
    return {};
  });
  if (!status.ok() && report_error != nullptr) {
    const deputy::Status reported = deputy::tflite_delegate::Guarded([&] {
      report_error(("deputy: " + deputy::Printable(status.ToString())).c_str());
      return deputy::Status();
    });
  }
  return created;
}

// After the interpreters that it was applied to. Writes the report. [any-thread]
__attribute__((visibility("default"))) void tflite_plugin_destroy_delegate(deputy::tflite_abi::Delegate* delegate) {
  if (delegate == nullptr) return;
  const deputy::Status status = deputy::tflite_delegate::Guarded([&] {
    const std::unique_ptr<deputy::tflite_delegate::DeputyDelegate> owned(
        &deputy::tflite_delegate::DeputyDelegate::Of(delegate));
    return owned->WriteReport();
  });
  if (!status.ok())
    std::fprintf(stderr, "deputy: the report is not written: %s\n", deputy::Printable(status.ToString()).c_str());
}

}  // extern "C"
