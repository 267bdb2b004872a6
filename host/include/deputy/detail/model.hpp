// Model and Session for programs, on the C API.
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "deputy.h"
#include "deputy/detail/call.hpp"
#include "deputy/detail/memory.hpp"
#include "deputy/detail/model_value.hpp"
#include "deputy/detail/report_reader.hpp"
#include "deputy/fields/compare.hpp"
#include "deputy/fields/health.hpp"
#include "deputy/fields/model.hpp"
#include "deputy/fields/placed_graph.hpp"
#include "deputy/fields/profile.hpp"
#include "deputy/fields/verification.hpp"
#include "deputy/model.hpp"

namespace deputy {

struct Model::State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { DeputyModelFree(model); }

  static TensorInfo InfoOf(const DeputyValueInfo& info) {
    TensorInfo made;
    made.name = info.name;
    made.dtype = static_cast<DType>(info.dtype);
    made.ranked = info.is_ranked != 0;
    made.shape.assign(info.shape, info.shape + info.rank);
    made.dims.assign(info.dims, info.dims + info.rank);
    made.kind = static_cast<ValueKind>(info.kind);
    return made;
  }

  // The model that `make(model)` makes.
  template <class F>
  static Result<std::shared_ptr<State>> Made(const F& make) {
    auto made = std::make_shared<State>();
    DeputyModel*& model = made->model;
    DEPUTY_RETURN_IF_ERROR(detail::StatusOf(make(&model)));
    for (size_t i = 0; i < DeputyModelInputCount(model); ++i)
      made->inputs.push_back(InfoOf(*DeputyModelInput(model, i)));
    for (size_t i = 0; i < DeputyModelOutputCount(model); ++i)
      made->outputs.push_back(InfoOf(*DeputyModelOutput(model, i)));
    DEPUTY_ASSIGN_OR_RETURN(made->properties, detail::Reported<fields::ModelProperties>([&](DeputyReport** report) {
                              return DeputyModelTraits(model, report);
                            }));
    return made;
  }

  DeputyModel* model = nullptr;
  std::vector<TensorInfo> inputs, outputs;
  fields::ModelProperties properties;
};

namespace detail {

inline std::vector<DeputyShape> ShapesOf(const std::vector<Shape>& shapes) {
  std::vector<DeputyShape> made;
  for (const Shape& shape : shapes) made.push_back({shape.data(), static_cast<uint32_t>(shape.size())});
  return made;
}

inline Status NotBuilt() { return Status(StatusCode::kFailedPrecondition, "the model is not built"); }

inline const std::vector<TensorInfo>& NoInfos() {
  static const std::vector<TensorInfo> none;
  return none;
}

// Sequences and optionals of a call as those of C.
class ValueViews {
 public:
  explicit ValueViews(const std::vector<ModelValue>& values) {
    for (const ModelValue& value : values) {
      std::vector<DeputyTensor>& tensors = tensors_.emplace_back();
      if (value.is_tensor()) tensors.push_back(ViewOf(value.tensor()));
      for (const Tensor& element : value.elements()) tensors.push_back(ViewOf(element));
      values_.push_back({value.is_sequence() ? 1 : 0, static_cast<DeputyDType>(value.dtype()), tensors.data(),
                         tensors.size(), nullptr});
    }
  }
  const DeputyValue* data() const { return values_.data(); }
  size_t size() const { return values_.size(); }

 private:
  std::vector<std::vector<DeputyTensor>> tensors_;
  std::vector<DeputyValue> values_;
};

// Results of a call; what is not taken is released.
class MadeValues {
 public:
  explicit MadeValues(size_t count) : values_(count) {}
  MadeValues(const MadeValues&) = delete;
  MadeValues& operator=(const MadeValues&) = delete;
  ~MadeValues() {
    for (DeputyValue& value : values_) DeputyValueRelease(&value);
  }
  DeputyValue* data() { return values_.data(); }
  size_t size() const { return values_.size(); }

 private:
  std::vector<DeputyValue> values_;
};

}  // namespace detail

inline Model::Model() = default;
inline Model::~Model() = default;
inline Model::Model(const Model&) = default;
inline Model& Model::operator=(const Model&) = default;

inline Status Model::Build(const std::string& path, const Context& context, const BuildOptions& options) {
  DEPUTY_ASSIGN_OR_RETURN(DeputyContext* const told, Context::State::Told(context.state_));
  const std::string json = detail::OptionsWriter::Json(options);
  DEPUTY_ASSIGN_OR_RETURN(state_, State::Made([&](DeputyModel** model) {
                            return DeputyModelFromFile(path.c_str(), told, json.c_str(), model);
                          }));
  return {};
}

inline Status Model::Build(const void* data, size_t size, ModelType type, const Context& context,
                           const BuildOptions& options) {
  DEPUTY_ASSIGN_OR_RETURN(DeputyContext* const told, Context::State::Told(context.state_));
  const std::string json = detail::OptionsWriter::Json(options);
  DEPUTY_ASSIGN_OR_RETURN(state_, State::Made([&](DeputyModel** model) {
                            return DeputyModelFromMemory(data, size, static_cast<DeputyFormat>(type), told,
                                                         json.c_str(), model);
                          }));
  return {};
}

inline const std::vector<TensorInfo>& Model::inputs() const {
  return state_ == nullptr ? detail::NoInfos() : state_->inputs;
}
inline const std::vector<TensorInfo>& Model::outputs() const {
  return state_ == nullptr ? detail::NoInfos() : state_->outputs;
}
inline const std::vector<std::string>& Model::inputs_with_default() const {
  static const std::vector<std::string> none;
  return state_ == nullptr ? none : state_->properties.inputs_with_default;
}
inline const std::vector<std::pair<std::string, std::string>>& Model::metadata() const {
  static const std::vector<std::pair<std::string, std::string>> none;
  return state_ == nullptr ? none : state_->properties.metadata;
}
inline bool Model::has_states() const { return state_ != nullptr && state_->properties.has_states; }

inline Result<Tensor> Model::AllocateTensor(DType dtype, Shape shape) const {
  if (state_ == nullptr) return detail::NotBuilt();
  DeputyTensor made{};
  DEPUTY_RETURN_IF_ERROR(detail::StatusOf(DeputyModelAllocate(
      state_->model, static_cast<DeputyDType>(dtype), shape.data(), static_cast<uint32_t>(shape.size()), &made)));
  return detail::Adopt(made);
}

inline Result<PlacementReport> Model::Placement() const {
  if (state_ == nullptr) return detail::NotBuilt();
  return detail::Reported<PlacementReport>(
      [this](DeputyReport** report) { return DeputyModelPlacement(state_->model, nullptr, 0, 0, report); });
}

inline Result<PlacementReport> Model::Placement(const std::vector<Shape>& shapes) const {
  if (state_ == nullptr) return detail::NotBuilt();
  static constexpr DeputyShape kNone{};
  const std::vector<DeputyShape> given = detail::ShapesOf(shapes);
  return detail::Reported<PlacementReport>([&](DeputyReport** report) {
    return DeputyModelPlacement(state_->model, given.empty() ? &kNone : given.data(), given.size(), 0, report);
  });
}

inline Result<PlacedGraph> Model::PlacementWithGraph(const std::vector<Shape>& shapes) const {
  if (state_ == nullptr) return detail::NotBuilt();
  const std::vector<DeputyShape> given = detail::ShapesOf(shapes);
  return detail::Reported<PlacedGraph>([&](DeputyReport** report) {
    return DeputyModelPlacement(state_->model, given.data(), given.size(), 1, report);
  });
}

inline Result<std::vector<PartitionVerification>> Model::Verify(const std::vector<Tensor>& inputs,
                                                                const VerifyOptions& options) const {
  if (state_ == nullptr) return detail::NotBuilt();
  std::vector<DeputyTensor> views;
  detail::ViewInputs(inputs, views);
  return detail::Reported<std::vector<PartitionVerification>>([&](DeputyReport** report) {
    return DeputyModelVerify(state_->model, views.data(), views.size(), detail::OptionsWriter::Json(options).c_str(),
                             report);
  });
}

inline Result<std::string> Model::MeasuredPlacements() const {
  if (state_ == nullptr) return detail::NotBuilt();
  return detail::Reported<std::string>(
      [this](DeputyReport** report) { return DeputyModelMeasuredPlacements(state_->model, report); });
}

inline HealthReport Model::Health() const {
  if (state_ == nullptr) return {};
  return detail::ReportedAlways<HealthReport>(
      [this](DeputyReport** report) { return DeputyModelHealth(state_->model, report); });
}

inline Status Model::Save(const std::string& path) const {
  if (state_ == nullptr) return detail::NotBuilt();
  return detail::StatusOf(DeputyModelSave(state_->model, path.c_str()));
}

namespace detail {

struct RunViews {
  std::vector<DeputyTensor> inputs;
  OutputViews outputs;
};

// Of the thread that is the first in a session.
class Turn {
 public:
  explicit Turn(std::atomic<bool>& is_busy)
      : is_busy_(is_busy), is_first_(!is_busy.exchange(true, std::memory_order_acquire)) {}
  ~Turn() {
    if (is_first_) is_busy_.store(false, std::memory_order_release);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  bool is_first() const { return is_first_; }

 private:
  std::atomic<bool>& is_busy_;
  const bool is_first_;
};

}  // namespace detail

struct Session::State {
  explicit State(std::shared_ptr<Model::State> of) : model(std::move(of)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { End(); }

  // Waits until no other thread is in a run and all callbacks have returned, which find the session as it was.
  void End() {
    // A child of a fork does not have the other threads.
    while (is_busy.load(std::memory_order_acquire) && getpid() == process) {
      DeputySessionCancel(session);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    DeputySessionFree(session);
    session = nullptr;
  }

  // A request, used again: the tensors come back with the result.
  struct Record {
    State* session = nullptr;
    std::vector<Tensor> inputs, outputs;
    detail::RunViews views;
    PredictCallback done;
  };
  struct ReturnRecord {
    void operator()(Record* record) const {
      const std::lock_guard lock(record->session->mutex);
      record->session->idle.push_back(record);
    }
  };
  using HeldRecord = std::unique_ptr<Record, ReturnRecord>;
  HeldRecord TakeRecord() {
    const std::lock_guard lock(mutex);
    if (idle.empty()) {
      idle.reserve(records.size() + 1);
      records.push_back(std::make_unique<Record>());
      records.back()->session = this;
      return HeldRecord(records.back().get());
    }
    HeldRecord record(idle.back());
    idle.pop_back();
    return record;
  }

  static void TakeResult(const DeputyRequestResult& given, PredictResult& result) {
    if (given.error != nullptr) {
      result.status = detail::CopyOf(given.error);
      return;
    }
    result.outputs.resize(given.output_count);
    for (size_t i = 0; i < given.output_count; ++i) {
      const DeputyTensor& made = given.outputs[i];
      if (made.data != nullptr && made.data == result.outputs[i].data()) continue;
      DeputyMemoryRetain(made.memory);
      result.outputs[i] = detail::Adopt(made);
    }
  }
  static void End(void* user, const DeputyRequestResult* given) noexcept {
    HeldRecord record(static_cast<Record*>(user));
    ++record->session->changes;
    PredictResult result;
    result.request = given->request;
    result.submitted_ns = given->submitted_ns;
    result.begun_ns = given->begun_ns;
    result.ended_ns = given->ended_ns;
    result.inputs = std::move(record->inputs);
    result.outputs = std::move(record->outputs);
    try {
      TakeResult(*given, result);
    } catch (const std::bad_alloc&) {
      result.status = Status(StatusCode::kResourceExhausted, "out of memory");
    }
    const PredictCallback done = std::move(record->done);
    record = nullptr;
    done(std::move(result));
  }

  DeputySession* session = nullptr;
  const pid_t process = getpid();
  std::shared_ptr<Model::State> model;
  std::atomic<bool> is_busy{false};  // `views` is in use
  detail::RunViews views;            // of runs, used again
  std::atomic<uint64_t> changes{0};  // of statistics and events
  uint64_t read_statistics = ~uint64_t{0}, read_events = ~uint64_t{0};
  RunStatistics statistics;
  std::vector<RunEvent> events;
  std::mutex mutex;  // of `records` and `idle`
  std::vector<std::unique_ptr<Record>> records;
  std::vector<Record*> idle;
};

inline Result<Session> Model::CreateSession() const {
  if (state_ == nullptr) return detail::NotBuilt();
  auto made = std::make_unique<Session::State>(state_);
  DEPUTY_RETURN_IF_ERROR(detail::StatusOf(DeputyModelCreateSession(state_->model, &made->session)));
  return Session(std::move(made));
}

namespace detail {

// As DeputyRequest has it.
inline int64_t TimeoutOf(const RequestOptions& options) {
  const int64_t ns = options.timeout.count();
  return ns == 0 ? -1 : ns < 0 ? 0 : ns;
}

inline Status NoSession() {
  return Status(StatusCode::kFailedPrecondition, "the session was not created by Model::CreateSession");
}

}  // namespace detail

inline Session::Session() = default;
inline Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
inline Session::~Session() { End(); }
inline Session::Session(Session&&) noexcept = default;
inline Session& Session::operator=(Session&& other) noexcept {
  if (this == &other) return *this;
  End();
  state_ = std::move(other.state_);
  return *this;
}
inline void Session::End() {
  if (state_ != nullptr) state_->End();
}

inline Status Session::Predict(const std::vector<Tensor>& inputs, std::vector<Tensor>* outputs) {
  if (state_ == nullptr) return detail::NoSession();
  if (outputs == nullptr) return Status(StatusCode::kInvalidArgument, "outputs must not be null");
  if (outputs == &inputs) return Status(StatusCode::kInvalidArgument, "inputs and outputs must not be the same vector");
  // A second thread gets its error from the library, and must not touch the views of the first.
  const detail::Turn turn(state_->is_busy);
  detail::RunViews others;
  detail::RunViews& views = turn.is_first() ? state_->views : others;
  detail::ViewInputs(inputs, views.inputs);
  outputs->resize(state_->model->outputs.size());
  views.outputs.Take(*outputs);
  ++state_->changes;
  Status status = detail::StatusOf(DeputySessionRun(state_->session, views.inputs.data(), views.inputs.size(),
                                                    views.outputs.data(), views.outputs.size()));
  views.outputs.GiveBack(*outputs);
  return status;
}

inline Status Session::PredictValues(const std::vector<ModelValue>& inputs, std::vector<ModelValue>* outputs) {
  if (state_ == nullptr) return detail::NoSession();
  if (outputs == nullptr) return Status(StatusCode::kInvalidArgument, "outputs must not be null");
  if (outputs == &inputs) return Status(StatusCode::kInvalidArgument, "inputs and outputs must not be the same vector");
  ++state_->changes;
  const detail::ValueViews views(inputs);
  detail::MadeValues made(state_->model->outputs.size());
  DEPUTY_RETURN_IF_ERROR(
      detail::StatusOf(DeputySessionRunValues(state_->session, views.data(), views.size(), made.data(), made.size())));
  std::vector<ModelValue> values(made.size());
  for (size_t i = 0; i < made.size(); ++i) {
    DEPUTY_ASSIGN_OR_RETURN(values[i], detail::Adopt(std::exchange(made.data()[i], {})));
  }
  *outputs = std::move(values);
  return {};
}

inline Result<Buffer> Session::MakeBuffer(const std::string& name, bool is_input) {
  if (state_ == nullptr) return detail::NoSession();
  return Buffer::State::Made([&](DeputyBuffer** buffer) {
    return is_input ? DeputySessionInputBuffer(state_->session, name.c_str(), buffer)
                    : DeputySessionOutputBuffer(state_->session, name.c_str(), buffer);
  });
}
inline Result<Buffer> Session::InputBuffer(const std::string& name) { return MakeBuffer(name, true); }
inline Result<Buffer> Session::OutputBuffer(const std::string& name) { return MakeBuffer(name, false); }

inline Status Session::Bind(const std::string& name, bool is_input, const Buffer& buffer) {
  if (state_ == nullptr) return detail::NoSession();
  DeputyBuffer* const bound = buffer.empty() ? nullptr : buffer.state_->buffer;
  return detail::StatusOf(is_input ? DeputySessionBindInput(state_->session, name.c_str(), bound)
                                   : DeputySessionBindOutput(state_->session, name.c_str(), bound));
}
inline Status Session::BindInput(const std::string& name, const Buffer& buffer) { return Bind(name, true, buffer); }
inline Status Session::BindOutput(const std::string& name, const Buffer& buffer) { return Bind(name, false, buffer); }

inline Result<uint64_t> Session::PredictAsync(std::vector<Tensor>&& inputs, PredictCallback done,
                                              RequestOptions&& options) {
  if (state_ == nullptr) return detail::NoSession();
  if (done == nullptr) return Status(StatusCode::kInvalidArgument, "the callback is empty");
  State::HeldRecord record = state_->TakeRecord();
  detail::ViewInputs(inputs, record->views.inputs);
  record->views.outputs.View(options.outputs, state_->model->outputs.size());
  const DeputyRequest request{
      sizeof(DeputyRequest),        record->views.inputs.data(),
      record->views.inputs.size(),  options.outputs.empty() ? nullptr : record->views.outputs.data(),
      record->views.outputs.size(), detail::TimeoutOf(options),
      options.priority ? 1 : 0,     options.priority.value_or(0)};
  // The callback may come before the call returns.
  record->inputs = std::move(inputs);
  record->outputs = std::move(options.outputs);
  record->done = std::move(done);
  uint64_t number = 0;
  State::Record* const submitted = record.release();
  DeputyError* const error = DeputySessionSubmit(state_->session, &request, &State::End, submitted, &number);
  if (error == nullptr) return number;
  record.reset(submitted);
  inputs = std::move(record->inputs);
  options.outputs = std::move(record->outputs);
  record->done = nullptr;
  return detail::StatusOf(error);
}

inline Result<std::future<PredictResult>> Session::PredictAsync(std::vector<Tensor>&& inputs,
                                                                RequestOptions&& options) {
  auto promise = std::make_shared<std::promise<PredictResult>>();
  std::future<PredictResult> future = promise->get_future();
  DEPUTY_RETURN_IF_ERROR(PredictAsync(
                             std::move(inputs),
                             [promise](PredictResult&& result) { promise->set_value(std::move(result)); },
                             std::move(options))
                             .status());
  return future;
}

inline Status Session::SetInFlight(size_t most, ResultOrder order) {
  if (state_ == nullptr) return detail::NoSession();
  return detail::StatusOf(DeputySessionSetInFlight(state_->session, most, order == ResultOrder::kAsTheyEnd ? 1 : 0));
}
inline void Session::CancelRequest(uint64_t request) {
  if (state_ != nullptr) DeputySessionCancelRequest(state_->session, request);
}

inline Status Session::Resize(const std::vector<Shape>& shapes) {
  if (state_ == nullptr) return detail::NoSession();
  ++state_->changes;
  const std::vector<DeputyShape> given = detail::ShapesOf(shapes);
  return detail::StatusOf(DeputySessionResize(state_->session, given.data(), given.size()));
}

inline void Session::SetTimeout(std::chrono::nanoseconds timeout) {
  if (state_ != nullptr) DeputySessionSetTimeout(state_->session, timeout.count());
}
inline void Session::Cancel() {
  if (state_ != nullptr) DeputySessionCancel(state_->session);
}
inline void Session::SetHints(const RunHints& hints) {
  if (state_ == nullptr) return;
  const DeputyRunHints given{sizeof(DeputyRunHints), hints.power_level, static_cast<DeputyDType>(hints.precision),
                             hints.priority};
  DeputyErrorFree(DeputySessionSetHints(state_->session, &given));
}
inline Status Session::ResetStates() {
  return state_ == nullptr ? detail::NoSession() : detail::StatusOf(DeputySessionResetStates(state_->session));
}

inline void Session::EnableProfiling(bool on) {
  if (state_ == nullptr) return;
  ++state_->changes;
  DeputySessionEnableProfiling(state_->session, on ? 1 : 0);
}
inline const RunStatistics& Session::statistics() const {
  static const RunStatistics none;
  if (state_ == nullptr) return none;
  if (const uint64_t changes = state_->changes; state_->read_statistics != changes) {
    state_->statistics = detail::ReportedAlways<RunStatistics>(
        [this](DeputyReport** report) { return DeputySessionStatistics(state_->session, report); });
    state_->read_statistics = changes;
  }
  return state_->statistics;
}
inline void Session::EnableEvents(bool on) {
  if (state_ == nullptr) return;
  ++state_->changes;
  DeputySessionEnableEvents(state_->session, on ? 1 : 0);
}
inline const std::vector<RunEvent>& Session::events() const {
  static const std::vector<RunEvent> none;
  if (state_ == nullptr) return none;
  if (const uint64_t changes = state_->changes; state_->read_events != changes) {
    state_->events = detail::ReportedAlways<std::vector<RunEvent>>(
        [this](DeputyReport** report) { return DeputySessionEvents(state_->session, report); });
    state_->read_events = changes;
  }
  return state_->events;
}

inline Result<MeasureReport> Session::MeasurePlacement(const std::vector<Tensor>& inputs,
                                                       const MeasureOptions& options) {
  if (state_ == nullptr) return detail::NoSession();
  ++state_->changes;
  std::vector<DeputyTensor> views;
  detail::ViewInputs(inputs, views);
  const auto call = [](void* user, const char* candidate, double used) {
    static_cast<const MeasureOptions*>(user)->progress(candidate, used);
  };
  const DeputyMeasureOptions given{sizeof(DeputyMeasureOptions), options.budget.count(), options.margin,
                                   options.progress ? +call : nullptr, const_cast<MeasureOptions*>(&options)};
  return detail::Reported<MeasureReport>([&](DeputyReport** report) {
    return DeputySessionMeasurePlacement(state_->session, views.data(), views.size(), &given, report);
  });
}

inline Result<PlacementReport> Session::Placement() const {
  if (state_ == nullptr) return detail::NoSession();
  return detail::Reported<PlacementReport>(
      [this](DeputyReport** report) { return DeputySessionPlacement(state_->session, 1, report); });
}
inline Result<PlacementReport> Session::DelegateShares() const {
  if (state_ == nullptr) return detail::NoSession();
  return detail::Reported<PlacementReport>(
      [this](DeputyReport** report) { return DeputySessionPlacement(state_->session, 0, report); });
}
inline Result<ModelTraits> Session::Traits() const {
  if (state_ == nullptr) return detail::NoSession();
  return detail::Reported<ModelTraits>(
      [this](DeputyReport** report) { return DeputySessionTraits(state_->session, report); });
}

}  // namespace deputy
