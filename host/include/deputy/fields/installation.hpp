// The fields of deputy/installation.hpp in reports and options (fields.hpp).
#pragma once

#include "deputy/installation.hpp"

namespace deputy {

template <class V>
void Describe(V& v, InstallationReport& i) {
  v("version", i.version);
  v("plugin_abi", i.plugin_abi);
  v("folder", i.folder);
  v("worker", i.worker);
  v("sandbox", i.sandbox);
  v("kernels", i.kernels);
  v("cpus", i.cpus);
  v("distrust", i.distrust);
  v("environment_warnings", i.environment_warnings);
}

}  // namespace deputy
