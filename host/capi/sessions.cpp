// Sessions of the C API: runs, requests and settings.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/process_fork.hpp"
#include "base/status.hpp"
#include "capi/error.hpp"
#include "capi/field_writer.hpp"
#include "capi/handles.hpp"
#include "capi/tensors.hpp"

namespace deputy::host::capi {
namespace {

// What `T` of a caller whose header knows only the first `struct_size` bytes of it says; the rest is as in `defaults`.
template <class T>
T Known(const T* given, T defaults) {
  if (given == nullptr) return defaults;
  std::memcpy(&defaults, given, std::min(given->struct_size, sizeof(T)));
  return defaults;
}

Status CheckInputs(const DeputySession& session, const void* inputs, size_t count) {
  if (inputs == nullptr && count != 0) return Error(StatusCode::kInvalidArgument, "inputs is null");
  if (count > session.input_count)  // fewer are an error of the run, which names them
    return Error(StatusCode::kInvalidArgument, "{} inputs given, the model has {}", count, session.input_count);
  return {};
}

Status CheckOutputs(const DeputySession& session, const void* outputs, size_t count) {
  if (outputs == nullptr && count != 0) return Error(StatusCode::kInvalidArgument, "outputs is null");
  if (count != session.output_count)
    return Error(StatusCode::kInvalidArgument, "{} outputs are given, but the model has {}", count,
                 session.output_count);
  return {};
}

// As RequestOptions has it; in C a request that is not filled in has the limit of its session.
std::chrono::nanoseconds TimeoutOf(const DeputyRequest& request) {
  if (request.timeout_ns == 0) return deputy::RequestOptions().timeout;
  return std::chrono::nanoseconds(std::max<int64_t>(request.timeout_ns, 0));
}

// Gives a result to the caller: its own memory stays as it is, other memory is handed over.
void Give(Tensor& result, DeputyTensor& given) {
  const bool is_lent = result.owner() == nullptr;  // by the caller: the library's has an owner
  if (!result.empty() && (is_lent || result.data() == given.data)) return;
  DeputyTensor made = Owned(result);
  DeputyMemoryRelease(given.memory);
  given = made;
}

// Forgets memory of the caller; dtype and shape stay, so that the next run allocates nothing.
void Forget(std::vector<Tensor>& tensors) {
  for (Tensor& tensor : tensors) tensor.MoveTo(nullptr);
}

RequestRecord& TakeRecord(DeputySession& session) {
  const std::lock_guard lock(session.mutex);
  if (session.idle.empty()) {
    session.records.push_back(std::make_unique<RequestRecord>());
    session.idle.reserve(session.records.size());
    session.records.back()->session = &session;
    return *session.records.back();
  }
  RequestRecord& record = *session.idle.back();
  session.idle.pop_back();
  return record;
}

// Gives a record back, without memory of the caller.
struct ReturnRecord {
  void operator()(RequestRecord* record) const {
    for (std::vector<DeputyTensor>* tensors : {&record->results, &record->given}) {
      for (const DeputyTensor& tensor : *tensors) DeputyMemoryRelease(tensor.memory);
      tensors->clear();
    }
    Forget(record->inputs);
    Forget(record->outputs);
    const std::lock_guard lock(record->session->mutex);
    record->session->idle.push_back(record);
  }
};
using HeldRecord = std::unique_ptr<RequestRecord, ReturnRecord>;

// The outputs of a request as those of C.
Status GiveResults(PredictResult& result, RequestRecord& record) {
  try {
    record.results.reserve(result.outputs.size());
    record.results = record.given;
    for (const DeputyTensor& tensor : record.results) DeputyMemoryRetain(tensor.memory);
    record.results.resize(result.outputs.size());
    for (size_t i = 0; i < result.outputs.size(); ++i) Give(result.outputs[i], record.results[i]);
    return {};
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kResourceExhausted, "out of memory");
  }
}

void End(HeldRecord record, PredictResult&& result) {
  if (result.status.ok()) result.status = GiveResults(result, *record);
  const std::unique_ptr<DeputyError, decltype(&DeputyErrorFree)> error(ErrorOf(std::move(result.status)),
                                                                       &DeputyErrorFree);
  const DeputyRequestResult given{sizeof(DeputyRequestResult),
                                  result.request,
                                  error.get(),
                                  error == nullptr ? record->results.data() : nullptr,
                                  error == nullptr ? record->results.size() : 0,
                                  result.submitted_ns,
                                  result.begun_ns,
                                  result.ended_ns};
  record->inputs = std::move(result.inputs);
  record->outputs = std::move(result.outputs);
  record->done(record->user, &given);
}

}  // namespace
}  // namespace deputy::host::capi

using deputy::Result;
using deputy::Shape;
using deputy::Status;
using deputy::StatusCode;
using namespace deputy::host::capi;

void DeputySessionFree(DeputySession* session) {
  if (session == nullptr) return;
  // A thread in a run needs more than the session of the runtime, which waits for it by itself.
  while (session->is_busy.load(std::memory_order_acquire) && !deputy::host::IsForkedChild()) {
    session->session.Cancel();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  delete session;
}

DeputyError* DeputySessionRun(DeputySession* session, const DeputyTensor* inputs, size_t input_count,
                              DeputyTensor* outputs, size_t output_count) {
  if (session == nullptr) return MissingArgument("session");
  // A second thread gets its error from Predict, and must not touch the tensors of the first.
  const bool is_first = !session->is_busy.exchange(true, std::memory_order_acquire);
  RunTensors others;
  RunTensors& tensors = is_first ? session->tensors : others;
  DeputyError* const error = Guard([&]() -> Status {
    DEPUTY_RETURN_IF_ERROR(CheckInputs(*session, inputs, input_count));
    DEPUTY_RETURN_IF_ERROR(CheckOutputs(*session, outputs, output_count));
    if (Status taken = Take({inputs, input_count}, tensors.inputs); !taken.ok()) return std::move(taken).At("inputs");
    if (Status taken = Take({outputs, output_count}, tensors.outputs); !taken.ok())
      return std::move(taken).At("outputs");
    DEPUTY_RETURN_IF_ERROR(session->session.Predict(tensors.inputs, &tensors.outputs));
    for (size_t i = 0; i < output_count; ++i) Give(tensors.outputs[i], outputs[i]);
    return {};
  });
  Forget(tensors.inputs);
  Forget(tensors.outputs);
  if (is_first) session->is_busy.store(false, std::memory_order_release);
  return error;
}

DeputyError* DeputySessionRunValues(DeputySession* session, const DeputyValue* inputs, size_t input_count,
                                    DeputyValue* outputs, size_t output_count) {
  if (session == nullptr) return MissingArgument("session");
  return Guard([&]() -> Status {
    DEPUTY_RETURN_IF_ERROR(CheckInputs(*session, inputs, input_count));
    DEPUTY_RETURN_IF_ERROR(CheckOutputs(*session, outputs, output_count));
    std::vector<deputy::ModelValue> values, results;
    for (size_t i = 0; i < input_count; ++i) {
      Result<deputy::ModelValue> value = Take(inputs[i]);
      if (!value.ok()) return std::move(value).status().At("input " + std::to_string(i));
      values.push_back(std::move(value).value());
    }
    DEPUTY_RETURN_IF_ERROR(session->session.PredictValues(values, &results));
    std::vector<DeputyValue> made;
    made.reserve(output_count);
    try {
      for (const deputy::ModelValue& result : results) made.push_back(Owned(result));
    } catch (const std::bad_alloc&) {
      for (DeputyValue& value : made) DeputyValueRelease(&value);
      throw;
    }
    std::copy(made.begin(), made.end(), outputs);
    return {};
  });
}

DeputyError* DeputySessionSubmit(DeputySession* session, const DeputyRequest* request, DeputyRequestDone done,
                                 void* user, uint64_t* number) {
  if (session == nullptr) return MissingArgument("session");
  if (request == nullptr) return MissingArgument("request");
  if (done == nullptr) return MissingArgument("done");
  const DeputyRequest given = Known(request, {sizeof(DeputyRequest), nullptr, 0, nullptr, 0, 0, 0, 0});
  return Guard([&]() -> Status {
    DEPUTY_RETURN_IF_ERROR(CheckInputs(*session, given.inputs, given.input_count));
    if (given.outputs != nullptr) DEPUTY_RETURN_IF_ERROR(CheckOutputs(*session, given.outputs, given.output_count));
    HeldRecord record(&TakeRecord(*session));
    record->done = done;
    record->user = user;
    const size_t outputs = given.outputs == nullptr ? 0 : given.output_count;
    DEPUTY_RETURN_IF_ERROR(Take({given.inputs, given.input_count}, record->inputs));
    DEPUTY_RETURN_IF_ERROR(Take({given.outputs, outputs}, record->outputs));
    record->given.assign(given.outputs, given.outputs + outputs);
    for (const DeputyTensor& tensor : record->given) DeputyMemoryRetain(tensor.memory);
    deputy::RequestOptions options{std::move(record->outputs), TimeoutOf(given), {}};
    if (given.has_priority != 0) options.priority = given.priority;
    Result<uint64_t> accepted = session->session.PredictAsync(
        std::move(record->inputs),
        [held = record.get()](deputy::PredictResult&& result) { End(HeldRecord(held), std::move(result)); },
        std::move(options));
    if (!accepted.ok()) {
      record->outputs = std::move(options.outputs);
      return std::move(accepted).status();
    }
    (void)record.release();  // it is held by the request
    if (number != nullptr) *number = *accepted;
    return {};
  });
}

DeputyError* DeputySessionSetInFlight(DeputySession* session, size_t most, int as_they_end) {
  if (session == nullptr) return MissingArgument("session");
  return Guard([&] {
    return session->session.SetInFlight(
        most, as_they_end != 0 ? deputy::ResultOrder::kAsTheyEnd : deputy::ResultOrder::kAsSubmitted);
  });
}

void DeputySessionCancelRequest(DeputySession* session, uint64_t number) {
  if (session != nullptr) session->session.CancelRequest(number);
}
void DeputySessionCancel(DeputySession* session) {
  if (session != nullptr) session->session.Cancel();
}
void DeputySessionSetTimeout(DeputySession* session, int64_t timeout_ns) {
  if (session != nullptr) session->session.SetTimeout(std::chrono::nanoseconds(timeout_ns));
}

DeputyError* DeputySessionSetHints(DeputySession* session, const DeputyRunHints* hints) {
  if (session == nullptr) return MissingArgument("session");
  const DeputyRunHints given = Known(hints, {sizeof(DeputyRunHints), 0, 0, 0});
  return Guard([&]() -> Status {
    session->session.SetHints({given.power_level, static_cast<deputy::DType>(given.precision), given.priority});
    return {};
  });
}

DeputyError* DeputySessionResize(DeputySession* session, const DeputyShape* shapes, size_t count) {
  if (session == nullptr) return MissingArgument("session");
  if (shapes == nullptr && count != 0) return MissingArgument("shapes");
  return Guard([&] {
    std::vector<Shape> given;
    for (size_t i = 0; i < count; ++i) given.push_back(ShapeOf(shapes[i].extents, shapes[i].rank));
    return session->session.Resize(given);
  });
}

DeputyError* DeputySessionResetStates(DeputySession* session) {
  if (session == nullptr) return MissingArgument("session");
  return Guard([&] { return session->session.ResetStates(); });
}

void DeputySessionEnableProfiling(DeputySession* session, int on) {
  if (session != nullptr) session->session.EnableProfiling(on != 0);
}
void DeputySessionEnableEvents(DeputySession* session, int on) {
  if (session != nullptr) session->session.EnableEvents(on != 0);
}

DeputyError* DeputySessionStatistics(const DeputySession* session, DeputyReport** report) {
  return ReportOf(session, "session", report,
                  [&]() -> Result<deputy::RunStatistics> { return session->session.statistics(); });
}

DeputyError* DeputySessionEvents(const DeputySession* session, DeputyReport** report) {
  return ReportOf(session, "session", report,
                  [&]() -> Result<std::vector<deputy::RunEvent>> { return session->session.events(); });
}

DeputyError* DeputySessionPlacement(const DeputySession* session, int nodes, DeputyReport** report) {
  return ReportOf(session, "session", report,
                  [&] { return nodes != 0 ? session->session.Placement() : session->session.DelegateShares(); });
}

DeputyError* DeputySessionTraits(const DeputySession* session, DeputyReport** report) {
  return ReportOf(session, "session", report, [&] { return session->session.Traits(); });
}

DeputyError* DeputySessionMeasurePlacement(DeputySession* session, const DeputyTensor* inputs, size_t count,
                                           const DeputyMeasureOptions* options, DeputyReport** report) {
  const deputy::MeasureOptions defaults;
  const DeputyMeasureOptions given =
      Known(options, {sizeof(DeputyMeasureOptions), defaults.budget.count(), defaults.margin, nullptr, nullptr});
  return ReportOf(session, "session", report, [&]() -> Result<deputy::MeasureReport> {
    std::vector<deputy::Tensor> tensors;
    DEPUTY_RETURN_IF_ERROR(Take({inputs, inputs == nullptr ? 0 : count}, tensors));
    deputy::MeasureOptions wanted{std::chrono::nanoseconds(given.budget_ns), given.margin};
    if (given.progress != nullptr)
      wanted.progress = [&given](const std::string& candidate, double used) {
        given.progress(given.user, candidate.c_str(), used);
      };
    return session->session.MeasurePlacement(tensors, wanted);
  });
}
