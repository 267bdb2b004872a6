#include "session.hpp"

#include <array>
#include <atomic>
#include <iterator>

#include "../known_providers.hpp"

namespace ort {
namespace {

// Values over the host's memory, which are made anew where a run brings other memory.
class BoundValues {
 public:
  BoundValues(const Runtime& runtime, const std::vector<SessionTensor>& tensors)
      : runtime_(runtime), tensors_(tensors) {
    for (const SessionTensor& tensor : tensors) names_.push_back(tensor.name.c_str());
    bound_.resize(tensors.size());
    values_.resize(tensors.size());
  }
  BoundValues(const BoundValues&) = delete;
  BoundValues& operator=(const BoundValues&) = delete;
  ~BoundValues() {
    for (Value* value : values_)
      if (value != nullptr) runtime_.functions().ReleaseValue(value);
  }

  sdk::Status Bind(size_t index, const sdk::TensorView& tensor) {
    if (values_[index] != nullptr && bound_[index] == tensor.data()) return {};
    const Functions& functions = runtime_.functions();
    if (values_[index] != nullptr) functions.ReleaseValue(values_[index]);
    values_[index] = nullptr;
    const SessionTensor& form = tensors_[index];
    bound_[index] = tensor.data();
    return runtime_.Take(
        functions.CreateTensorWithDataAsOrtValue(runtime_.memory(), tensor.data(), tensor.byte_size(), form.dims.data(),
                                                 form.dims.size(), form.type, &values_[index]),
        form.name);
  }

  const char* const* names() const { return names_.data(); }
  Value** values() { return values_.data(); }
  size_t size() const { return values_.size(); }

 private:
  const Runtime& runtime_;
  const std::vector<SessionTensor>& tensors_;
  std::vector<const char*> names_;
  std::vector<const void*> bound_;
  std::vector<Value*> values_;
};

class Context final : public sdk::ExecutionContext {
 public:
  explicit Context(const CompiledSession& compiled)
      : compiled_(compiled),
        inputs_(*compiled.runtime, compiled.inputs),
        outputs_(*compiled.runtime, compiled.outputs) {}

  sdk::Status Init() {
    for (size_t level = 0; level < (compiled_.power_entry.empty() ? 1 : options_.size()); ++level) {
      RunOptions* options = nullptr;
      DEPUTY_SDK_RETURN_IF_ERROR(runtime().Take(functions().CreateRunOptions(&options), "options of runs"));
      options_[level] = runtime().Own(options, functions().ReleaseRunOptions);
      if (level > 0)
        DEPUTY_SDK_RETURN_IF_ERROR(runtime().Take(
            functions().AddRunConfigEntry(options, compiled_.power_entry.c_str(), kClockModes[level - 1]),
            "power level"));
    }
    return {};
  }

  sdk::Status Execute(const sdk::RunArgs& args) override {
    const size_t level = args.power_level();
    RunOptions* options = options_[level < options_.size() && options_[level] != nullptr ? level : 0].get();
    // A request to end stays set when the run that it was for has ended.
    if (was_cancelled_.exchange(false))
      for (const auto& each : options_)
        if (each != nullptr)
          DEPUTY_SDK_RETURN_IF_ERROR(runtime().Take(functions().RunOptionsUnsetTerminate(each.get()), "run"));
    if (args.cancelled()) return sdk::Status(sdk::Code::kCancelled, "cancelled before it began");
    for (size_t i = 0; i < inputs_.size(); ++i) DEPUTY_SDK_RETURN_IF_ERROR(inputs_.Bind(i, args.input(i)));
    for (size_t i = 0; i < outputs_.size(); ++i) DEPUTY_SDK_RETURN_IF_ERROR(outputs_.Bind(i, args.output(i)));
    const LogScope log(compiled_.host);
    const auto serial =
        compiled_.serial == nullptr ? std::unique_lock<std::mutex>() : std::unique_lock(*compiled_.serial);
    const sdk::Status status =
        runtime().Take(functions().Run(compiled_.session.get(), options, inputs_.names(), inputs_.values(),
                                       inputs_.size(), outputs_.names(), outputs_.size(), outputs_.values()),
                       "run");
    if (!status.ok() && args.cancelled()) return sdk::Status(sdk::Code::kCancelled, status.message());
    return status;
  }

  void Cancel() override {
    for (const auto& options : options_)
      if (options != nullptr)
        if (Status* failed = functions().RunOptionsSetTerminate(options.get())) functions().ReleaseStatus(failed);
    was_cancelled_ = true;  // after the requests, so that none stays set unseen
  }

 private:
  const Runtime& runtime() const { return *compiled_.runtime; }
  const Functions& functions() const { return compiled_.runtime->functions(); }

  const CompiledSession& compiled_;
  BoundValues inputs_, outputs_;
  // The first for runs without a hint, then one for each level.
  std::array<Owned<RunOptions>, std::size(kClockModes) + 1> options_;
  std::atomic<bool> was_cancelled_{false};
};

class SessionExecutable final : public sdk::Executable {
 public:
  explicit SessionExecutable(CompiledSession compiled) : compiled_(std::move(compiled)) {}

  sdk::Result<std::unique_ptr<sdk::ExecutionContext>> CreateContext() override {
    auto context = std::make_unique<Context>(compiled_);
    DEPUTY_SDK_RETURN_IF_ERROR(context->Init());
    return std::unique_ptr<sdk::ExecutionContext>(std::move(context));
  }

  sdk::Status Serialize(sdk::BlobWriter& writer) const override {
    if (!compiled_.context_model)
      return sdk::Status(sdk::Code::kNotSupported, "the execution provider keeps no compiled models");
    DEPUTY_SDK_ASSIGN_OR_RETURN(const std::string bytes, compiled_.context_model());
    for (const auto* tensors : {&compiled_.inputs, &compiled_.outputs}) {
      writer.Number(static_cast<uint64_t>(tensors->size()));
      for (const SessionTensor& tensor : *tensors) writer.Text(tensor.name);
    }
    writer.Text(bytes);
    return {};
  }

 private:
  const CompiledSession compiled_;
};

}  // namespace

sdk::Result<std::vector<SessionTensor>> TensorsOf(const std::vector<sdk::ValueView>& values,
                                                  const std::vector<std::string>& names) {
  std::vector<SessionTensor> tensors;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].shape_known())
      return sdk::Status(sdk::Code::kNotSupported, "the extents of '" + names[i] + "' are not known");
    if (values[i].dtype() == sdk::DType::kString || values[i].dtype() == sdk::DType::kUndefined)
      return sdk::Status(sdk::Code::kNotSupported, "the elements of '" + names[i] + "' are not numbers");
    tensors.push_back({names[i],
                       FromOnnx(static_cast<int32_t>(values[i].dtype())),
                       {values[i].dims().begin(), values[i].dims().end()}});
  }
  return tensors;
}

std::unique_ptr<sdk::Executable> MakeExecutable(CompiledSession compiled) {
  return std::make_unique<SessionExecutable>(std::move(compiled));
}

}  // namespace ort
