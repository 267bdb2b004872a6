#include "lowering/lowering.hpp"

#include <omp.h>

#include <algorithm>
#include <utility>

#include "lowering/faults.hpp"

namespace onednn {
namespace {

struct LowerOne {
  const Operation& operation;
  Lowering& lowering;

  void operator()(const Convolution& p) const { LowerConvolution(operation, p, lowering); }
  void operator()(const Matmul& p) const { LowerMatmul(operation, p, lowering); }
  void operator()(const Eltwise& p) const { LowerEltwise(operation, p, lowering); }
  void operator()(const Binary& p) const { LowerBinary(operation, p, lowering); }
  void operator()(const Pool& p) const { LowerPool(operation, p, lowering); }
  void operator()(const LayerNorm& p) const { LowerLayerNorm(operation, p, lowering); }
  void operator()(const Softmax& p) const { LowerSoftmax(operation, p, lowering); }
  void operator()(const Concat& p) const { LowerConcat(operation, p, lowering); }
  void operator()(const Reduction& p) const { LowerReduction(operation, p, lowering); }
  void operator()(const Resample& p) const { LowerResample(operation, p, lowering); }
  void operator()(const Lrn& p) const { LowerLrn(operation, p, lowering); }
  void operator()(const Prelu&) const { LowerPrelu(operation, lowering); }
  void operator()(const Reshape&) const { LowerReshape(operation, lowering); }
  void operator()(const Erf&) const { LowerErf(operation, lowering); }
  void operator()(const Transpose& p) const { LowerTranspose(operation, p, lowering); }
  void operator()(const Slice& p) const { LowerSlice(operation, p, lowering); }
  void operator()(const Quantize& p) const { LowerQuantize(operation, p, lowering); }
  void operator()(const Dequantize& p) const { LowerDequantize(operation, p, lowering); }
  void operator()(const Pad& p) const { LowerPad(operation, p, lowering); }
  void operator()(const Cast&) const { LowerCast(operation, lowering); }
};

// Primitives are made for the number of threads that they will run on.
struct ThreadsWhileLowering {
  ~ThreadsWhileLowering() { omp_set_num_threads(before); }
  int before = omp_get_max_threads();
};

// Work that ends before a second thread has begun: a parallel region takes 1 to 2 microseconds to open.
constexpr int64_t kWorthThreads = 1 << 18;

// Work that takes less time, even in a slow implementation, than a boundary in the middle of a partition.
constexpr int64_t kWorthNoBoundary = 1 << 8;

}  // namespace

Lowering::Lowering(const Program& program, const Origins& origins, const dnnl::engine& engine, ConstantStore& store,
                   int threads)
    : program_(program),
      origins_(origins),
      engine_(engine),
      store_(store),
      threads_(threads),
      slots_(program.value_count()),
      remaining_(program.value_count()),
      destination_(program.value_count(), kNoValue) {
  for (Value value = 0; value < program.value_count(); ++value) remaining_[value] = program.UsesOf(value);
  for (size_t i = 0; i < program.inputs().size(); ++i) {
    const ValueFacts& facts = program.facts(program.inputs()[i]);
    const memory::desc plain = Plain(facts.dims, facts.type);
    Hold(program.inputs()[i], {NewBuffer({Buffer::Storage::kInput, plain.get_size(), i}), plain});
  }
  FindDestinations();
}

// A value of which an output is only a reshape is made in that output.
void Lowering::FindDestinations() {
  for (size_t i = 0; i < program_.outputs().size(); ++i) {
    const Value value = program_.outputs()[i];
    if (program_.ProducerOf(value) != kNoValue) destination_[value] = i;
  }
  const std::vector<Operation>& operations = program_.operations();
  for (size_t i = operations.size(); i-- > 0;) {
    if (operations[i].As<Reshape>() == nullptr) continue;
    const Value whole = operations[i].inputs[0];
    if (program_.ProducerOf(whole) != kNoValue && destination_[whole] == kNoValue)
      destination_[whole] = destination_[operations[i].output];
  }
}

void Lowering::LowerAll() {
  const ThreadsWhileLowering threads;
  for (const Operation& operation : program_.operations()) {
    current_node_ = operation.node;
    step_nodes_ = origins_.NodesOf(operation, program_);
    current_work_ = WorkOf(operation, program_);
    step_threads_ = current_work_ < kWorthThreads ? 1 : threads_;
    omp_set_num_threads(step_threads_);
    std::visit(LowerOne{operation, *this}, operation.parameters);
    for (const Value value : ReadBy(operation)) CountRead(value);
  }
  omp_set_num_threads(step_threads_ = threads_);
  FillOutputs();
}

std::unique_ptr<Executable> Lowering::Run(const sdk::Host& host, Shapes shapes,
                                          std::function<void(deputy_value_id)> release) {
  release_ = std::move(release);
  LowerAll();
  ResolveParts();
  return std::make_unique<Executable>(engine_, std::move(buffers_), std::move(steps_), host, std::move(shapes));
}

Analysis Lowering::Analyze() {
  Analysis analysis;
  analysis_ = &analysis;
  LowerAll();
  analysis_ = nullptr;
  return analysis;
}

void Lowering::FillOutputs() {
  for (size_t i = 0; i < program_.outputs().size(); ++i) {
    const Slot made = Native(program_.outputs()[i]);
    if (buffers_[made.buffer].storage == Buffer::Storage::kOutput && buffers_[made.buffer].index == i) continue;
    const memory::desc plain = Plain(made.desc.dims(), made.desc.data_type());
    const size_t producer = program_.ProducerOf(program_.outputs()[i]);
    step_nodes_.clear();
    if (producer != kNoValue) step_nodes_ = origins_.NodesOf(program_.operations()[producer], program_);
    Copy(made, {NewBuffer({Buffer::Storage::kOutput, plain.get_size(), i}), plain});
  }
}

size_t Lowering::NewBuffer(Buffer buffer) {
  buffers_.push_back(std::move(buffer));
  reads_.push_back(0);
  return buffers_.size() - 1;
}

void Lowering::Hold(Value value, const Slot& slot) {
  if (!IsIn(value, slot.buffer, slots_[value].size())) reads_[slot.buffer] += remaining_[value];
  slots_[value].push_back(slot);
  memory::desc& desc = slots_[value].back().desc;
  if (IsStrided(desc)) desc = WithOrdinaryOnes(desc);
}

bool Lowering::IsIn(Value value, size_t buffer, size_t slots) const {
  const auto first = slots_[value].begin(), end = first + static_cast<std::ptrdiff_t>(slots);
  return std::any_of(first, end, [&](const Slot& slot) { return slot.buffer == buffer; });
}

void Lowering::CountRead(Value value) {
  --remaining_[value];
  for (size_t i = 0; i < slots_[value].size(); ++i)
    if (const size_t buffer = slots_[value][i].buffer; !IsIn(value, buffer, i)) --reads_[buffer];
}

Slot Lowering::Native(Value value) {
  if (slots_[value].empty()) {
    const Constant& constant = *program_.constant(value);
    const memory::desc& plain = constant.desc();
    if (constant.is_of_model())
      Hold(value, {NewBuffer({Buffer::Storage::kConstant, plain.get_size(), 0, constant.data()}), plain});
    else
      Hold(value, FromStore(constant, plain, plain));
  }
  return slots_[value].front();
}

Slot Lowering::As(Value value, const memory::desc& desc) {
  for (const Slot& slot : slots_[value])
    if (SameLayout(slot.desc, desc)) return {slot.buffer, desc, slot.offset};
  const Slot from = Native(value);
  if (SameLayout(from.desc, desc)) return {from.buffer, desc, from.offset};
  const Slot to = Converted(value, from.desc, desc);
  Hold(value, to);
  return to;
}

Slot Lowering::Converted(Value value, const memory::desc& seen, const memory::desc& desc) {
  const Slot native = Native(value);
  if (SameLayout(seen, desc)) return {native.buffer, desc, native.offset};
  if (program_.constant(value) == nullptr) {
    const Slot to = Temporary(desc);
    Copy({native.buffer, seen, native.offset}, to);
    return to;
  }
  return FromStore(*program_.constant(value), seen, desc);
}

Slot Lowering::Made(const Constant& constant, const memory::desc& desc) {
  return FromStore(constant, constant.desc(), desc);
}

Slot Lowering::FromStore(const Constant& constant, const memory::desc& seen, const memory::desc& desc) {
  Buffer buffer{Buffer::Storage::kConstant, desc.get_size()};
  if (analysis_ != nullptr) return {NewBuffer(std::move(buffer)), desc};
  buffer.keep = store_.Converted(constant, seen, desc, engine_);
  buffer.data = buffer.keep->get_data_handle();
  Release(constant);
  return {NewBuffer(std::move(buffer)), desc};
}

void Lowering::Release(const Constant& constant) {
  if (release_ != nullptr && constant.is_of_model()) release_(constant.model_value());
}

Slot Lowering::Dense(Value value) {
  const Slot native = Native(value);
  return IsDense(native.desc) ? native : PlainOf(value);
}

Slot Lowering::PlainOf(Value value) {
  const Slot native = Native(value);
  return As(value, Plain(native.desc.dims(), native.desc.data_type()));
}

bool Lowering::MayOverwrite(const Slot& slot) const {
  return buffers_[slot.buffer].storage == Buffer::Storage::kTemporary && reads_[slot.buffer] == 1;
}

Slot Lowering::Result(Value value, const memory::desc& desc) {
  const size_t output = destination_[value];
  const bool direct = output != kNoValue && IsPlain(desc);
  const Slot slot =
      direct ? Slot{NewBuffer({Buffer::Storage::kOutput, desc.get_size(), output}), desc} : Temporary(desc);
  Hold(value, slot);
  return slot;
}

Slot Lowering::ResultOver(Value value, const memory::desc& desc, const Slot& operand) {
  const bool direct = GoesOut(value) && IsPlain(desc);
  if (direct || !SameLayout(operand.desc, desc) || !MayOverwrite(operand)) return Result(value, desc);
  const Slot slot{operand.buffer, desc, operand.offset};
  Hold(value, slot);
  return slot;
}

void Lowering::Alias(Value value, const Slot& slot) { Hold(value, slot); }

bool Lowering::PlaceInside(const Slot& part, const Slot& whole, size_t offset) {
  if (!MayOverwrite(part) || part.offset != 0 || part.desc.get_size() != buffers_[part.buffer].bytes) return false;
  buffers_[part.buffer].whole = whole.buffer;
  buffers_[part.buffer].offset = whole.offset + offset;
  return true;
}

// Steps then use the whole buffers alone.
void Lowering::ResolveParts() {
  for (Step& step : steps_)
    for (auto& [argument, slot] : step.arguments)
      for (; buffers_[slot.buffer].whole; slot.buffer = *buffers_[slot.buffer].whole)
        slot.offset += buffers_[slot.buffer].offset;
}

Slot Lowering::Temporary(const memory::desc& desc) {
  return {NewBuffer({Buffer::Storage::kTemporary, desc.get_size()}), desc};
}

void Lowering::Note(std::string_view implementation, Value reader_of) {
  ++analysis_->steps;
  // For layer normalization the simple implementation is the only one, and fast.
  if (IsReference(implementation) && implementation != "simple_layer_normalization:any") NoteSlow(reader_of);
}

void Lowering::NoteSlow(Value reader_of) {
  if (analysis_ == nullptr || current_work_ <= kWorthNoBoundary) return;
  for (const deputy_node_id node : step_nodes_)
    if (reader_of == kNoValue || origins_.Reads(node, reader_of)) analysis_->slow.insert(node);
}

void Lowering::Add(Step step) {
  step.nodes = step_nodes_;
  steps_.push_back(std::move(step));
}

void Lowering::EmitFunction(const char* name, std::vector<Slot> slots,
                            std::function<void(const std::vector<char*>&)> function) {
  if (analysis_ != nullptr) return Note("", kNoValue);
  Arguments arguments;
  for (Slot& slot : slots) arguments.emplace_back(0, std::move(slot));
  Add({dnnl::primitive(), std::move(arguments), std::move(function), step_threads_, name});
}

void Lowering::Copy(const Slot& from, const Slot& to) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::reorder::primitive_desc chosen(engine_, from.desc, engine_, to.desc, attributes);
  Emit<dnnl::reorder>(chosen, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

}  // namespace onednn
