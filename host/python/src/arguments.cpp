#include "arguments.hpp"

#include <string>
#include <utility>

#include "errors.hpp"
#include "sessions.hpp"

namespace deputy::python {
namespace {

nb::list NamesOf(const std::vector<Port>& ports) {
  nb::list names;
  for (const Port& port : ports) names.append(port.name);
  return names;
}

nb::object Names() { return nb::module_::import_("deputy._names"); }

}  // namespace

Given::Given(nb::handle given, const std::vector<Port>& ports, const char* kind) : ports_(ports), kind_(kind) {
  if (PyDict_Check(given.ptr()) != 0) {
    dict_ = nb::borrow(given);
  } else if (PyList_Check(given.ptr()) != 0 || PyTuple_Check(given.ptr()) != 0) {
    list_ = nb::borrow(given);
  } else if (nb::hasattr(given, "keys")) {
    dict_ = nb::module_::import_("builtins").attr("dict")(given);
  } else {
    list_ = nb::make_tuple(given);
  }
  if (list_.is_valid() && nb::len(list_) > ports.size()) RefuseCount();
}

nb::object Given::At(size_t index) {
  PyObject* found = nullptr;
  if (dict_.is_valid()) {
    found = PyDict_GetItemWithError(dict_.ptr(), ports_[index].name.ptr());
    if (found == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
  } else if (index < nb::len(list_)) {
    found = PySequence_Fast_GET_ITEM(list_.ptr(), static_cast<Py_ssize_t>(index));
  }
  if (found == nullptr) return {};
  ++used_;
  // The dict or list need not keep it: what reads the other objects may run code of the program.
  return found == Py_None ? nb::object() : nb::borrow(found);
}

nb::object Given::Required(size_t index) {
  nb::object object = At(index);
  if (!object.is_valid()) Refuse(index);
  return object;
}

void Given::CheckNames() const {
  if (dict_.is_valid() && nb::len(dict_) != used_) RefuseNames();
}

void Given::Refuse(size_t index) const {
  if (dict_.is_valid()) RefuseNames();
  if (list_.is_valid() && nb::len(list_) < ports_.size()) RefuseCount();
  const std::string message = std::string("the ") + kind_ + " '" + ports_[index].info->name + "' is missing";
  Raise(kDeputyInvalidArgument, message.c_str());
}

void Given::RefuseNames() const { Names().attr("refuse_unknown")(kind_, nb::list(dict_), NamesOf(ports_)); }

void Given::RefuseCount() const {
  Names().attr("refuse_count")(kind_, nb::len(list_), NamesOf(ports_));
  Raise(kDeputyInternal, "a number of values is refused without a reason");
}

void Arguments::Clear() {
  inputs.clear();
  outputs.clear();
  given.clear();
}

void Session::TakeInputs(nb::handle inputs, Arguments& arguments) const {
  const std::vector<Port>& ports = model_->inputs();
  arguments.input_tensors.assign(ports.size(), {});
  Given given(inputs, ports, "input");
  for (size_t i = 0; i < ports.size(); ++i) {
    const nb::object object = bound_inputs_[i] ? given.At(i) : given.Required(i);
    if (!object.is_valid()) continue;
    arguments.inputs.push_back(Borrowed::Input(object, ports[i].info->dtype));
    arguments.input_tensors[i] = arguments.inputs.back().tensor();
  }
  given.CheckNames();
}

void Session::TakeOutputs(nb::handle out, Arguments& arguments) const {
  const std::vector<Port>& ports = model_->outputs();
  arguments.output_tensors.assign(ports.size(), {});
  arguments.given.resize(ports.size());
  if (out.is_none()) return;
  Given given(out, ports, "output");
  for (size_t i = 0; i < ports.size(); ++i) {
    nb::object object = given.At(i);
    if (!object.is_valid()) continue;
    arguments.outputs.push_back(Borrowed::Output(object, ports[i].info->dtype));
    arguments.output_tensors[i] = arguments.outputs.back().tensor();
    arguments.given[i] = std::move(object);
  }
  given.CheckNames();
}

void Session::Take(nb::handle inputs, nb::handle out, Arguments& arguments) const {
  arguments.Clear();
  arguments.inputs.reserve(model_->inputs().size());  // tensors point to what is in them
  arguments.outputs.reserve(model_->outputs().size());
  TakeInputs(inputs, arguments);
  TakeOutputs(out, arguments);
}

}  // namespace deputy::python
