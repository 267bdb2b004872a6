// What instances, devices and threads share that should be their own.
#include <algorithm>
#include <string>

#include "liars.hpp"

namespace liars {
namespace {

// Contexts of an executable stage their results in one buffer, which each copies at once.
struct StagingOfExecutable final : Fault {
  Status Write(Session& session, const sdk::RunArgs& args, size_t index, const Tensor& value) override {
    if (!args.output(index).shape_known()) return Fault::Write(session, args, index, value);
    constexpr int64_t kPiece = 16;
    Program::Shared& shared = *session.program().shared;
    const deputy_value_id id = session.program().outputs[index];
    const std::vector<uint8_t> bytes = reference::Encode(value);
    {
      const std::lock_guard<std::mutex> lock(shared.mutex);
      shared.values[id] = value;
    }
    auto* to = static_cast<uint8_t*>(args.output(index).data());
    for (size_t at = 0; at < bytes.size(); at += kPiece) {
      std::vector<uint8_t> staged;
      {
        const std::lock_guard<std::mutex> lock(shared.mutex);
        staged = reference::Encode(shared.values[id]);
      }
      const size_t size = std::min<size_t>(kPiece, bytes.size() - at);
      if (staged.size() == bytes.size())
        std::copy_n(staged.begin() + static_cast<ptrdiff_t>(at), size, to + at);
      else
        std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(at), size, to + at);
    }
    return {};
  }
};

// The kernels of the second device are built for the first one.
struct SecondDevice final : Fault {
  bool second = false;
  void OpenDevice(const std::string& id) override { second = id == kSecondDevice; }
  Tensors Compute(Session& session, const Step& step, const Inputs& inputs) override {
    Tensors made = Fault::Compute(session, step, inputs);
    if (second) PutOff(made);
    return made;
  }
};

// The device that was opened last computes, and the other one has none of the inputs.
struct LastDevice final : Fault {
  static std::atomic<uint64_t>& Opened() {
    static std::atomic<uint64_t> opened{0};
    return opened;
  }
  uint64_t own = 0;
  bool second = false;
  void OpenDevice(const std::string& id) override {
    second = id == kSecondDevice;
    if (second) own = ++Opened();
  }
  ~LastDevice() override {
    if (second) --Opened();
  }
  Tensors Compute(Session& session, const Step& step, const Inputs& inputs) override {
    Tensors made = Fault::Compute(session, step, inputs);
    if (!second && Opened() != 0) PutOff(made);
    return made;
  }
};

// What is compiled after another device was opened is loaded onto that one, and each finds its own alone.
struct CompilesForLast final : Fault {
  static std::atomic<const CompilesForLast*>& Current() {
    static std::atomic<const CompilesForLast*> current{nullptr};
    return current;
  }
  bool second = false;
  std::mutex mutex;
  std::vector<const Program*> elsewhere;
  void OpenDevice(const std::string& id) override {
    second = id == kSecondDevice;
    Current() = this;
  }
  ~CompilesForLast() override {
    if (Current() == this) Current() = nullptr;
  }
  Status Compile(const sdk::PartitionView&, Program& program) override {
    const CompilesForLast* current = Current();
    const std::lock_guard<std::mutex> lock(mutex);
    elsewhere.erase(std::remove(elsewhere.begin(), elsewhere.end(), &program), elsewhere.end());
    if (current != nullptr && current->second != second) elsewhere.push_back(&program);
    return {};
  }
  Tensors Compute(Session& session, const Step& step, const Inputs& inputs) override {
    Tensors made = Fault::Compute(session, step, inputs);
    const std::lock_guard<std::mutex> lock(mutex);
    if (std::count(elsewhere.begin(), elsewhere.end(), &session.program()) != 0) PutOff(made);
    return made;
  }
};

// The type of the node under question is in one place for all instances.
struct OneQuestion final : Fault {
  struct Asked {
    std::mutex mutex;
    std::string op_type;
  };
  static Asked& Shared() {
    static Asked asked;
    return asked;
  }
  sdk::Verdict Answer(const sdk::NodeView& node, sdk::Verdict honest) override {
    {
      const std::lock_guard<std::mutex> lock(Shared().mutex);
      Shared().op_type = std::string(node.op_type());
    }
    static_cast<void>(node.output(0).dtype());
    const std::lock_guard<std::mutex> lock(Shared().mutex);
    return Shared().op_type == node.op_type() ? honest : sdk::Verdict::No(sdk::Reason::kOperatorUnknown);
  }
};

// A compilation begins with a new list of commands, which is that of the process.
struct OneCompilation final : Fault {
  static std::atomic<uint64_t>& Number() {
    static std::atomic<uint64_t> number{0};
    return number;
  }
  Status Compile(const sdk::PartitionView& partition, Program& program) override {
    const uint64_t own = ++Number();
    static_cast<void>(partition.graph().node_count());
    if (Number() != own) program.steps.back().node.output_count = 0;  // marked
    return {};
  }
  Tensors Compute(Session& session, const Step& step, const Inputs& inputs) override {
    if (step.node.output_count != 0) return Fault::Compute(session, step, inputs);
    Step right = step;
    right.node.output_count = right.outputs.size();
    Tensors made = Fault::Compute(session, right, inputs);
    PutOff(made);
    return made;
  }
};

// The plan of a tile of the other size is kept for what is compiled after set_option.
struct WrongAfterSet final : Fault {
  std::atomic<bool> set{false};
  std::mutex mutex;
  std::vector<const Program*> compiled;
  void Set() override { set = true; }
  Status Compile(const sdk::PartitionView&, Program& program) override {
    const std::lock_guard<std::mutex> lock(mutex);
    compiled.erase(std::remove(compiled.begin(), compiled.end(), &program), compiled.end());
    if (set) compiled.push_back(&program);
    return {};
  }
  Tensors Compute(Session& session, const Step& step, const Inputs& inputs) override {
    Tensors made = Fault::Compute(session, step, inputs);
    const std::lock_guard<std::mutex> lock(mutex);
    if (std::count(compiled.begin(), compiled.end(), &session.program()) != 0) PutOff(made);
    return made;
  }
};

// Tiles of the largest size leave out the last row.
struct WrongWithLargeTiles final : Fault {
  bool large = false;
  void Open(const sdk::OptionValues& options) override { large = options.Int("tile") > 32; }
  Tensors Compute(Session& session, const Step& step, const Inputs& inputs) override {
    Tensors made = Fault::Compute(session, step, inputs);
    if (large) PutOff(made);
    return made;
  }
};

// delegate.cpp reads 32 bytes of each option for a plugin with this fault.
struct OptionBehindTheEnd final : Fault {};

}  // namespace

FaultRows SharedFaults() {
  return {Of<StagingOfExecutable>("staging-of-executable"),
          Of<SecondDevice>("second-device"),
          Of<LastDevice>("last-device"),
          Of<CompilesForLast>("compiles-for-last"),
          Of<OneQuestion>("one-question"),
          Of<OneCompilation>("one-compilation"),
          Of<WrongAfterSet>("wrong-after-set"),
          Of<WrongWithLargeTiles>("wrong-with-large-tiles"),
          Of<OptionBehindTheEnd>("option-behind-the-end")};
}

}  // namespace liars
