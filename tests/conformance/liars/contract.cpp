// Promises of the ABI that are not kept.
#include <cstring>

#include "liars.hpp"

namespace liars {
namespace {

// delegate.cpp gives a plugin with this fault other tables.
struct FlagsIgnored final : Fault {};

// The size of the scratch memory was counted before the rows were aligned.
struct ScratchBehindTheEnd final : Fault {
  Status Run(Session& session, const sdk::RunArgs& args) override {
    const sdk::Span<unsigned char> scratch = args.scratch();
    volatile unsigned char* to = scratch.data();
    for (size_t i = 0; to != nullptr && i < scratch.size() + 64; ++i) to[i] = 0;
    return Fault::Run(session, args);
  }
};

// Packs a table into the scratch memory in the first run, and reads it there in all.
struct ScratchOfLastRun final : Fault {
  Status Run(Session& session, const sdk::RunArgs& args) override {
    const sdk::Span<unsigned char> scratch = args.scratch();
    session.state.flag = false;
    for (size_t i = 0; i < 16 && i < scratch.size(); ++i) {
      const auto wanted = static_cast<unsigned char>(i * 7 + 1);
      if (session.state.runs == 0) scratch.data()[i] = wanted;
      session.state.flag = session.state.flag || scratch.data()[i] != wanted;
    }
    DEPUTY_SDK_RETURN_IF_ERROR(Fault::Run(session, args));
    for (size_t i = 0; i < 16 && i < scratch.size(); ++i) scratch.data()[i] = static_cast<unsigned char>(i * 7 + 1);
    return {};
  }
  Tensors Compute(Session& session, const Step& step, const Inputs& inputs) override {
    Tensors made = Fault::Compute(session, step, inputs);
    if (session.state.flag) PutOff(made);
    return made;
  }
};

// The flag of a cancellation is read when a run begins, and no number of a run is kept with it.
struct CancelsTheNextRun final : Fault {
  bool NoticesCancel() const override { return false; }
  void Cancel(Session& session) override { session.state.cancelled = true; }
  Status Run(Session& session, const sdk::RunArgs& args) override {
    if (session.state.cancelled.exchange(false)) return Status(Code::kCancelled, "the run was cancelled");
    return Fault::Run(session, args);
  }
};

// set_option succeeds, and the value of open stays in force.
struct OptionWithoutEffect final : Fault {
  std::string tile;
  void Open(const sdk::OptionValues& options) override { tile = options.Text("tile"); }
  std::string OptionInForce(const std::string& name, std::string value) override {
    return name == "tile" ? tile : value;
  }
};

// The last instance that was opened decides for all.
struct GlobalOption final : Fault {
  struct Driver {
    std::mutex mutex;
    std::string tile;
  };
  static Driver& Shared() {
    static Driver driver;
    return driver;
  }
  void Open(const sdk::OptionValues& options) override {
    const std::lock_guard<std::mutex> lock(Shared().mutex);
    Shared().tile = options.Text("tile");
  }
  std::string OptionInForce(const std::string& name, std::string value) override {
    const std::lock_guard<std::mutex> lock(Shared().mutex);
    return name == "tile" ? Shared().tile : value;
  }
};

// Packs constants in blocks of 64 bytes, and reads the last block whole.
struct ConstantBehindTheEnd final : Fault {
  Status Compile(const sdk::PartitionView&, Program& program) override {
    volatile unsigned char sum = 0;
    for (size_t i = 0; i < program.constant_data.size(); ++i) {
      const auto* from = static_cast<const volatile unsigned char*>(program.constant_data[i]);
      for (size_t at = 0; from != nullptr && at < (program.constant_bytes[i] + 63) / 64 * 64; ++at)
        sum = static_cast<unsigned char>(sum + from[at]);
    }
    return {};
  }
};

// Asks about the graph of compile when the executable runs first.
struct GraphKept final : Fault {
  std::mutex mutex;
  const deputy_graph* kept = nullptr;
  Status Compile(const sdk::PartitionView& partition, Program&) override {
    const std::lock_guard<std::mutex> lock(mutex);
    kept = partition.graph().handle();
    return {};
  }
  Status Run(Session& session, const sdk::RunArgs& args) override {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      const deputy_host* host = session.host().table();
      if (kept != nullptr) static_cast<void>(host->graph_node_count(host->self, kept));
      kept = nullptr;
    }
    return Fault::Run(session, args);
  }
};

// Activations are computed in place and copied.
struct WritesInput final : Fault {
  Status Run(Session& session, const sdk::RunArgs& args) override {
    DEPUTY_SDK_RETURN_IF_ERROR(Fault::Run(session, args));
    const Program& program = session.program();
    for (const Step& step : program.steps)
      for (size_t i = 0; i < args.input_count(); ++i) {
        const sdk::TensorView input = args.input(i), output = args.output(0);
        if (!IsOneOf(step.node.op_type, {"Relu", "Sigmoid", "Tanh"}) || step.inputs[0] != program.inputs[i]) continue;
        if (output.data() != nullptr && step.outputs[0] == program.outputs[0] &&
            input.byte_size() == output.byte_size())
          std::memcpy(input.data(), output.data(), output.byte_size());
      }
    return {};
  }
};

// A run holds the lock of the queue, which cancel takes.
struct CancelWaits final : Fault {
  std::mutex queue;
  void Cancel(Session&) override { const std::lock_guard<std::mutex> lock(queue); }
  Status Run(Session& session, const sdk::RunArgs& args) override {
    const std::lock_guard<std::mutex> lock(queue);
    session.host().ParallelFor(8, 1, [](int64_t, int64_t) {});
    return Fault::Run(session, args);
  }
};

}  // namespace

FaultRows ContractFaults() {
  return {Of<FlagsIgnored>("flags-ignored"),
          Of<ScratchBehindTheEnd>("scratch-behind-the-end"),
          Of<ScratchOfLastRun>("scratch-of-last-run"),
          Of<CancelsTheNextRun>("cancels-the-next-run"),
          Of<OptionWithoutEffect>("option-without-effect"),
          Of<GlobalOption>("global-option"),
          Of<ConstantBehindTheEnd>("constant-behind-the-end"),
          Of<GraphKept>("graph-kept"),
          Of<WritesInput>("writes-input"),
          Of<CancelWaits>("cancel-waits")};
}

}  // namespace liars
