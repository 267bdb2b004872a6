// Packs plugins, configurations and models into a bundle.
#pragma once

#include <filesystem>

#include "base/status.hpp"
#include "bundle/tools.hpp"

namespace deputy::host::bundle {

Result<BundleInfo> Pack(const BundleSources& sources, const std::filesystem::path& output);

}  // namespace deputy::host::bundle
