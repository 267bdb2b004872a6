// Functions of deputy/installation.hpp for programs, on the C API.
#pragma once

#include "deputy.h"
#include "deputy/detail/report_reader.hpp"
#include "deputy/fields/installation.hpp"
#include "deputy/installation.hpp"

namespace deputy {

inline InstallationReport DescribeInstallation() {
  return detail::ReportedAlways<InstallationReport>(&DeputyInstallation);
}

}  // namespace deputy
