// The library of bundles of this installation, and the folder of an installed bundle.
#pragma once

#include "bundle/tools.hpp"

namespace deputy::host {

// From <private folder>/libdeputy_bundle.so, opened at the first call and never closed; kNotFound when it is missing.
Result<const BundleTools*> OpenBundleTools();

}  // namespace deputy::host
