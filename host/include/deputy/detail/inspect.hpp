// Functions of deputy/inspect.hpp for programs, on the C API.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "deputy.h"
#include "deputy/detail/call.hpp"
#include "deputy/detail/report_reader.hpp"
#include "deputy/fields/inspect.hpp"
#include "deputy/inspect.hpp"

namespace deputy {

inline Result<ModelContents> InspectModel(
    const std::string& path,
    const std::function<Result<NamedShapes>(const std::vector<TensorInfo>& inputs)>& shapes_for) {
  Result<ModelContents> contents = detail::Reported<ModelContents>(
      [&](DeputyReport** report) { return DeputyInspectModel(path.c_str(), nullptr, report); });
  if (!contents.ok() || shapes_for == nullptr) return contents;
  BuildOptions shapes;
  DEPUTY_ASSIGN_OR_RETURN(shapes.input_shapes, shapes_for(contents->inputs));
  if (shapes.input_shapes.empty()) return contents;
  const std::string options = detail::OptionsWriter::Json(fields::InspectRequest{std::move(shapes.input_shapes)});
  return detail::Reported<ModelContents>(
      [&](DeputyReport** report) { return DeputyInspectModel(path.c_str(), options.c_str(), report); });
}

}  // namespace deputy
