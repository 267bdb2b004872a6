// What is given to a run: by names or in order.
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

// The objects that are given for the ports, in their order; invalid where there is none.
class Given {
 public:
  Given(nb::handle given, const std::vector<Port>& ports, const char* kind) : ports_(ports), kind_(kind) {
    if (PyDict_Check(given.ptr()) != 0) {
      dict_ = nb::borrow(given);
    } else if (PyList_Check(given.ptr()) != 0 || PyTuple_Check(given.ptr()) != 0) {
      list_ = nb::borrow(given);
    } else if (nb::hasattr(given, "keys")) {
      dict_ = nb::module_::import_("builtins").attr("dict")(given);
    } else {
      list_ = nb::make_tuple(given);
    }
    if (list_.is_valid() && nb::len(list_) > ports.size()) Refuse();
  }

  nb::handle At(size_t index) {
    PyObject* found = nullptr;
    if (dict_.is_valid()) {
      found = PyDict_GetItemWithError(dict_.ptr(), ports_[index].name.ptr());
      if (found == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
    } else if (index < nb::len(list_)) {
      found = PySequence_Fast_GET_ITEM(list_.ptr(), static_cast<Py_ssize_t>(index));
    }
    used_ += found != nullptr ? 1 : 0;
    return found;
  }

  // Whether there are names that are none of a port.
  bool HasOther() const { return dict_.is_valid() && nb::len(dict_) != used_; }

  // Throws an error that says which name is missing or unknown, with the nearest one.
  [[noreturn]] void Refuse() const {
    nb::module_::import_("deputy._names")
        .attr("refuse")(kind_, dict_.is_valid() ? nb::object(nb::list(dict_)) : nb::object(nb::int_(nb::len(list_))),
                        NamesOf(ports_));
    Raise(kDeputyInternal, "names are refused without a reason");
  }

 private:
  const std::vector<Port>& ports_;
  const char* kind_;
  nb::object dict_, list_;
  size_t used_ = 0;
};

}  // namespace

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
    const nb::handle object = given.At(i);
    if (object.is_valid() && !object.is_none()) {
      arguments.inputs.push_back(Borrowed::Input(object, ports[i].info->dtype));
      arguments.input_tensors[i] = arguments.inputs.back().tensor();
    } else if (!bound_inputs_[i]) {
      given.Refuse();
    }
  }
  if (given.HasOther()) given.Refuse();
}

void Session::TakeOutputs(nb::handle out, Arguments& arguments) const {
  const std::vector<Port>& ports = model_->outputs();
  arguments.output_tensors.assign(ports.size(), {});
  arguments.given.resize(ports.size());
  if (out.is_none()) return;
  Given given(out, ports, "output");
  for (size_t i = 0; i < ports.size(); ++i) {
    const nb::handle object = given.At(i);
    if (!object.is_valid() || object.is_none()) continue;
    arguments.outputs.push_back(Borrowed::Output(object, ports[i].info->dtype));
    arguments.output_tensors[i] = arguments.outputs.back().tensor();
    arguments.given[i] = nb::borrow(object);
  }
  if (given.HasOther()) given.Refuse();
}

void Session::Take(nb::handle inputs, nb::handle out, Arguments& arguments) const {
  arguments.Clear();
  arguments.inputs.reserve(model_->inputs().size());  // tensors point to what is in them
  arguments.outputs.reserve(model_->outputs().size());
  TakeInputs(inputs, arguments);
  TakeOutputs(out, arguments);
}

}  // namespace deputy::python
