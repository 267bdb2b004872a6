#include "sessions.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "arguments.hpp"
#include "calls.hpp"
#include "errors.hpp"
#include "reports.hpp"

namespace deputy::python {

// The one thread that is in a session; a second one is refused before it touches anything.
class OneThread {
 public:
  explicit OneThread(Session& session) : session_(session) {
    Check(session);
    session.is_running_ = true;
  }
  static void Check(const Session& session) {
    if (session.is_running_)
      Raise(kDeputyFailedPrecondition, "another thread is in a run of this session",
            "each thread has a session of its own; Model.run takes care of that");
  }
  static void CheckNoRequests(const Session& session) {
    if (session.in_flight_ != 0)
      Raise(kDeputyFailedPrecondition, "requests of this session are in flight", "wait for their results");
  }
  ~OneThread() {
    session_.arguments_.Clear();
    session_.is_running_ = false;
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  Session& session_;
};

namespace {

// Settings and reports of a session, which the library leaves to its one thread. Settings keep the GIL: they take no
// time.
template <class F>
auto Alone(Session& session, const F& function) {
  const OneThread one(session);
  OneThread::CheckNoRequests(session);
  return function(session.get());
}

template <class F>
nb::any ReportAlone(Session& session, const F& function) {
  return Alone(session, [&](DeputySession* handle) {
    return ReportOf([&](DeputyReport** report) { return function(handle, report); });
  });
}

// None for an output that was written to a buffer, or an optional one that is empty.
nb::object ResultOf(DeputyTensor& tensor, bool as_tensor) {
  if (tensor.data == nullptr && tensor.dtype == kDeputyUndefined) return nb::none();
  return as_tensor ? TensorOf(tensor) : ArrayOf(tensor);
}

// Releases what is left in the results of a run when they are out of scope.
template <auto release>
struct ReleaseAll {
  template <class Results>
  void operator()(Results* results) const {
    for (auto& one : *results) release(&one);
  }
};
template <class T, auto release>
using Held = std::unique_ptr<std::vector<T>, ReleaseAll<release>>;

// The outputs by their names; takes over the references of `tensors`, also where it throws.
nb::object ResultsOf(const Model& model, std::vector<DeputyTensor>& tensors, const std::vector<nb::object>& given,
                     bool as_tensors) {
  const Held<DeputyTensor, &DeputyTensorRelease> held(&tensors);
  nb::dict results;
  for (size_t i = 0; i < tensors.size(); ++i)
    results[model.outputs()[i].name] = given[i].is_valid() ? given[i] : ResultOf(tensors[i], as_tensors);
  return results;
}

// A request in flight.
struct Pending {
  nb::object session;
  const Model* model;
  Arguments arguments;
  bool as_tensors;
  nb::object done;
};

nb::object OutputsOf(const Pending& pending, const DeputyRequestResult& result) {
  std::vector<DeputyTensor> tensors(result.outputs, result.outputs + result.output_count);
  for (DeputyTensor& tensor : tensors) DeputyMemoryRetain(tensor.memory);
  return ResultsOf(*pending.model, tensors, pending.arguments.given, pending.as_tensors);
}

nb::object ExceptionOfType(PyObject* type, const char* message) { return nb::borrow(type)(message); }

// Always calls `done`, without which the program would wait forever.
void Deliver(Pending& pending, const DeputyRequestResult& result) {
  nb::cast<Session&>(pending.session).EndRequest();
  nb::object outputs = nb::none(), error = nb::none();
  try {
    if (result.error != nullptr)
      error = ExceptionOf(result.error);
    else
      outputs = OutputsOf(pending, result);
  } catch (const nb::python_error& raised) {
    error = nb::borrow(raised.value());
  } catch (const std::bad_alloc& raised) {
    error = ExceptionOfType(PyExc_MemoryError, raised.what());
  } catch (const std::exception& raised) {
    error = ExceptionOfType(PyExc_RuntimeError, raised.what());
  }
  pending.done(outputs, error);
}

// Called by a thread of the session.
void Done(void* user, const DeputyRequestResult* result) {
  {
    const nb::gil_scoped_acquire locked;
    const Callback callback;
    const std::unique_ptr<Pending> pending(static_cast<Pending*>(user));
    try {
      Deliver(*pending, *result);
    } catch (nb::python_error& error) {
      error.restore();
      PyErr_WriteUnraisable(pending->done.ptr());
    } catch (const std::exception& error) {
      PyErr_SetString(PyExc_RuntimeError, error.what());
      PyErr_WriteUnraisable(pending->done.ptr());
    }
  }
  EndRequest();
}

// The values of a model with sequences or optionals.
struct Values {
  std::vector<std::vector<Borrowed>> borrowed;
  std::vector<std::vector<DeputyTensor>> tensors;
  std::vector<DeputyValue> values;
};

// `object` is invalid where an optional value is left out.
void AddValue(const nb::object& object, const DeputyValueInfo& info, Values& values) {
  const bool is_sequence = info.kind == 1 || info.kind == 3;
  std::vector<Borrowed>& borrowed = values.borrowed.emplace_back();
  std::vector<DeputyTensor>& tensors = values.tensors.emplace_back();
  const bool is_given = object.is_valid();
  if (is_given && is_sequence) {
    for (nb::handle element : nb::list(object)) borrowed.push_back(Borrowed::Input(element, info.dtype));
  } else if (is_given) {
    borrowed.push_back(Borrowed::Input(object, info.dtype));
  }
  for (const Borrowed& one : borrowed) tensors.push_back(one.tensor());
  values.values.push_back({is_given && is_sequence, info.dtype, tensors.data(), tensors.size(), nullptr});
}

nb::object ObjectOf(const DeputyValue& value, bool as_tensors) {
  const auto element = [&](size_t index) {
    DeputyTensor tensor = value.tensors[index];
    tensor.memory = value.memory;
    DeputyMemoryRetain(tensor.memory);
    const std::unique_ptr<DeputyTensor, decltype(&DeputyTensorRelease)> held(&tensor, &DeputyTensorRelease);
    return ResultOf(tensor, as_tensors);
  };
  if (value.is_sequence == 0) return value.count == 0 ? nb::none() : element(0);
  nb::list elements;
  for (size_t i = 0; i < value.count; ++i) elements.append(element(i));
  return elements;
}

void TellCandidate(void* user, const char* candidate, double used) {
  const nb::gil_scoped_acquire locked;
  const nb::handle sink(static_cast<PyObject*>(user));
  try {
    sink(candidate, used);
  } catch (nb::python_error& error) {
    error.restore();
    PyErr_WriteUnraisable(sink.ptr());
  }
}

}  // namespace

Session::Session(nb::object model) : model_object_(std::move(model)), model_(nb::cast<const Model*>(model_object_)) {
  Check(Unlocked([this] { return DeputyModelCreateSession(model_->get(), &session_); }));
  bound_inputs_.resize(model_->inputs().size());
  bound_outputs_.resize(model_->outputs().size());
  Register(session_);
}

Session::~Session() {
  if (session_ != nullptr) Free(session_);
}

nb::object Session::Run(nb::handle inputs, nb::handle out, bool as_tensors) {
  const OneThread one(*this);
  if (model_->has_values()) return RunValues(inputs, out, as_tensors);
  Take(inputs, out, arguments_);
  std::vector<DeputyTensor>& outputs = arguments_.output_tensors;
  Check(Unlocked([&] {
    return DeputySessionRun(session_, arguments_.input_tensors.data(), arguments_.input_tensors.size(), outputs.data(),
                            outputs.size());
  }));
  return ResultsOf(*model_, outputs, arguments_.given, as_tensors);
}

nb::object Session::RunValues(nb::handle inputs, nb::handle out, bool as_tensors) {
  if (!out.is_none())
    Raise(kDeputyFailedPrecondition, "a model with sequences or optionals writes to no arrays of the caller");
  const std::vector<Port>& ports = model_->inputs();
  Given given(inputs, ports, "input");
  Values values;
  for (size_t i = 0; i < ports.size(); ++i) {
    const bool is_optional = ports[i].info->kind == 2 || ports[i].info->kind == 3;
    AddValue(is_optional ? given.At(i) : given.Required(i), *ports[i].info, values);
  }
  given.CheckNames();
  std::vector<DeputyValue> outputs(model_->outputs().size());
  Check(Unlocked([&] {
    return DeputySessionRunValues(session_, values.values.data(), values.values.size(), outputs.data(), outputs.size());
  }));
  const Held<DeputyValue, &DeputyValueRelease> held(&outputs);
  nb::dict results;
  for (size_t i = 0; i < outputs.size(); ++i) results[model_->outputs()[i].name] = ObjectOf(outputs[i], as_tensors);
  return results;
}

uint64_t Session::Submit(nb::object self, nb::handle inputs, nb::handle out, bool as_tensors, int64_t timeout_ns,
                         nb::object priority, nb::object done) {
  Session& session = nb::cast<Session&>(self);
  OneThread::Check(session);
  auto pending = std::make_unique<Pending>(Pending{self, session.model_, {}, as_tensors, std::move(done)});
  session.Take(inputs, out, pending->arguments);
  Arguments& arguments = pending->arguments;
  DeputyRequest request{};
  request.struct_size = sizeof(request);
  request.inputs = arguments.input_tensors.data();
  request.input_count = arguments.input_tensors.size();
  request.outputs = arguments.output_tensors.data();
  request.output_count = arguments.output_tensors.size();
  request.timeout_ns = timeout_ns == 0 ? -1 : timeout_ns < 0 ? 0 : timeout_ns;  // of Python 0 is no limit
  request.has_priority = priority.is_none() ? 0 : 1;
  if (!priority.is_none()) request.priority = nb::cast<int32_t>(priority);
  BeginRequest();
  ++session.in_flight_;
  Pending* const user = pending.release();  // an accepted request may end before Submit returns
  uint64_t number = 0;
  DeputyError* error = nullptr;
  try {
    error = Unlocked([&] { return DeputySessionSubmit(session.session_, &request, &Done, user, &number); });
  } catch (...) {
    pending.reset(user);
    --session.in_flight_;
    python::EndRequest();
    throw;
  }
  if (error != nullptr) {
    pending.reset(user);
    --session.in_flight_;
    python::EndRequest();
    python::Check(error);
  }
  return number;
}

void Session::Resize(const std::vector<std::vector<int64_t>>& shapes) {
  const OneThread one(*this);
  std::vector<DeputyShape> given;
  for (const std::vector<int64_t>& shape : shapes) given.push_back({shape.data(), static_cast<uint32_t>(shape.size())});
  Check(Unlocked([&] { return DeputySessionResize(session_, given.data(), given.size()); }));
}

nb::any Session::MeasurePlacement(nb::handle inputs, int64_t budget_ns, double margin, nb::object progress) {
  const OneThread one(*this);
  Take(inputs, nb::none(), arguments_);
  DeputyMeasureOptions options{};
  options.struct_size = sizeof(options);
  options.budget_ns = budget_ns;
  options.margin = margin;
  options.progress = progress.is_none() ? nullptr : &TellCandidate;
  options.user = progress.ptr();
  return ReportOf([&](DeputyReport** report) {
    return DeputySessionMeasurePlacement(session_, arguments_.input_tensors.data(), arguments_.input_tensors.size(),
                                         &options, report);
  });
}

void Session::Bind(const std::string& name, const DeputyBuffer* buffer, bool is_input) {
  const OneThread one(*this);
  Check(Unlocked([&] {
    return is_input ? DeputySessionBindInput(session_, name.c_str(), buffer)
                    : DeputySessionBindOutput(session_, name.c_str(), buffer);
  }));
  const std::vector<Port>& ports = is_input ? model_->inputs() : model_->outputs();
  for (size_t i = 0; i < ports.size(); ++i)
    if (name == ports[i].info->name) (is_input ? bound_inputs_ : bound_outputs_)[i] = buffer != nullptr;
}

void AddSessions(nb::module_& module) {
  nb::class_<Session> bound(module, "Session");
  bound.def(nb::init<nb::object>(), nb::arg("model"), nb::sig("def __init__(self, model: Model) -> None"))
      .def("run", &Session::Run, nb::arg("inputs"), nb::arg("out").none() = nb::none(), nb::arg("as_tensors") = false,
           nb::sig("def run(self, inputs: object, out: object = None, as_tensors: bool = False) -> "
                   "dict[str, typing.Any]"))
      .def("submit", &Session::Submit, nb::arg("inputs"), nb::arg("out").none(), nb::arg("as_tensors"),
           nb::arg("timeout_ns"), nb::arg("priority").none(), nb::arg("done"),
           nb::sig("def submit(self, inputs: object, out: object, as_tensors: bool, timeout_ns: int, "
                   "priority: int | None, done: collections.abc.Callable[..., None]) -> int"))
      .def("set_in_flight",
           [](Session& s, size_t most, bool as_they_end) {
             Check(Unlocked([&] { return DeputySessionSetInFlight(s.get(), most, as_they_end); }));
           })
      .def("cancel_request",
           [](Session& s, uint64_t number) {
             const Call call;
             DeputySessionCancelRequest(s.get(), number);
           })
      .def("cancel",
           [](Session& s) {
             const Call call;
             DeputySessionCancel(s.get());
           })
      .def("set_timeout",
           [](Session& s, int64_t timeout_ns) {
             Alone(s, [&](DeputySession* session) { DeputySessionSetTimeout(session, timeout_ns); });
           })
      .def("set_hints",
           [](Session& s, int32_t power_level, const std::string& precision, int32_t priority) {
             const DeputyDType least = precision.empty() ? kDeputyUndefined : DTypeOf(precision.c_str());
             const DeputyRunHints hints{sizeof(DeputyRunHints), power_level, least, priority};
             Check(Alone(s, [&](DeputySession* session) { return DeputySessionSetHints(session, &hints); }));
           })
      .def("resize", &Session::Resize, nb::arg("shapes"))
      .def("reset_states",
           [](Session& s) {
             Alone(s, [](DeputySession* session) {
               Check(Unlocked([session] { return DeputySessionResetStates(session); }));
             });
           })
      .def("enable_profiling",
           [](Session& s, bool on) {
             Alone(s, [on](DeputySession* session) { DeputySessionEnableProfiling(session, on); });
           })
      .def("enable_events",
           [](Session& s, bool on) {
             Alone(s, [on](DeputySession* session) { DeputySessionEnableEvents(session, on); });
           })
      .def("statistics", [](Session& s) { return ReportAlone(s, &DeputySessionStatistics); })
      .def("events", [](Session& s) { return ReportAlone(s, &DeputySessionEvents); })
      .def("placement",
           [](Session& s, bool nodes) {
             return ReportAlone(s, [nodes](const DeputySession* session, DeputyReport** report) {
               return DeputySessionPlacement(session, nodes, report);
             });
           })
      .def("traits", [](Session& s) { return ReportAlone(s, &DeputySessionTraits); })
      .def("measure_placement", &Session::MeasurePlacement, nb::arg("inputs"), nb::arg("budget_ns"), nb::arg("margin"),
           nb::arg("progress").none());
  AddBuffers(module, bound);
}

}  // namespace deputy::python
