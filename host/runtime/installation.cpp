#include "deputy/installation.hpp"

#include "deputy/abi/delegate.h"
#include "deputy/version.hpp"
#include "isolation/sandbox_level.hpp"
#include "kernels/linalg/linalg.hpp"
#include "plugin/discovery/manifest.hpp"
#include "runtime/paths.hpp"

namespace deputy {

InstallationReport DescribeInstallation() {
  InstallationReport report;
  report.version = DEPUTY_VERSION;
  report.plugin_abi = host::AbiText(DEPUTY_ABI_VERSION);
  report.folder = host::PrivateFolder().string();
  report.worker = host::WorkerProgram().string();
  report.sandbox = host::ToText(host::AvailableSandbox());
  report.kernels = host::linalg::NameOf(host::linalg::ActiveLevel());
  return report;
}

}  // namespace deputy
