// The folder of installed bundles: <root>/<name>/<version>/ is an unpacked bundle that never changes, <name>/current a
// symbolic link to the version that is used, <name>/previous one to the version before it. A change is prepared under a
// temporary name and takes effect with one rename.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "bundle/tools.hpp"

namespace deputy::host::bundle {

// Changes of a root, or of a bundle in it, that users other than root and this one could change or replace fail with
// kFailedPrecondition. A version that they could change is exchanged by Install, like a damaged one.

// A version lower than the one in use is a problem unless `allow_downgrade`.
Result<BundleVerification> Install(const std::filesystem::path& file, const std::string& key,
                                   const std::filesystem::path& root, const HostCheck& check,
                                   bool allow_downgrade = false);
Result<InstalledBundle> RollBack(const std::filesystem::path& root, const std::string& name,
                                 const std::string& version);
Status Remove(const std::filesystem::path& root, const std::string& name, const std::string& version);
Result<std::vector<InstalledBundle>> List(const std::filesystem::path& root);

}  // namespace deputy::host::bundle
