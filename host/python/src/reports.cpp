#include "reports.hpp"

#include <memory>

#include "tensors.hpp"

namespace deputy::python {
namespace {

nb::object ObjectOf(const DeputyField* field) {
  switch (DeputyFieldKindOf(field)) {
    case kDeputyBool: return nb::bool_(DeputyFieldBool(field) != 0);
    case kDeputyInteger: return nb::int_(DeputyFieldInteger(field));
    case kDeputyNumber: return nb::float_(DeputyFieldNumber(field));
    case kDeputyText: {
      size_t size = 0;
      const char* text = DeputyFieldText(field, &size);
      // Names of files and of models need not be UTF-8.
      return nb::steal(PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(size), "surrogateescape"));
    }
    case kDeputyList: {
      nb::list list;
      for (size_t i = 0; i < DeputyFieldCount(field); ++i) list.append(ObjectOf(DeputyFieldAt(field, i)));
      return list;
    }
    case kDeputyMap: {
      nb::dict map;
      for (size_t i = 0; i < DeputyFieldCount(field); ++i)
        map[DeputyFieldName(field, i)] = ObjectOf(DeputyFieldAt(field, i));
      return map;
    }
    case kDeputyArray: {
      DeputyTensor tensor{};
      if (DeputyFieldArray(field, &tensor) == 0) return nb::none();
      return CopyOf(tensor);
    }
    default: return nb::none();
  }
}

}  // namespace

nb::any TakeReport(DeputyReport* report) {
  const std::unique_ptr<DeputyReport, decltype(&DeputyReportFree)> held(report, &DeputyReportFree);
  return nb::borrow<nb::any>(ObjectOf(DeputyReportRoot(report)));
}

}  // namespace deputy::python
