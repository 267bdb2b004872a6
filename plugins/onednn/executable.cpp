#include "executable.hpp"

#include <omp.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>

#include "operators/operators.hpp"
#include "waiting.hpp"

namespace onednn {
namespace {

struct Span {
  uint64_t begin_ns = 0, end_ns = 0;
};

// oneDNN's name of the implementation that it chose: "brgconv:avx512_core".
std::string ImplementationOf(const dnnl::primitive& primitive) {
  const char* text = nullptr;
  dnnl_primitive_desc_query(primitive.get_primitive_desc(), dnnl_query_impl_info_str, 0, &text);
  return text == nullptr ? "" : text;
}

}  // namespace

// A session's memory objects. Inputs and outputs get their addresses in each run; the rest is fixed.
class Context final : public sdk::ExecutionContext {
 public:
  explicit Context(const Executable& executable)
      : executable_(executable), stream_(executable.engine_), arena_(Allocate(executable.arena_bytes_), &std::free) {
    for (const Step& step : executable.steps_) {
      Prepared& prepared = prepared_.emplace_back();
      for (const auto& [argument, slot] : step.arguments) Prepare(prepared, argument, slot, step.function == nullptr);
    }
    // From here on `prepared_` is not reallocated.
    for (size_t i = 0; i < prepared_.size(); ++i)
      for (const Moving& moving : prepared_[i].moving) {
        std::vector<Binding>& bindings = moving.is_output ? outputs_ : inputs_;
        bindings.push_back({&prepared_[i], moving.at, moving.index, moving.offset, nullptr});
      }
  }

  sdk::Status Execute(const sdk::RunArgs& args) override {
    std::optional<Waiting::ObservedRun> observed;
    if (executable_.has_parallel_steps_) observed.emplace(Waiting::OfProcess(), executable_.host_.clock_ns());
    for (Binding& binding : inputs_) Bind(binding, args.input(binding.index).data());
    for (Binding& binding : outputs_) Bind(binding, args.output(binding.index).data());
    if (!profiler()) return Run(nullptr, args.deadline_ns());
    std::vector<Span> spans(prepared_.size());
    sdk::Status status = Run(spans.data(), args.deadline_ns());
    if (status.ok()) Report(spans);
    return status;
  }

  sdk::Result<sdk::ResizeOutcome> Resize(const sdk::ResizeArgs& args) override {
    return executable_.shapes_.Answer(args);
  }

 private:
  struct Moving {
    bool is_output;
    size_t at, index, offset;
  };
  struct Prepared {
    std::vector<memory> memories;
    std::vector<dnnl_exec_arg_t> arguments;
    std::vector<char*> data;  // for a function
    std::vector<Moving> moving;
  };
  // An argument whose address the run provides.
  struct Binding {
    Prepared* prepared;
    size_t at, index, offset;
    void* bound;
  };
  // The application may use OpenMP on this thread as well.
  struct CallersThreads {
    int count = omp_get_max_threads();
    ~CallersThreads() { omp_set_num_threads(count); }
  };

  // `spans`, if it is not NULL, gets the time of each step. `deadline_ns` is checked between steps; 0: there is none.
  sdk::Status Run(Span* spans, uint64_t deadline_ns) {
    const CallersThreads callers;
    int threads = 0;
    for (size_t i = 0; i < prepared_.size(); ++i) {
      const Step& step = executable_.steps_[i];
      if (deadline_ns != 0 && executable_.host_.clock_ns() > deadline_ns)
        return sdk::Status(sdk::Code::kDeadlineExceeded, "the run did not end in time");
      if (step.threads != threads) omp_set_num_threads(threads = step.threads);
      if (spans != nullptr) spans[i].begin_ns = executable_.host_.clock_ns();
      if (step.function != nullptr) {
        step.function(prepared_[i].data);
      } else if (dnnl_primitive_execute(step.primitive.get(), stream_.get(),
                                        static_cast<int>(prepared_[i].arguments.size()),
                                        prepared_[i].arguments.data()) != dnnl_success) {
        return sdk::Status(sdk::Code::kInternal, "oneDNN: a primitive failed");
      }
      // On the CPU a primitive is done when its call is.
      if (spans != nullptr) spans[i].end_ns = executable_.host_.clock_ns();
    }
    stream_.wait();
    return {};
  }

  void Report(const std::vector<Span>& spans) const {
    for (size_t i = 0; i < spans.size(); ++i) {
      const Step& step = executable_.steps_[i];
      const bool function = step.function != nullptr;
      sdk::ProfileEvent event;
      event.id = static_cast<uint32_t>(i);
      event.begin_ns = spans[i].begin_ns;
      event.end_ns = spans[i].end_ns;
      event.name = function ? step.name : dnnl_prim_kind2str(dnnl::convert_to_c(step.primitive.get_kind()));
      const std::string metadata = "{\"implementation\": \"" + (function ? "own" : ImplementationOf(step.primitive)) +
                                   "\", \"threads\": " + std::to_string(step.threads) + WaitingOf(step) + "}";
      event.metadata = metadata;
      profiler().Report(event);
    }
  }

  static const char* WaitingOf(const Step& step) {
    if (step.threads < 2) return "";
    return Waiting::OfProcess().sleeps() ? ", \"waiting\": \"asleep\"" : ", \"waiting\": \"polling\"";
  }

  static void* Allocate(size_t bytes) {
    void* data = std::aligned_alloc(kAlignment, bytes + kAlignment);
    if (data == nullptr) throw std::bad_alloc();
    return data;
  }

  void Prepare(Prepared& prepared, int argument, const Slot& slot, bool is_primitive) {
    const Buffer& buffer = executable_.buffers_[slot.buffer];
    char* data = nullptr;
    if (buffer.storage == Buffer::Storage::kTemporary) data = static_cast<char*>(arena_.get()) + buffer.offset;
    if (buffer.storage == Buffer::Storage::kConstant) data = static_cast<char*>(const_cast<void*>(buffer.data));
    if (data != nullptr)
      data += slot.offset;
    else
      prepared.moving.push_back(
          {buffer.storage == Buffer::Storage::kOutput, prepared.data.size(), buffer.index, slot.offset});
    prepared.data.push_back(data);
    if (!is_primitive) return;
    prepared.memories.emplace_back(slot.desc, executable_.engine_, static_cast<void*>(data));
    prepared.arguments.push_back({argument, prepared.memories.back().get()});
  }

  static void Bind(Binding& binding, void* data) {
    if (binding.bound == data) return;
    binding.bound = data;
    char* const first = static_cast<char*>(data) + binding.offset;
    binding.prepared->data[binding.at] = first;
    if (!binding.prepared->memories.empty()) binding.prepared->memories[binding.at].set_data_handle(first);
  }

  const Executable& executable_;
  dnnl::stream stream_;
  std::unique_ptr<void, void (*)(void*)> arena_;
  std::vector<Prepared> prepared_;
  std::vector<Binding> inputs_, outputs_;
};

Executable::Executable(dnnl::engine engine, std::vector<Buffer> buffers, std::vector<Step> steps, const sdk::Host& host,
                       Shapes shapes)
    : engine_(std::move(engine)),
      buffers_(std::move(buffers)),
      steps_(std::move(steps)),
      host_(host),
      shapes_(std::move(shapes)),
      arena_bytes_(PlanMemory(steps_, buffers_)) {
  int threads = 1;
  for (const Step& step : steps_) threads = std::max(threads, step.threads);
  has_parallel_steps_ = threads > 1;
  if (has_parallel_steps_) Waiting::OfProcess().Prepare(threads);
}

sdk::Result<std::unique_ptr<sdk::ExecutionContext>> Executable::CreateContext() {
  return std::unique_ptr<sdk::ExecutionContext>(std::make_unique<Context>(*this));
}

sdk::Status Executable::DescribeEvents(sdk::DebugMap& map) const {
  for (size_t i = 0; i < steps_.size(); ++i) map.Add(static_cast<uint32_t>(i), steps_[i].nodes);
  return {};
}

Shapes::Shapes(const sdk::PartitionView& partition) {
  for (const sdk::ValueView& value : partition.inputs()) inputs_.push_back(ToDims(value.dims()));
  for (const sdk::ValueView& value : partition.outputs()) outputs_.push_back(ToDims(value.dims()));
  for (const sdk::NodeView& node : partition.nodes())
    for (size_t i = FindOperator(node)->data_inputs; i < node.input_count(); ++i)
      decided_by_inputs_ = decided_by_inputs_ && (!node.input(i).exists() || node.input(i).is_constant());
}

sdk::Result<sdk::ResizeOutcome> Shapes::Answer(const sdk::ResizeArgs& wanted) const {
  bool same = decided_by_inputs_, empty = false;
  const auto look = [&](const sdk::TensorView& tensor, const memory::dims& before) {
    same = same && ToDims(tensor.dims()) == before;
    empty = empty || tensor.element_count() == 0;
  };
  for (size_t i = 0; i < inputs_.size(); ++i) look(wanted.input(i), inputs_[i]);
  for (size_t i = 0; i < outputs_.size(); ++i) look(wanted.output(i), outputs_[i]);
  if (empty) return sdk::Status(sdk::Code::kNotSupported, "a tensor has no elements");
  return same ? sdk::ResizeOutcome::kDone : sdk::ResizeOutcome::kRecompile;
}

}  // namespace onednn
