// State of one run that a later one still sees.
#include <cstring>

#include "liars.hpp"

namespace liars {
namespace {

// Binds its command buffer to the inputs of the first run.
struct FirstInputPointer final : Fault {
  Tensor Read(Session& session, const sdk::RunArgs& args, size_t index) override {
    std::vector<void*>& kept = session.state.pointers;
    if (kept.size() <= index) kept.resize(index + 1, args.input(index).data());
    const sdk::TensorView tensor = args.input(index);
    const Dims dims(tensor.dims().begin(), tensor.dims().end());
    return reference::Decode(static_cast<deputy_dtype>(tensor.dtype()), dims, static_cast<const uint8_t*>(kept[index]));
  }
};

// Binds its command buffer to the outputs of the first run.
struct FirstOutputPointer final : Fault {
  Status Write(Session& session, const sdk::RunArgs& args, size_t index, const Tensor& value) override {
    if (!args.output(index).shape_known()) return Fault::Write(session, args, index, value);
    std::vector<void*>& kept = session.state.pointers;
    if (kept.size() <= index) kept.resize(index + 1, nullptr);
    if (kept[index] == nullptr) kept[index] = args.output(index).data();
    return WriteOutputTo(args, kept[index], value);
  }
};

// Packs the weights once per context, also those that are an input of the model.
struct FirstWeights final : Fault {
  Tensors Compute(Session& session, const Step& step, const Inputs& inputs) override {
    if (!IsOneOf(step.node.op_type, {"Conv", "Gemm", "MatMul"})) return Fault::Compute(session, step, inputs);
    const auto kept = session.state.values.emplace(step.inputs[1], *inputs[1]).first;
    if (kept->second.dims != inputs[1]->dims) kept->second = *inputs[1];
    Inputs operands = inputs;
    operands[1] = &kept->second;
    return reference::Compute(step.node, operands);
  }
};

// By operator and shapes, and not by their values.
struct WeightsByShape final : PackedWeights {
  std::string KeyOf(const Tensor&) const override { return ""; }
};

// Accumulators that are cleared when a context is made.
struct Accumulates final : Fault {
  Tensors Compute(Session& session, const Step& step, const Inputs& inputs) override {
    Tensors made = Fault::Compute(session, step, inputs);
    if (!IsOneOf(step.node.op_type, {"Conv", "Gemm", "MatMul", "ReduceSum"})) return made;
    Tensor& kept = session.state.values[step.outputs[0]];
    if (kept.dims == made[0].dims && kept.dtype == made[0].dtype && kept.count() != 0)
      for (int64_t i = 0; i < kept.count(); ++i) made[0].Put(i, made[0].Get(i) + kept.Get(i));
    kept = made[0];
    return made;
  }
};

// A context does not upload an input again that is as in its last run; but all contexts share the executable's buffers.
struct SharedBuffers final : Fault {
  Tensor Read(Session& session, const sdk::RunArgs& args, size_t index) override {
    Tensor given = ReadInput(args, index);
    const deputy_value_id id = session.program().inputs[index];
    const auto last = session.state.values.find(id);
    const bool unchanged =
        last != session.state.values.end() && last->second.real == given.real && last->second.whole == given.whole;
    Program::Shared& shared = *session.program().shared;
    const std::lock_guard<std::mutex> lock(shared.mutex);
    Tensor& buffer = shared.values[id];
    if (!unchanged || buffer.dims != given.dims) buffer = given;
    session.state.values[id] = std::move(given);
    return buffer;
  }
};

// The plan for the shapes of compile is not made again, so that the strides of the last shapes stay.
struct PlanAfterResize final : Fault {
  void Resize(Session& session, const sdk::ResizeArgs& args) override {
    std::vector<Dims> wanted;
    bool compiled = true;
    for (size_t i = 0; i < args.input_count(); ++i) {
      wanted.emplace_back(args.input(i).dims().begin(), args.input(i).dims().end());
      const auto known = session.program().dims.find(session.program().inputs[i]);
      compiled = compiled && known != session.program().dims.end() && known->second == wanted.back();
    }
    if (!compiled) session.state.dims = std::move(wanted);
  }
  Tensors Compute(Session& session, const Step& step, const Inputs& inputs) override {
    Tensors made = Fault::Compute(session, step, inputs);
    if (session.state.flag) PutOff(made);
    return made;
  }
  Status Run(Session& session, const sdk::RunArgs& args) override {
    const std::vector<Dims>& planned = session.state.dims;
    session.state.flag = false;
    for (size_t i = 0; i < planned.size() && i < args.input_count(); ++i) {
      const Dims dims(args.input(i).dims().begin(), args.input(i).dims().end());
      session.state.flag = session.state.flag || dims != planned[i];
    }
    return Fault::Run(session, args);
  }
};

// A race inside the device shows in one of several runs.
struct SometimesOff final : Fault {
  std::atomic<uint64_t> runs{0};
  Tensors Compute(Session& session, const Step& step, const Inputs& inputs) override {
    Tensors made = Fault::Compute(session, step, inputs);
    const uint64_t drawn = (runs++ * 6364136223846793005u + 1442695040888963407u) >> 33;
    if (drawn % 7 == 3) PutOff(made);
    return made;
  }
};

// Copies results in tiles, and a run begins at the tile at which the last one was ended.
struct ResumesAtTile final : Fault {
  static constexpr size_t kTile = 65536;
  Status Write(Session& session, const sdk::RunArgs& args, size_t index, const Tensor& value) override {
    if (!args.output(index).shape_known()) return Fault::Write(session, args, index, value);
    const std::vector<uint8_t> bytes = reference::Encode(value);
    size_t& at = session.state.position;
    for (; at < bytes.size(); at += kTile) {
      if (args.cancelled()) return Status(Code::kCancelled, "the run was cancelled");
      if (args.deadline_ns() != 0 && session.host().clock_ns() > args.deadline_ns())
        return Status(Code::kDeadlineExceeded, "the run took too long");
      std::memcpy(static_cast<uint8_t*>(args.output(index).data()) + at, bytes.data() + at,
                  std::min(kTile, bytes.size() - at));
    }
    at = 0;
    return {};
  }
};

}  // namespace

FaultRows StateFaults() {
  return {Of<FirstInputPointer>("first-input-pointer"),
          Of<FirstOutputPointer>("first-output-pointer"),
          Of<FirstWeights>("first-weights"),
          Of<WeightsByShape>("weights-by-shape"),
          Of<Accumulates>("accumulates"),
          Of<SharedBuffers>("shared-buffers"),
          Of<PlanAfterResize>("plan-after-resize"),
          Of<SometimesOff>("sometimes-off"),
          Of<ResumesAtTile>("resumes-at-tile")};
}

}  // namespace liars
