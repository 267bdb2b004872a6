#include "deputy/installation.hpp"

#include <string_view>

#include "base/judged_file.hpp"
#include "base/spin.hpp"
#include "deputy/abi/delegate.h"
#include "deputy/version.hpp"
#include "isolation/sandbox_level.hpp"
#include "kernels/linalg/linalg.hpp"
#include "plugin/discovery/manifest.hpp"
#include "runtime/config_layers.hpp"
#include "runtime/paths.hpp"

namespace deputy {

// The header and the project name one version; packages and bundles show either.
static_assert(std::string_view(DEPUTY_VERSION) == DEPUTY_BUILD_VERSION, "host/include/deputy/version.hpp is outdated");

InstallationReport DescribeInstallation() {
  InstallationReport report;
  report.version = DEPUTY_VERSION;
  report.plugin_abi = host::AbiText(DEPUTY_ABI_VERSION);
  report.folder = host::PrivateFolder().string();
  report.worker = host::WorkerProgram().string();
  report.sandbox = host::ToText(host::AvailableSandbox());
  report.kernels = host::linalg::NameOf(host::linalg::ActiveLevel());
  report.cpus = host::AvailableCpus();
  report.distrust = host::ThisInstallation().distrust;
  report.environment_warnings = host::EnvironmentWarnings();
  return report;
}

}  // namespace deputy
