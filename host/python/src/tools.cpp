#include "tools.hpp"

#include <nanobind/stl/string.h>

#include <string>

#include "reports.hpp"

namespace deputy::python {

void AddTools(nb::module_& module) {
  module.def("version", [] { return std::string(DeputyVersion()); });
  module.def("inspect_model", [](const std::string& path, const std::string& options) {
    return ReportOf([&](DeputyReport** report) { return DeputyInspectModel(path.c_str(), options.c_str(), report); });
  });
  module.def("check_config", [](const std::string& options) {
    return ReportOf([&](DeputyReport** report) { return DeputyCheckConfig(options.c_str(), report); });
  });
  module.def("config_keys", [] { return ReportOf(&DeputyConfigKeys); });
  module.def("config_schema", [] { return ReportOf(&DeputyConfigSchema); });
  module.def("shipped_configs", [] { return ReportOf(&DeputyShippedConfigs); });
  module.def("installation", [] { return ReportOf(&DeputyInstallation); });
}

}  // namespace deputy::python
