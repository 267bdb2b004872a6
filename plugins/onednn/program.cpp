#include "program.hpp"

#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

namespace onednn {

namespace {

constexpr size_t kAlignment = 64;

size_t Padded(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

// A session's memory objects. Inputs and outputs get their addresses in each run; the rest is fixed.
class ProgramContext final : public sdk::ExecutionContext {
 public:
  explicit ProgramContext(const Program& program)
      : program_(program), stream_(program.engine_), arena_(Allocate(program.arena_bytes_), &std::free) {
    for (const SlotPlan& slot : program.slots_) {
      void* data = slot.data;
      if (slot.home == SlotPlan::Home::kTemporary) data = static_cast<char*>(arena_.get()) + slot.index;
      memories_.emplace_back(slot.desc, program.engine_, data);
    }
    for (const Step& step : program.steps_) {
      std::unordered_map<int, memory> arguments;
      for (const auto& [argument, slot] : step.arguments) arguments.emplace(argument, memories_[slot]);
      arguments_.push_back(std::move(arguments));
    }
  }

  sdk::Status Execute(const sdk::RunArgs& args) override {
    if (program_.threads_ > 0) omp_set_num_threads(program_.threads_);
    for (size_t i = 0; i < memories_.size(); ++i) {
      const SlotPlan& slot = program_.slots_[i];
      if (slot.home == SlotPlan::Home::kInput) memories_[i].set_data_handle(args.input(slot.index).data());
      if (slot.home == SlotPlan::Home::kOutput) memories_[i].set_data_handle(args.output(slot.index).data());
    }
    for (size_t i = 0; i < arguments_.size(); ++i) program_.steps_[i].primitive.execute(stream_, arguments_[i]);
    stream_.wait();
    return {};
  }

 private:
  static void* Allocate(size_t bytes) {
    void* data = std::aligned_alloc(kAlignment, Padded(bytes) + kAlignment);
    if (data == nullptr) throw std::bad_alloc();
    return data;
  }

  const Program& program_;
  dnnl::stream stream_;
  std::unique_ptr<void, void (*)(void*)> arena_;
  std::vector<memory> memories_;
  std::vector<std::unordered_map<int, memory>> arguments_;
};

memory::dims ToDims(sdk::Span<const int64_t> dims) {
  if (dims.empty()) return {1};
  return memory::dims(dims.begin(), dims.end());
}

memory::desc PlainDesc(const memory::dims& dims) {
  memory::dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return memory::desc(dims, memory::data_type::f32, strides);
}

sdk::Result<std::unique_ptr<sdk::ExecutionContext>> Program::CreateContext() {
  return std::unique_ptr<sdk::ExecutionContext>(std::make_unique<ProgramContext>(*this));
}

ProgramBuilder::ProgramBuilder(const sdk::PartitionView& partition, const dnnl::engine& engine, int threads)
    : partition_(partition), program_(std::make_unique<Program>(engine, threads)) {
  for (size_t i = 0; i < partition.inputs().size(); ++i) {
    const sdk::ValueView& value = partition.inputs()[i];
    slot_of_[value.id()] = NewSlot({SlotPlan::Home::kInput, PlainDesc(ToDims(value.dims())), i});
  }
}

Slot ProgramBuilder::NewSlot(SlotPlan plan) {
  program_->slots_.push_back(std::move(plan));
  return program_->slots_.size() - 1;
}

Slot ProgramBuilder::Temporary(const memory::desc& desc) {
  const Slot slot = NewSlot({SlotPlan::Home::kTemporary, desc, program_->arena_bytes_});
  program_->arena_bytes_ += Padded(desc.get_size());
  return slot;
}

Slot ProgramBuilder::Find(const sdk::ValueView& value) {
  const auto found = slot_of_.find(value.id());
  if (found != slot_of_.end()) return found->second;
  // The model owns constants for its whole life and nobody writes them.
  SlotPlan plan{SlotPlan::Home::kConstant, PlainDesc(ToDims(value.dims()))};
  plan.data = const_cast<void*>(value.constant());
  return slot_of_[value.id()] = NewSlot(std::move(plan));
}

Slot ProgramBuilder::Constant(const memory::dims& dims, const std::vector<float>& values) {
  memory owned(PlainDesc(dims), engine());
  std::memcpy(owned.get_data_handle(), values.data(), values.size() * sizeof(float));
  program_->constants_.push_back(owned);
  SlotPlan plan{SlotPlan::Home::kConstant, owned.get_desc()};
  plan.data = owned.get_data_handle();
  return NewSlot(std::move(plan));
}

Slot ProgramBuilder::Reordered(Slot slot, const memory::desc& desc) {
  if (DescOf(slot) == desc) return slot;
  const SlotPlan from = program_->slots_[slot];
  const dnnl::reorder reorder(dnnl::reorder::primitive_desc(engine(), from.desc, engine(), desc));
  if (from.home == SlotPlan::Home::kConstant) {
    memory source(from.desc, engine(), from.data), target(desc, engine());
    dnnl::stream stream(engine());
    reorder.execute(stream, {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, target}});
    stream.wait();
    program_->constants_.push_back(target);
    SlotPlan plan{SlotPlan::Home::kConstant, desc};
    plan.data = target.get_data_handle();
    return NewSlot(std::move(plan));
  }
  const Slot target = Temporary(desc);
  Add(reorder, {{DNNL_ARG_FROM, slot}, {DNNL_ARG_TO, target}});
  return target;
}

Slot ProgramBuilder::Viewed(Slot slot, const memory::desc& desc) {
  if (DescOf(slot) == desc) return slot;
  SlotPlan plan = program_->slots_[slot];
  plan.desc = desc;
  return NewSlot(std::move(plan));
}

Slot ProgramBuilder::Reshaped(Slot slot, const memory::dims& dims) {
  if (DescOf(slot).dims() == dims) return slot;
  return Viewed(Reordered(slot, PlainDesc(DescOf(slot).dims())), PlainDesc(dims));
}

Slot ProgramBuilder::Result(const sdk::ValueView& value, const memory::desc& desc) {
  const std::vector<sdk::ValueView>& outputs = partition_.outputs();
  const auto output = std::find_if(outputs.begin(), outputs.end(),
                                   [&](const sdk::ValueView& other) { return other.id() == value.id(); });
  const bool leaves = output != outputs.end() && desc == PlainDesc(desc.dims());
  const Slot slot = leaves ? NewSlot({SlotPlan::Home::kOutput, desc, static_cast<size_t>(output - outputs.begin())})
                           : Temporary(desc);
  return slot_of_[value.id()] = slot;
}

void ProgramBuilder::Add(dnnl::primitive primitive, std::vector<std::pair<int, Slot>> arguments) {
  program_->steps_.push_back({std::move(primitive), std::move(arguments)});
}

std::unique_ptr<Program> ProgramBuilder::Finish() {
  for (size_t i = 0; i < partition_.outputs().size(); ++i) {
    const Slot made = slot_of_.at(partition_.outputs()[i].id());
    if (program_->slots_[made].home == SlotPlan::Home::kOutput) continue;
    const memory::desc plain = PlainDesc(DescOf(made).dims());
    const Slot target = NewSlot({SlotPlan::Home::kOutput, plain, i});
    Add(dnnl::reorder(dnnl::reorder::primitive_desc(engine(), DescOf(made), engine(), plain)),
        {{DNNL_ARG_FROM, made}, {DNNL_ARG_TO, target}});
  }
  return std::move(program_);
}

}  // namespace onednn
