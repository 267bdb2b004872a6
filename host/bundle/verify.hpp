// Verification of bundles, in files and unpacked.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/status.hpp"
#include "bundle/contents.hpp"
#include "bundle/signature.hpp"
#include "bundle/tools.hpp"

namespace deputy::host::bundle {

// Whether the failure is a refusal of the bundle, and then as a problem of it; others are of the system.
std::optional<BundleProblem> AsProblem(const Status& status);

// `key`: a public key, its file, or empty.
Result<std::optional<PublicKey>> KeyToCheck(const std::string& key);

// The signature and the host's check of a bundle that was unpacked into `folder`.
void VerifyUnpacked(const ReadBundle& read, const std::filesystem::path& folder, const std::optional<PublicKey>& key,
                    const HostCheck& check, BundleVerification& verification);

Result<BundleVerification> Verify(const std::filesystem::path& bundle, const std::string& key, const HostCheck& check);

}  // namespace deputy::host::bundle
