#include "models.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "arguments.hpp"
#include "calls.hpp"
#include "contexts.hpp"
#include "errors.hpp"
#include "reports.hpp"
#include "tensors.hpp"

namespace deputy::python {
namespace {

using Shapes = std::vector<std::vector<int64_t>>;

Port PortOf(const DeputyValueInfo* info) {
  PyObject* name = PyUnicode_DecodeUTF8(info->name, static_cast<Py_ssize_t>(std::char_traits<char>::length(info->name)),
                                        "surrogateescape");
  if (name == nullptr) throw nb::python_error();
  PyUnicode_InternInPlace(&name);
  return {nb::steal(name), info};
}

nb::dict Described(const Port& port) {
  const DeputyValueInfo& info = *port.info;
  static constexpr const char* kKinds[] = {"tensor", "sequence", "optional tensor", "optional sequence"};
  nb::list shape, dims;
  for (uint32_t i = 0; info.is_ranked != 0 && i < info.rank; ++i) {
    shape.append(info.shape[i]);
    dims.append(info.dims[i]);
  }
  nb::dict described;
  described["name"] = port.name;
  described["dtype"] = info.dtype == kDeputyUndefined ? "" : DeputyDTypeName(info.dtype);
  described["ranked"] = info.is_ranked != 0;
  described["shape"] = shape;
  described["dims"] = dims;
  described["kind"] = kKinds[info.kind];
  return described;
}

nb::list Described(const std::vector<Port>& ports) {
  nb::list list;
  for (const Port& port : ports) list.append(Described(port));
  return list;
}

Model* FromFile(const std::string& path, const Context& context, const std::string& options) {
  DeputyModel* model = nullptr;
  Check(Unlocked([&] { return DeputyModelFromFile(path.c_str(), context.get(), options.c_str(), &model); }));
  return new Model(model);
}

Model* FromMemory(nb::handle data, DeputyFormat format, const Context& context, const std::string& options) {
  const Borrowed bytes = Borrowed::Input(data, kDeputyUint8);
  DeputyModel* model = nullptr;
  Check(Unlocked([&] {
    return DeputyModelFromMemory(bytes.tensor().data, bytes.tensor().byte_size, format, context.get(), options.c_str(),
                                 &model);
  }));
  return new Model(model);
}

nb::any Placement(const Model& model, const std::optional<Shapes>& given, bool graph) {
  std::vector<DeputyShape> shapes;
  if (given)
    for (const std::vector<int64_t>& shape : *given)
      shapes.push_back({shape.data(), static_cast<uint32_t>(shape.size())});
  return ReportOf([&](DeputyReport** report) {
    return DeputyModelPlacement(model.get(), given ? shapes.data() : nullptr, shapes.size(), graph, report);
  });
}

nb::any Verify(const Model& model, nb::handle inputs, const std::string& options) {
  std::vector<Borrowed> borrowed;
  std::vector<DeputyTensor> tensors;
  Given given(inputs, model.inputs(), "input");
  for (size_t i = 0; i < model.inputs().size(); ++i)
    borrowed.push_back(Borrowed::Input(given.Required(i), model.inputs()[i].info->dtype));
  given.CheckNames();
  for (const Borrowed& input : borrowed) tensors.push_back(input.tensor());
  return ReportOf([&](DeputyReport** report) {
    return DeputyModelVerify(model.get(), tensors.data(), tensors.size(), options.c_str(), report);
  });
}

nb::object Allocate(const Model& model, const std::string& dtype, const std::vector<int64_t>& shape) {
  DeputyTensor tensor{};
  const DeputyDType number = DTypeOf(dtype.c_str());
  Check(Unlocked([&] {
    return DeputyModelAllocate(model.get(), number, shape.data(), static_cast<uint32_t>(shape.size()), &tensor);
  }));
  return ArrayOf(tensor);
}

}  // namespace

Model::Model(DeputyModel* model) : model_(model) {
  for (size_t i = 0; i < DeputyModelInputCount(model); ++i) inputs_.push_back(PortOf(DeputyModelInput(model, i)));
  for (size_t i = 0; i < DeputyModelOutputCount(model); ++i) outputs_.push_back(PortOf(DeputyModelOutput(model, i)));
  for (const std::vector<Port>* ports : {&inputs_, &outputs_})
    for (const Port& port : *ports) has_values_ |= port.info->kind != 0;
}

Model::~Model() {
  FreeUnlocked([this] { DeputyModelFree(model_); });
}

void AddModels(nb::module_& module) {
  nb::class_<Model>(module, "Model")
      .def_static("from_file", &FromFile, nb::arg("path"), nb::arg("context"), nb::arg("options"))
      .def_static("from_memory", &FromMemory, nb::arg("data"), nb::arg("format"), nb::arg("context"),
                  nb::arg("options"))
      .def(
          "inputs", [](const Model& model) { return Described(model.inputs()); },
          nb::sig("def inputs(self) -> list[dict[str, typing.Any]]"))
      .def(
          "outputs", [](const Model& model) { return Described(model.outputs()); },
          nb::sig("def outputs(self) -> list[dict[str, typing.Any]]"))
      .def("traits",
           [](const Model& model) {
             return ReportOf([&](DeputyReport** report) { return DeputyModelTraits(model.get(), report); });
           })
      .def("placement", &Placement, nb::arg("shapes").none(), nb::arg("graph"))
      .def("verify", &Verify, nb::arg("inputs"), nb::arg("options"),
           nb::sig("def verify(self, inputs: object, options: str) -> typing.Any"))
      .def("measured_placements",
           [](const Model& model) {
             return ReportOf([&](DeputyReport** text) { return DeputyModelMeasuredPlacements(model.get(), text); });
           })
      .def("health",
           [](const Model& model) {
             return ReportOf([&](DeputyReport** report) { return DeputyModelHealth(model.get(), report); });
           })
      .def("save",
           [](const Model& model, const std::string& path) {
             Check(Unlocked([&] { return DeputyModelSave(model.get(), path.c_str()); }));
           })
      .def("allocate", &Allocate, nb::arg("dtype"), nb::arg("shape"),
           nb::sig("def allocate(self, dtype: str, shape: collections.abc.Sequence[int]) -> "
                   "numpy.typing.NDArray[typing.Any]"));
}

}  // namespace deputy::python
