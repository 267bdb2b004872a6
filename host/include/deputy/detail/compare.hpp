// Functions of deputy/compare.hpp for programs, on the C API.
#pragma once

#include <string>

#include "deputy.h"
#include "deputy/compare.hpp"
#include "deputy/detail/call.hpp"
#include "deputy/detail/memory.hpp"
#include "deputy/detail/report_reader.hpp"
#include "deputy/fields/compare.hpp"

namespace deputy {

inline Tolerance ToleranceFor(const ToleranceSettings& given, DType output, const ModelTraits& model) {
  const std::string options = detail::OptionsWriter::Json(fields::ToleranceRequest{given, output, model});
  return detail::ReportedAlways<Tolerance>(
      [&](DeputyReport** report) { return DeputyToleranceFor(options.c_str(), report); });
}

inline Comparison CompareTensors(const Tensor& got, const Tensor& want, const Tolerance& tolerance) {
  const DeputyTensor first = detail::ViewOf(got), second = detail::ViewOf(want);
  const std::string options = detail::OptionsWriter::Json(tolerance);
  return detail::ReportedAlways<Comparison>(
      [&](DeputyReport** report) { return DeputyCompare(&first, &second, options.c_str(), report); });
}

}  // namespace deputy
