// A delegate of the application that computes Relu; a test may act in its runs or make it fail.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "deputy/sdk/sdk.hpp"

namespace deputy {

// Called before the result is complete. Calls are counted over all partitions and sessions.
struct ReluHooks {
  std::function<sdk::Status(const sdk::RunArgs&)> on_execute = [](const sdk::RunArgs&) { return sdk::Status(); };
  std::function<sdk::Status(int run)> on_run = [](int) { return sdk::Status(); };
  std::function<sdk::Status(int context)> on_context = [](int) { return sdk::Status(); };
  std::function<sdk::Status()> on_resize = [] { return sdk::Status(); };
  std::atomic<int> compiles{0}, contexts{0}, runs{0}, resizes{0};
};

// Writes half of the result, which is wrong, before the hooks are called.
class ReluDelegate : public sdk::PartitionDelegate {
 public:
  explicit ReluDelegate(std::shared_ptr<ReluHooks> hooks = std::make_shared<ReluHooks>()) : hooks_(std::move(hooks)) {}
  sdk::Verdict Supports(const sdk::NodeView& node) override {
    return node.Is("Relu") ? sdk::Verdict::Yes() : sdk::Verdict::No(sdk::Reason::kOperatorUnknown);
  }
  sdk::Result<std::unique_ptr<sdk::Executable>> Compile(const sdk::PartitionView& partition) override {
    if (partition.nodes().size() != 1) return sdk::Status(sdk::Code::kNotSupported, "one at a time");
    ++hooks_->compiles;
    return std::unique_ptr<sdk::Executable>(std::make_unique<Compiled>(hooks_));
  }

 private:
  struct Run final : sdk::ExecutionContext {
    explicit Run(std::shared_ptr<ReluHooks> given) : hooks(std::move(given)) {}
    sdk::Status Execute(const sdk::RunArgs& args) override {
      const sdk::Span<float> in = args.input(0).values<float>(), out = args.output(0).values<float>();
      for (size_t i = 0; i < in.size() / 2; ++i) out[i] = -1;
      DEPUTY_SDK_RETURN_IF_ERROR(hooks->on_execute(args));
      DEPUTY_SDK_RETURN_IF_ERROR(hooks->on_run(++hooks->runs));
      for (size_t i = 0; i < in.size(); ++i) out[i] = in[i] > 0 ? in[i] : 0;
      return {};
    }
    sdk::Result<sdk::ResizeOutcome> Resize(const sdk::ResizeArgs&) override {
      ++hooks->resizes;
      DEPUTY_SDK_RETURN_IF_ERROR(hooks->on_resize());
      return sdk::ResizeOutcome::kDone;
    }
    sdk::Status CollectEvents(const sdk::Profiler& profiler) override {
      sdk::ProfileEvent event;
      event.name = "relu";
      profiler.Report(event);
      return {};
    }
    const std::shared_ptr<ReluHooks> hooks;
  };
  struct Compiled final : sdk::Executable {
    explicit Compiled(std::shared_ptr<ReluHooks> given) : hooks(std::move(given)) {}
    sdk::Result<std::unique_ptr<sdk::ExecutionContext>> CreateContext() override {
      DEPUTY_SDK_RETURN_IF_ERROR(hooks->on_context(++hooks->contexts));
      return std::unique_ptr<sdk::ExecutionContext>(std::make_unique<Run>(hooks));
    }
    const std::shared_ptr<ReluHooks> hooks;
  };

  const std::shared_ptr<ReluHooks> hooks_;
};

class ResizingReluDelegate final : public ReluDelegate {
 public:
  static constexpr uint32_t kExtensions = sdk::kResizes | sdk::kProfiles;
  using ReluDelegate::ReluDelegate;
};

}  // namespace deputy
