// The library of bundles of this installation.
#pragma once

#include "bundle/tools.hpp"

namespace deputy::host {

// From <private folder>/libdeputy_bundle.so, which is never closed; kNotFound when it is missing.
Result<const BundleTools*> OpenBundleTools();

}  // namespace deputy::host
