#include "executable.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <openvino/runtime/exception.hpp>
#include <sstream>
#include <utility>

#include "properties.hpp"

namespace openvino {
namespace {

ov::PartialShape ShapeOf(const sdk::ValueView& value) {
  std::vector<ov::Dimension> dims;
  for (const int64_t extent : value.dims()) dims.emplace_back(extent < 0 ? ov::Dimension() : ov::Dimension(extent));
  return dims;
}

ov::Shape ShapeOf(const sdk::TensorView& tensor) {
  ov::Shape shape;
  for (const int64_t extent : tensor.dims()) shape.push_back(static_cast<size_t>(extent));
  return shape;
}

sdk::Status StatusOf(const std::exception& error) { return {sdk::Code::kInternal, MessageOf(error)}; }

// A session's requests. Tensors of OpenVINO over the host's memory are made anew only where that has moved.
class Context final : public sdk::ExecutionContext {
 public:
  explicit Context(const Program& program) : program_(program), plain_(program.model()) {}

  sdk::Status Execute(const sdk::RunArgs& args) override {
    if (args.cancelled()) return sdk::Status(sdk::Code::kCancelled, "cancelled before it began");
    try {
      Requests& requests = Prepare(args);
      const uint64_t begin = Now();
      if (args.deadline_ns() == 0)
        requests.request.infer();
      else if (!InferUntil(requests.request, args.deadline_ns()))
        return sdk::Status(sdk::Code::kDeadlineExceeded, "OpenVINO had not ended in time");
      return Finish(requests, args, begin);
    } catch (const ov::Cancelled&) {
      return sdk::Status(sdk::Code::kCancelled, "cancelled while it ran");
    } catch (const std::exception& error) {
      return StatusOf(error);
    }
  }

  sdk::Status Submit(sdk::SubmittedRun& run) override {
    // One run at a time, on the caller's thread: handing it to another one would take longer than a small network.
    if (!program_.target().waits_for_others) {
      run.End(Execute(run.args()));
      return {};
    }
    try {
      Requests& requests = Prepare(run.args());
      const uint64_t begin = Now();
      requests.request.set_callback([this, &requests, &run, begin](std::exception_ptr thrown) {
        run.End(EndOf(requests, run.args(), begin, thrown));
      });
      requests.request.start_async();
      return {};
    } catch (const ov::Busy&) {
      return sdk::Status(sdk::Code::kUnavailable, "the request of this context has not ended");
    } catch (const std::exception& error) {
      return StatusOf(error);
    }
  }

  void Cancel() override {
    try {
      if (ov::InferRequest* request = active_.load()) request->cancel();
    } catch (const std::exception&) {
      // There is nothing to cancel.
    }
  }

  sdk::Result<sdk::ResizeOutcome> Resize(const sdk::ResizeArgs& args) override {
    const auto fits = [](const std::vector<Program::Port>& ports, size_t i, const sdk::TensorView& tensor) {
      if (tensor.dims().size() != ports[i].shape.size()) return false;
      for (size_t axis = 0; axis < tensor.dims().size(); ++axis) {
        const ov::Dimension& here = ports[i].shape[axis];
        const int64_t extent = tensor.dims()[axis];
        if (here.is_static() && extent >= 0 && here.get_length() != extent) return false;
      }
      return true;
    };
    for (size_t i = 0; i < args.input_count(); ++i)
      if (args.input(i).exists() && !fits(program_.inputs(), i, args.input(i))) return sdk::ResizeOutcome::kRecompile;
    for (size_t i = 0; i < args.output_count(); ++i)
      if (!fits(program_.outputs(), i, args.output(i))) return sdk::ResizeOutcome::kRecompile;
    return sdk::ResizeOutcome::kDone;
  }

 private:
  struct Binding {
    const void* data = nullptr;
    ov::Shape shape;
    bool is_bound = false;
  };
  struct Requests {
    explicit Requests(const ov::CompiledModel& model) {
      ov::CompiledModel copy = model;
      request = copy.create_infer_request();
      inputs.resize(copy.inputs().size());
      outputs.resize(copy.outputs().size());
    }
    ov::InferRequest request;
    std::vector<Binding> inputs, outputs;
  };

  uint64_t Now() const { return profiler() ? program_.target().host.clock_ns() : 0; }

  Requests& Prepare(const sdk::RunArgs& args) {
    if (profiler() && profiled_ == nullptr) profiled_ = std::make_unique<Requests>(program_.Profiled().model);
    Requests& requests = profiler() ? *profiled_ : plain_;
    active_ = &requests.request;
    for (size_t i = 0; i < args.input_count(); ++i) {
      const sdk::TensorView tensor = args.input(i);
      if (Moves(requests.inputs[i], tensor, program_.inputs()[i])) {
        requests.request.set_input_tensor(i, TensorOver(tensor, program_.inputs()[i].type));
        requests.inputs[i].is_bound = true;
      }
    }
    for (size_t i = 0; i < args.output_count(); ++i) {
      const sdk::TensorView tensor = args.output(i);
      const Program::Port& port = program_.outputs()[i];
      if (!IsCopied(port, tensor)) {
        if (Moves(requests.outputs[i], tensor, port)) {
          requests.request.set_output_tensor(i, TensorOver(tensor, port.type));
          requests.outputs[i].is_bound = true;
        }
      } else if (requests.outputs[i].is_bound) {
        requests.request.set_output_tensor(i, ov::Tensor(port.type, port.shape.to_shape()));
        requests.outputs[i].is_bound = false;
      }
    }
    return requests;
  }

  // OpenVINO has the memory of outputs of which the run decides how large they are.
  static bool IsCopied(const Program::Port& port, const sdk::TensorView& tensor) {
    return port.shape.is_dynamic() || !tensor.shape_known();
  }

  // True: the caller binds the tensor anew, which may throw, and then marks it as bound.
  static bool Moves(Binding& binding, const sdk::TensorView& tensor, const Program::Port& port) {
    const bool same_shape = port.shape.is_static() || binding.shape == ShapeOf(tensor);
    if (binding.is_bound && binding.data == tensor.data() && same_shape) return false;
    binding = {tensor.data(), port.shape.is_static() ? ov::Shape() : ShapeOf(tensor), false};
    return true;
  }

  static ov::Tensor TensorOver(const sdk::TensorView& tensor, const ov::element::Type& type) {
    if (tensor.data() == nullptr) return ov::Tensor(type, ShapeOf(tensor));  // without elements
    return ov::Tensor(type, ShapeOf(tensor), tensor.data());
  }

  // False: the deadline has passed, and the run was cancelled.
  static bool InferUntil(ov::InferRequest& request, uint64_t deadline_ns) {
    const std::chrono::steady_clock::time_point deadline{std::chrono::nanoseconds(deadline_ns)};
    request.set_callback([](std::exception_ptr) {});
    request.start_async();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (request.wait_for(std::max(left, std::chrono::milliseconds(0)))) return true;
    request.cancel();
    try {
      request.wait();
    } catch (const ov::Cancelled&) {
      return false;
    }
    return true;
  }

  sdk::Status EndOf(Requests& requests, const sdk::RunArgs& args, uint64_t begin, std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
      return Finish(requests, args, begin);
    } catch (const ov::Cancelled&) {
      return sdk::Status(sdk::Code::kCancelled, "cancelled while it ran");
    } catch (const std::exception& error) {
      return StatusOf(error);
    }
  }

  sdk::Status Finish(Requests& requests, const sdk::RunArgs& args, uint64_t begin) {
    if (profiler()) program_.Profiled().Report(requests.request, begin, Now(), profiler());
    for (size_t i = 0; i < args.output_count(); ++i)
      if (IsCopied(program_.outputs()[i], args.output(i))) DEPUTY_SDK_RETURN_IF_ERROR(CopyOut(requests, args, i));
    return {};
  }

  static sdk::Status CopyOut(Requests& requests, const sdk::RunArgs& args, size_t index) {
    const ov::Tensor made = requests.request.get_output_tensor(index);
    const ov::Shape shape = made.get_shape();
    const std::vector<int64_t> dims(shape.begin(), shape.end());
    const sdk::TensorView output = args.output(index);
    void* data = output.data();
    if (!output.shape_known()) {
      DEPUTY_SDK_ASSIGN_OR_RETURN(data, args.Allocate(index, {dims.data(), dims.size()}));
    } else if (!std::equal(dims.begin(), dims.end(), output.dims().begin(), output.dims().end())) {
      return sdk::Status(sdk::Code::kInternal,
                         "OpenVINO gave output " + std::to_string(index) + " extents other than the model's");
    }
    if (made.get_byte_size() != 0) std::memcpy(data, made.data(), made.get_byte_size());
    return {};
  }

  const Program& program_;
  Requests plain_;
  std::unique_ptr<Requests> profiled_;
  std::atomic<ov::InferRequest*> active_{nullptr};
};

// Bytes of a blob: this head, the names of the nodes, each with a zero behind it, zeros up to a multiple of 64, then
// OpenVINO's own bytes.
struct BlobHead {
  uint64_t format, checksum, name_bytes, model_bytes;
};
constexpr uint64_t kFormat = 0x31'4f'56'4e'45'50'4f'31;

uint64_t PaddingBehind(uint64_t name_bytes) { return (64 - (sizeof(BlobHead) + name_bytes) % 64) % 64; }

// OpenVINO accepts blobs with changed bytes.
uint64_t ChecksumOf(const void* data, size_t size, uint64_t sum) {
  const auto* at = static_cast<const unsigned char*>(data);
  for (uint64_t word = 0; size > 0; at += sizeof word) {
    const size_t count = std::min(size, sizeof word);
    word = 0;
    std::memcpy(&word, at, count);
    size -= count;
    sum = (sum ^ word) * 0x9e3779b97f4a7c15;
    sum ^= sum >> 32;
  }
  return sum;
}
uint64_t ChecksumOf(const void* names, size_t name_bytes, const void* model, size_t model_bytes) {
  return ChecksumOf(model, model_bytes, ChecksumOf(names, name_bytes, name_bytes * 31 + model_bytes));
}

}  // namespace

Program::Program(const sdk::PartitionView& partition, Target target, std::vector<std::string> names)
    : target_(std::move(target)), names_(std::move(names)) {
  for (const sdk::NodeView& node : partition.nodes()) nodes_.push_back(node.id());
}

sdk::Result<std::unique_ptr<Program>> Program::Compile(const sdk::PartitionView& partition, Conversion conversion,
                                                       Target target) {
  std::unique_ptr<Program> program(new Program(partition, std::move(target), std::move(conversion.names)));
  try {
    ov::CompiledModel model =
        SharedCore()->compile_model(conversion.model, program->target_.device, program->target_.properties);
    DEPUTY_SDK_RETURN_IF_ERROR(program->Adopt(std::move(model), partition));
    program->RunOnZeros();
  } catch (const std::exception& error) {
    return sdk::Status(sdk::Code::kNotSupported, MessageOf(error));
  }
  return program;
}

sdk::Result<std::unique_ptr<Program>> Program::Restore(const sdk::PartitionView& partition, sdk::Blob bytes,
                                                       Target target) {
  const auto refused = [](const char* why) { return sdk::Status(sdk::Code::kIncompatible, why); };
  auto blob = std::make_shared<sdk::Blob>(std::move(bytes));
  sdk::BlobReader reader(*blob);
  BlobHead head{};
  head.format = reader.Number<uint64_t>();
  head.checksum = reader.Number<uint64_t>();
  head.name_bytes = reader.Number<uint64_t>();
  head.model_bytes = reader.Number<uint64_t>();
  if (!reader.ok() || head.format != kFormat) return refused("not a blob of this plugin");
  const auto* names = static_cast<const char*>(reader.Take(head.name_bytes));
  reader.Take(PaddingBehind(head.name_bytes));
  const void* model = reader.Take(head.model_bytes);
  if (!reader.at_end()) return refused("the blob has another size than it says");
  const auto name_bytes = static_cast<size_t>(head.name_bytes), model_bytes = static_cast<size_t>(head.model_bytes);
  if (ChecksumOf(names, name_bytes, model, model_bytes) != head.checksum) return refused("the blob is damaged");
  std::vector<std::string> split;
  for (size_t at = 0; at < name_bytes;) {
    const void* end = std::memchr(names + at, 0, name_bytes - at);
    if (end == nullptr) return refused("the blob's names have no end");
    split.emplace_back(names + at, static_cast<const char*>(end));
    at += split.back().size() + 1;
  }
  if (split.size() != partition.nodes().size()) return refused("the blob has another number of nodes");
  std::unique_ptr<Program> program(new Program(partition, std::move(target), std::move(split)));
  try {
    const ov::Tensor view(ov::element::u8, ov::Shape{model_bytes}, model);
    // The hint of precision is not in OpenVINO's bytes.
    ov::CompiledModel restored = SharedCore()->import_model(view, program->target_.device, program->target_.properties);
    program->blob_ = std::move(blob);
    if (const sdk::Status status = program->Adopt(std::move(restored), partition); !status.ok())
      return sdk::Status(sdk::Code::kIncompatible, status.message());
  } catch (const std::exception& error) {
    return sdk::Status(sdk::Code::kIncompatible, MessageOf(error));
  }
  return program;
}

sdk::Status Program::Adopt(ov::CompiledModel model, const sdk::PartitionView& partition) {
  model_ = std::move(model);
  const auto read = [](const auto& ports, const std::vector<sdk::ValueView>& values, bool are_inputs,
                       std::vector<Port>& to) {
    if (ports.size() != values.size())
      return sdk::Status(sdk::Code::kNotSupported, "OpenVINO's model has another number of inputs or outputs");
    for (size_t i = 0; i < values.size(); ++i) {
      Port port{ports[i].get_element_type(), ports[i].get_partial_shape()};
      const ov::PartialShape wanted = ShapeOf(values[i]);
      const bool is_narrower = are_inputs && !port.shape.relaxes(wanted);
      if (port.type != ElementTypeOf(values[i].dtype()) || !port.shape.compatible(wanted) || is_narrower)
        return sdk::Status(sdk::Code::kNotSupported, "OpenVINO gives '" + std::string(values[i].name()) +
                                                         "' another element type or other extents");
      to.push_back(std::move(port));
    }
    return sdk::Status();
  };
  DEPUTY_SDK_RETURN_IF_ERROR(read(model_.inputs(), partition.inputs(), true, inputs_));
  DEPUTY_SDK_RETURN_IF_ERROR(read(model_.outputs(), partition.outputs(), false, outputs_));
  const auto asked = target_.properties.find(ov::hint::inference_precision.name());
  if (asked != target_.properties.end()) {
    const auto wanted = asked->second.as<std::string>();
    const auto granted = model_.get_property(ov::hint::inference_precision).to_string();
    if (wanted != granted)
      return sdk::Status(sdk::Code::kNotSupported,
                         "the device computes in " + granted + " where " + wanted + " is asked for");
  }
  return {};
}

// OpenVINO makes some of its kernels, and finds some of its failures, in a first run only.
void Program::RunOnZeros() {
  for (const Port& port : inputs_)
    if (port.shape.is_dynamic()) return;
  ov::InferRequest request = model_.create_infer_request();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    ov::Tensor tensor = request.get_input_tensor(i);
    std::memset(tensor.data(), 0, tensor.get_byte_size());
  }
  request.infer();
}

sdk::Result<std::unique_ptr<sdk::ExecutionContext>> Program::CreateContext() {
  try {
    return std::make_unique<Context>(*this);
  } catch (const std::exception& error) {
    return StatusOf(error);
  }
}

std::string Program::Export() const {
  std::ostringstream stream;
  ov::CompiledModel model = model_;
  model.export_model(stream);
  return std::move(stream).str();
}

sdk::Status Program::Serialize(sdk::BlobWriter& writer) const {
  std::string model, names;
  try {
    model = Export();
  } catch (const std::exception& error) {
    return sdk::Status(sdk::Code::kNotSupported, MessageOf(error));
  }
  for (const std::string& name : names_) names.append(name).push_back('\0');
  writer.Number(kFormat);
  writer.Number(ChecksumOf(names.data(), names.size(), model.data(), model.size()));
  writer.Number(static_cast<uint64_t>(names.size()));
  writer.Number(static_cast<uint64_t>(model.size()));
  writer.Bytes(names.data(), names.size());
  const std::string padding(static_cast<size_t>(PaddingBehind(names.size())), '\0');
  writer.Bytes(padding.data(), padding.size());
  writer.Bytes(model.data(), model.size());
  return {};
}

const ProfiledModel& Program::Profiled() const {
  const std::lock_guard<std::mutex> lock(profiling_);
  if (profiled_ == nullptr) {
    ov::AnyMap properties = target_.properties;
    properties[ov::enable_profiling.name()] = true;
    const std::string bytes = Export();
    std::istringstream stream(bytes);
    profiled_ = std::make_unique<ProfiledModel>(SharedCore()->import_model(stream, target_.device, properties), names_);
  }
  return *profiled_;
}

sdk::Status Program::DescribeEvents(sdk::DebugMap& map) const {
  try {
    const auto& events = Profiled().nodes();
    for (size_t event = 0; event < events.size(); ++event) {
      std::vector<deputy_node_id> ids;
      for (const size_t position : events[event]) ids.push_back(nodes_[position]);
      if (!ids.empty()) map.Add(static_cast<uint32_t>(event), {ids.data(), ids.size()});
    }
    return {};
  } catch (const std::exception& error) {
    return StatusOf(error);
  }
}

}  // namespace openvino
