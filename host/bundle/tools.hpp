// The interface between the host and the library of bundles, which alone links libarchive and libsodium. The host opens
// it when a bundle is packed, unpacked or its signature is checked; running an installed bundle needs it only for
// `trust_keys`. Both sides are of the same build, as for importers.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "deputy/bundle.hpp"

namespace deputy::host {

// The description and the folders of an unpacked bundle.
inline constexpr char kBundleDescriptionName[] = "bundle.json";
inline constexpr char kBundleConfigFolder[] = "config";
inline constexpr char kBundleModelFolder[] = "models";
// Of a file beside a model, which is no model.
inline constexpr char kPlacementEnding[] = ".placement.yaml";
inline constexpr char kBundlePluginFolder[] = "plugins";

struct BundleSources {
  std::string name, version;
  std::vector<std::filesystem::path> configurations;  // in the order of their layers
  std::vector<std::filesystem::path> plugins, models;
  std::filesystem::path secret_key;  // empty: not signed
  std::string expires;               // last day of the signature, "2027-01-31"; empty: no limit
};

// Adds the reasons why the unpacked bundle cannot be used on this host.
using HostCheck = std::function<void(const std::filesystem::path& folder, std::vector<BundleProblem>& problems)>;

// Stateless. [any-thread]
class BundleTools {
 public:
  virtual Result<BundleInfo> Pack(const BundleSources& sources, const std::filesystem::path& output) const = 0;
  // `bundle` is a file or an unpacked folder here; `key` a public key, its file, or empty.
  virtual Result<BundleInfo> Inspect(const std::filesystem::path& bundle) const = 0;
  virtual Result<BundleVerification> Verify(const std::filesystem::path& bundle, const std::string& key,
                                            const HostCheck& check) const = 0;
  virtual Result<BundleVerification> Install(const std::filesystem::path& file, const std::string& key,
                                             const std::filesystem::path& root, const HostCheck& check,
                                             bool allow_downgrade) const = 0;
  virtual Result<InstalledBundle> RollBack(const std::filesystem::path& root, const std::string& name,
                                           const std::string& version) const = 0;
  virtual Status Remove(const std::filesystem::path& root, const std::string& name,
                        const std::string& version) const = 0;
  virtual Result<std::vector<InstalledBundle>> List(const std::filesystem::path& root) const = 0;
  virtual Status MakeKeys(const std::filesystem::path& secret_key, const std::filesystem::path& public_key) const = 0;
  // Whether one of the public keys has signed the text, and the signature has not expired.
  virtual Status CheckSignature(std::string_view text, std::string_view signature,
                                std::span<const std::string> public_keys) const = 0;

 protected:
  ~BundleTools() = default;
};

// The one symbol of the library. Returns null when `build` is not its own kBundleBuild.
inline constexpr char kBundleSymbol[] = "deputy_bundle_v1";
using BundleFunction = const BundleTools* (*)(const char* build);
inline constexpr char kBundleBuild[] = DEPUTY_BUILD_VERSION " " __VERSION__;

}  // namespace deputy::host
