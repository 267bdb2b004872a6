// What calls that overlap share. The races are between atomic steps, so that the plugin itself is well defined.
#include <fenv.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "liars.hpp"

namespace liars {
namespace {

void WaitForDevice() { std::this_thread::sleep_for(std::chrono::microseconds(100)); }

// One intermediate buffer for the whole process.
struct StaticScratch final : Fault {
  struct Buffer {
    std::mutex mutex;
    Tensor value;
  };
  static Buffer& Shared() {
    static Buffer buffer;
    return buffer;
  }
  Tensors Compute(Session& session, const Step& step, const Inputs& inputs) override {
    if (inputs.empty() || inputs[0] == nullptr) return Fault::Compute(session, step, inputs);
    Store(*inputs[0]);
    WaitForDevice();
    Inputs operands = inputs;
    const Tensor stored = Load();
    if (stored.dims == inputs[0]->dims && stored.dtype == inputs[0]->dtype) operands[0] = &stored;
    return reference::Compute(step.node, operands);
  }
  static void Store(const Tensor& value) {
    const std::lock_guard<std::mutex> lock(Shared().mutex);
    Shared().value = value;
  }
  static Tensor Load() {
    const std::lock_guard<std::mutex> lock(Shared().mutex);
    return Shared().value;
  }
};

// One driver handle: compile resets it under a run.
struct CompileResetsDriver final : Fault {
  static std::atomic<uint64_t>& Resets() {
    static std::atomic<uint64_t> resets{0};
    return resets;
  }
  Status Compile(const sdk::PartitionView&, Program&) override {
    ++Resets();
    return {};
  }
  Tensors Compute(Session& session, const Step& step, const Inputs& inputs) override {
    const uint64_t before = Resets();
    WaitForDevice();
    Tensors made = Fault::Compute(session, step, inputs);
    if (Resets() != before) PutOff(made);
    return made;
  }
};

// Says that its tables are ready before they are: the first run of an executable makes them.
struct LazyTables final : Fault {
  struct Tables {
    std::atomic<bool> begun{false}, filled{false};
  };
  std::mutex mutex;
  std::map<const Program*, std::shared_ptr<Tables>> all;

  std::shared_ptr<Tables> TablesOf(const Program& program) {
    const std::lock_guard<std::mutex> lock(mutex);
    std::shared_ptr<Tables>& tables = all[&program];
    if (tables == nullptr) tables = std::make_shared<Tables>();
    return tables;
  }
  Status Compile(const sdk::PartitionView&, Program& program) override {
    const std::lock_guard<std::mutex> lock(mutex);
    all.erase(&program);
    return {};
  }
  Tensors Compute(Session& session, const Step& step, const Inputs& inputs) override {
    const std::shared_ptr<Tables> tables = TablesOf(session.program());
    if (!tables->begun.exchange(true)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      tables->filled = true;
    }
    Tensors made = Fault::Compute(session, step, inputs);
    if (!tables->filled) PutOff(made);
    return made;
  }
};

// A job over the host's threads whose ranges share one staging buffer, whatever their worker.
struct WorkersShareScratch final : Fault {
  Status Write(Session& session, const sdk::RunArgs& args, size_t index, const Tensor& value) override {
    if (!args.output(index).shape_known() || value.count() < 2) return Fault::Write(session, args, index, value);
    const std::vector<uint8_t> bytes = reference::Encode(value);
    if (bytes.size() != args.output(index).byte_size()) return Status(Code::kInternal, "the output has another size");
    auto* to = static_cast<uint8_t*>(args.output(index).data());
    std::atomic<int64_t> staged{0};
    session.host().ParallelFor(static_cast<int64_t>(bytes.size()), 1, [&](int64_t begin, int64_t end) {
      staged = begin;
      WaitForDevice();
      // Its own range, or the beginning of that of another worker.
      const int64_t from = staged + (end - begin) <= static_cast<int64_t>(bytes.size()) ? staged.load() : begin;
      std::memcpy(to + begin, bytes.data() + from, static_cast<size_t>(end - begin));
    });
    return {};
  }
};

// Kernels run with another rounding, which is restored on the calling thread alone.
struct RoundingOfThreads final : Fault {
  Status Run(Session& session, const sdk::RunArgs& args) override {
    const int before = fegetround();
    session.host().ParallelFor(64, 1, [](int64_t, int64_t) { fesetround(FE_TOWARDZERO); });
    fesetround(before);
    return Fault::Run(session, args);
  }
};

}  // namespace

FaultRows ThreadFaults() {
  return {Of<RoundingOfThreads>("rounding-of-threads"), Of<StaticScratch>("static-scratch"),
          Of<CompileResetsDriver>("compile-resets-driver"), Of<LazyTables>("lazy-tables"),
          Of<WorkersShareScratch>("workers-share-scratch")};
}

}  // namespace liars
