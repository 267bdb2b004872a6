// The delegate without a fault, and the plugin's tables.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "liars.hpp"

namespace liars {
namespace {

Node NodeOf(const sdk::NodeView& view) {
  Node node;
  node.op_type = std::string(view.op_type());
  node.since_version = view.since_version();
  node.output_count = view.output_count();
  const auto* attributes = view.primitive()->attributes();
  for (size_t i = 0; attributes != nullptr && i < attributes->size(); ++i) {
    const deputy::schema::Attribute* one = attributes->Get(static_cast<flatbuffers::uoffset_t>(i));
    reference::Attribute made;
    made.type = static_cast<deputy_attribute_type>(one->type());
    made.i = one->i();
    made.f = one->f();
    if (one->s() != nullptr) made.s = one->s()->str();
    if (one->ints() != nullptr) made.ints.assign(one->ints()->begin(), one->ints()->end());
    if (one->floats() != nullptr) made.floats.assign(one->floats()->begin(), one->floats()->end());
    for (size_t j = 0; one->strings() != nullptr && j < one->strings()->size(); ++j)
      made.strings.push_back(one->strings()->Get(static_cast<flatbuffers::uoffset_t>(j))->value()->str());
    if (const deputy::schema::TensorData* tensor = one->tensor(); tensor != nullptr) {
      const Dims dims(tensor->dims()->begin(), tensor->dims()->end());
      made.tensor = reference::Decode(static_cast<deputy_dtype>(tensor->dtype()), dims, tensor->data()->data());
    }
    node.attributes[one->name()->str()] = std::move(made);
  }
  return node;
}

class CompiledProgram final : public sdk::Executable {
 public:
  CompiledProgram(std::shared_ptr<const Program> program, std::shared_ptr<Fault> fault, sdk::Host host)
      : program_(std::move(program)), fault_(std::move(fault)), host_(host) {}
  sdk::Result<std::unique_ptr<sdk::ExecutionContext>> CreateContext() override {
    return std::make_unique<Session>(program_, fault_, host_);
  }

 private:
  std::shared_ptr<const Program> program_;
  std::shared_ptr<Fault> fault_;
  sdk::Host host_;
};

class Liars final : public sdk::PartitionDelegate {
 public:
  static constexpr uint32_t kFlags = DEPUTY_DELEGATE_DYNAMIC_SHAPES;
  static constexpr uint32_t kExtensions = sdk::kResizes;

  static sdk::OptionSchema Options() {
    return sdk::OptionSchema()
        .String("fault", "", "the one thing in which it is wrong; none when empty")
        .Int("tile", 8, 1, 64, "rows of a tile; results do not depend on it")
        .Settable();
  }

  // Two cards of one kind.
  static sdk::Result<std::vector<sdk::DeviceDescription>> Devices(const sdk::Host&) {
    std::vector<sdk::DeviceDescription> devices(2);
    devices[0].id = "pci-1";
    devices[1].id = kSecondDevice;
    for (sdk::DeviceDescription& device : devices) device.name = "liar card";
    return devices;
  }

  Status Init() override {
    const std::string wanted(options().String("fault"));
    fault_ = wanted.empty() ? std::make_shared<Fault>() : nullptr;
    for (const auto& rows :
         {PrecisionFaults(), SizeFaults(), MeaningFaults(), FusionFaults(), StateFaults(), ThreadFaults(), LeakFaults(),
          AnswerFaults(), DynamicFaults(), ContractFaults(), NarrowFaults(), SharedFaults()})
      for (const FaultRow& row : rows)
        if (row.name == wanted) fault_ = row.make();
    if (fault_ == nullptr) return Status(Code::kInvalidArgument, "there is no fault '" + wanted + "'");
    fault_->Open(options());
    fault_->OpenDevice(std::string(device_id()));
    return {};
  }

  Status SetOption(const std::string&, const sdk::OptionValues&) override {
    fault_->Set();
    return {};
  }
  std::string OptionInForce(const std::string& name) const override {
    return fault_->OptionInForce(name, options().Text(name));
  }

  void Look(const sdk::GraphView& graph) override { fault_->Look(graph); }
  sdk::Verdict Supports(const sdk::NodeView& node) override { return fault_->Answer(node, Honest(node)); }

  sdk::Result<std::unique_ptr<sdk::Executable>> Compile(const sdk::PartitionView& partition) override {
    auto program = std::make_shared<Program>();
    for (const sdk::ValueView& value : partition.inputs()) program->inputs.push_back(value.id());
    for (const sdk::ValueView& value : partition.outputs()) program->outputs.push_back(value.id());
    for (const sdk::NodeView& node : partition.nodes()) {
      if (const Code code = Expired(partition); code != Code::kOk) return Status(code, "compile was ended early");
      Step step{NodeOf(node), {}, {}};
      for (size_t i = 0; i < node.input_count(); ++i) step.inputs.push_back(Add(node.input(i), *program));
      for (size_t i = 0; i < node.output_count(); ++i) step.outputs.push_back(Add(node.output(i), *program));
      program->steps.push_back(std::move(step));
    }
    DEPUTY_SDK_RETURN_IF_ERROR(fault_->Compile(partition, *program));
    return std::unique_ptr<sdk::Executable>(std::make_unique<CompiledProgram>(std::move(program), fault_, host()));
  }

 private:
  static sdk::Verdict Honest(const sdk::NodeView& node) {
    if (!node.domain().empty() || !reference::Knows(std::string(node.op_type())))
      return sdk::Verdict::No(sdk::Reason::kOperatorUnknown);
    for (size_t i = 0; i < node.input_count() + node.output_count(); ++i) {
      const sdk::ValueView value =
          i < node.input_count() ? node.input(i) : node.output(i - static_cast<size_t>(node.input_count()));
      if (value.exists() && reference::BytesOf(static_cast<deputy_dtype>(value.dtype())) == 0)
        return sdk::Verdict::No(sdk::Reason::kDType);
    }
    return sdk::Verdict::Yes();
  }

  Code Expired(const sdk::PartitionView& partition) const {
    if (partition.cancelled()) return Code::kCancelled;
    const uint64_t deadline = partition.deadline_ns();
    return deadline != 0 && host().clock_ns() > deadline ? Code::kDeadlineExceeded : Code::kOk;
  }

  static deputy_value_id Add(const sdk::ValueView& value, Program& program) {
    if (!value.exists()) return DEPUTY_NO_VALUE;
    const Dims dims(value.dims().begin(), value.dims().end());
    if (value.shape_known()) program.dims[value.id()] = dims;
    if (value.is_constant() && program.constants.count(value.id()) == 0) {
      program.constants[value.id()] = reference::Decode(static_cast<deputy_dtype>(value.dtype()), dims,
                                                        static_cast<const uint8_t*>(value.constant()));
      program.constant_data.push_back(value.constant());
      program.constant_bytes.push_back(value.constant_bytes());
    }
    return value.id();
  }

  std::shared_ptr<Fault> fault_;
};

// The layer's functions check the flags themselves, so that a delegate that ignores them needs other functions.
template <class Args>
Args WithoutFlags(const Args& args) {
  Args copy = args;
  copy.flags = 0;
  return copy;
}

std::atomic<bool>& IgnoredFlags() {
  static std::atomic<bool> ignored{false};
  return ignored;
}

// The values of options are copied in blocks of 32 bytes.
void ReadBehindOptions(const deputy_open_args& args) {
  volatile char sum = 0;
  for (uint64_t i = 0; i < args.option_count; ++i)
    for (size_t at = 0; at < 32; ++at)
      sum = static_cast<char>(sum + static_cast<const volatile char*>(args.options[i].value.data)[at]);
}

bool HasFault(const deputy_open_args& args, std::string_view name) {
  for (uint64_t i = 0; i < args.option_count; ++i)
    if (sdk::ToView(args.options[i].key) == "fault" && sdk::ToView(args.options[i].value) == name) return true;
  return false;
}

deputy_status* Open(const deputy_delegate* self, const deputy_open_args* args, deputy_instance** out) noexcept {
  IgnoredFlags() = HasFault(*args, "flags-ignored");
  if (HasFault(*args, "option-behind-the-end")) ReadBehindOptions(*args);
  const deputy_open_args copy = WithoutFlags(*args);
  return sdk::detail::Thunks::Open(self, IgnoredFlags() ? &copy : args, out);
}

deputy_status* Compile(deputy_instance* self, const deputy_compile_args* args, deputy_executable** out) noexcept {
  const deputy_compile_args copy = WithoutFlags(*args);
  return sdk::detail::Thunks::Compile(self, IgnoredFlags() ? &copy : args, out);
}

deputy_status* ContextCreate(deputy_executable* self, const deputy_context_args* args, deputy_context** out) noexcept {
  const deputy_context_args copy = WithoutFlags(*args);
  return sdk::detail::Thunks::ContextCreate(self, IgnoredFlags() ? &copy : args, out);
}

deputy_status* Execute(deputy_context* self, const deputy_run_args* args) noexcept {
  const deputy_run_args copy = WithoutFlags(*args);
  return sdk::detail::Thunks::Execute(self, IgnoredFlags() ? &copy : args);
}

deputy_status* ResizeContext(deputy_context* self, const deputy_resize_args* args,
                             deputy_resize_outcome* out) noexcept {
  const deputy_resize_args copy = WithoutFlags(*args);
  return sdk::detail::ExtensionThunks::Resize(self, IgnoredFlags() ? &copy : args, out);
}

std::unique_ptr<sdk::detail::Record> MakeRecord() {
  auto record = sdk::detail::MakeRecord<Liars>("liars", "right in everything but one fault");
  record->table.open = Open;
  record->table.compile = Compile;
  record->table.context_create = ContextCreate;
  record->table.execute = Execute;
  record->resize.resize = ResizeContext;
  return record;
}

}  // namespace

bool Program::IsOutput(deputy_value_id id) const { return std::count(outputs.begin(), outputs.end(), id) != 0; }

size_t Program::Maker(deputy_value_id id) const {
  size_t at = 0;
  while (at < steps.size() && std::count(steps[at].outputs.begin(), steps[at].outputs.end(), id) == 0) ++at;
  return at;
}

std::vector<size_t> Program::Readers(deputy_value_id id) const {
  std::vector<size_t> readers;
  for (size_t i = 0; i < steps.size(); ++i)
    if (std::count(steps[i].inputs.begin(), steps[i].inputs.end(), id) != 0) readers.push_back(i);
  return readers;
}

void Program::Replace(deputy_value_id from, deputy_value_id to, size_t first) {
  for (size_t i = first; i < steps.size(); ++i) std::replace(steps[i].inputs.begin(), steps[i].inputs.end(), from, to);
  std::replace(outputs.begin(), outputs.end(), from, to);
}

deputy_value_id Program::AddConstant(Tensor value) {
  deputy_value_id id = 0x40000000;
  while (constants.count(id) != 0) ++id;
  dims[id] = value.dims;
  constants[id] = std::move(value);
  return id;
}

Session::Session(std::shared_ptr<const Program> program, std::shared_ptr<Fault> fault, sdk::Host host)
    : program_(std::move(program)), fault_(std::move(fault)), host_(host) {
  fault_->Begin(*this);
}
Session::~Session() { fault_->End(*this); }

Status Session::Execute(const sdk::RunArgs& args) {
  Status status = fault_->Run(*this, args);
  ++state.runs;
  return status;
}
size_t Session::scratch_bytes() const { return fault_->scratch_bytes(); }
void Session::Cancel() { fault_->Cancel(*this); }

sdk::Result<sdk::ResizeOutcome> Session::Resize(const sdk::ResizeArgs& args) {
  fault_->Resize(*this, args);
  return sdk::ResizeOutcome::kDone;
}

Status Session::Run(const sdk::RunArgs& args) {
  Values values = program_->constants;
  for (size_t i = 0; i < args.input_count(); ++i) values[program_->inputs[i]] = fault_->Read(*this, args, i);
  for (const Step& step : program_->steps) {
    if (fault_->NoticesCancel() && args.cancelled()) return Status(Code::kCancelled, "the run was cancelled");
    if (args.deadline_ns() != 0 && host_.clock_ns() > args.deadline_ns())
      return Status(Code::kDeadlineExceeded, "the run took too long");
    Inputs inputs;
    for (const deputy_value_id id : step.inputs) inputs.push_back(id == DEPUTY_NO_VALUE ? nullptr : &values.at(id));
    Tensors made = fault_->Compute(*this, step, inputs);
    if (made.size() < step.outputs.size()) return Status(Code::kNotSupported, "the oracle has no result");
    for (size_t i = 0; i < step.outputs.size(); ++i)
      if (step.outputs[i] != DEPUTY_NO_VALUE) values[step.outputs[i]] = std::move(made[i]);
  }
  for (size_t i = 0; i < args.output_count(); ++i)
    DEPUTY_SDK_RETURN_IF_ERROR(fault_->Write(*this, args, i, values.at(program_->outputs[i])));
  return {};
}

Tensor ReadInput(const sdk::RunArgs& args, size_t index) {
  const sdk::TensorView tensor = args.input(index);
  const Dims dims(tensor.dims().begin(), tensor.dims().end());
  return reference::Decode(static_cast<deputy_dtype>(tensor.dtype()), dims, static_cast<const uint8_t*>(tensor.data()));
}

Status WriteOutputTo(const sdk::RunArgs& args, void* to, const Tensor& value) {
  const std::vector<uint8_t> bytes = reference::Encode(value);
  const sdk::Span<unsigned char> scratch = args.scratch();
  const size_t piece = scratch.size() == 0 ? bytes.size() : scratch.size();
  for (size_t at = 0; at < bytes.size(); at += piece) {
    const size_t size = std::min(piece, bytes.size() - at);
    if (scratch.size() != 0) std::memcpy(scratch.data(), bytes.data() + at, size);
    std::memcpy(static_cast<uint8_t*>(to) + at, scratch.size() != 0 ? scratch.data() : bytes.data() + at, size);
  }
  return {};
}

Status WriteOutput(const sdk::RunArgs& args, size_t index, const Tensor& value) {
  const sdk::TensorView output = args.output(index);
  void* to = output.data();
  if (!output.shape_known()) {
    DEPUTY_SDK_ASSIGN_OR_RETURN(to, args.Allocate(index, {value.dims.data(), value.dims.size()}));
  } else if (static_cast<size_t>(value.count()) * reference::BytesOf(value.dtype) != output.byte_size()) {
    return Status(Code::kInternal, "the output has another size");
  }
  return WriteOutputTo(args, to, value);
}

FaultRow InArithmetic(const char* name, Arithmetic compute) {
  struct Wrong final : Fault {
    Arithmetic compute;
    explicit Wrong(Arithmetic fn) : compute(fn) {}
    Tensors Compute(Session&, const Step& step, const Inputs& inputs) override { return compute(step.node, inputs); }
  };
  return {name, [compute] { return std::make_shared<Wrong>(compute); }};
}

FaultRow InPass(const char* name, Pass pass) {
  struct Wrong final : Fault {
    Pass pass;
    explicit Wrong(Pass fn) : pass(fn) {}
    Status Compile(const sdk::PartitionView&, Program& program) override {
      pass(program);
      return {};
    }
  };
  return {name, [pass] { return std::make_shared<Wrong>(pass); }};
}

Status PackedWeights::Compile(const sdk::PartitionView&, Program& program) {
  const std::lock_guard<std::mutex> lock(mutex);
  for (const Step& step : program.steps) {
    if (!IsOneOf(step.node.op_type, {"Conv", "Gemm", "MatMul"}) || !program.IsConstant(step.inputs[1])) continue;
    Tensor& weights = program.constants.at(step.inputs[1]);
    std::ostringstream key;
    key << step.node.op_type << weights.dtype << ' ' << KeyOf(weights);
    for (const int64_t extent : weights.dims) key << ' ' << extent;
    weights = packed.emplace(key.str(), weights).first->second;
  }
  return {};
}

void PutOff(Tensors& outputs) {
  for (Tensor& output : outputs) {
    const int64_t last = output.count() - 1;
    if (last < 0) continue;
    if (reference::IsReal(output.dtype))
      output.Put(last, output.Get(last) + std::fabs(output.Get(last)) / 16 + 0.0625);
    else if (output.dtype == DEPUTY_DTYPE_BOOL)
      output.Put(last, static_cast<int64_t>(output.Get(last) == 0));
    else
      output.Put(last, static_cast<int64_t>(output.Get(last)) + 3);
    return;
  }
}

Tensors Mistaken(const Node& node, const Node& taken_for, const Inputs& inputs) {
  Tensors truth = reference::Compute(node, inputs);
  Tensors made = reference::Compute(taken_for, inputs);
  bool same_shapes = made.size() == truth.size();
  for (size_t i = 0; same_shapes && i < made.size(); ++i)
    same_shapes = made[i].dims == truth[i].dims && made[i].dtype == truth[i].dtype;
  if (same_shapes) return made;
  PutOff(truth);
  return truth;
}

bool IsOneOf(const std::string& name, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* one) { return name == one; });
}

}  // namespace liars

DEPUTY_EXPORT_DELEGATES(liars::MakeRecord())
