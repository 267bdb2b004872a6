// Packs plugins, configurations and models into a bundle.
#pragma once

#include <chrono>
#include <filesystem>

#include "base/status.hpp"
#include "bundle/signature.hpp"
#include "bundle/tools.hpp"

namespace deputy::host::bundle {

// `today`: a signature must not have expired on this day.
Result<BundleInfo> Pack(const BundleSources& sources, const std::filesystem::path& output,
                        std::chrono::sys_days today = Today());

}  // namespace deputy::host::bundle
