// Bundles: a plugin set with its configuration and models in one file, made on one machine, checked and installed on
// others. host/docs/bundle-format.md defines the file. Running an installed bundle is Context::FromBundle
// (context.hpp).
//
// All functions but FindBundle need <folder of libdeputy>/deputy/libdeputy_bundle.so, which is opened on demand;
// without it they fail with kNotFound. A BUNDLE is a file, an unpacked folder (a path with '/'), or the name of an
// installed one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deputy/status.hpp"

namespace deputy {

// A plugin of a bundle, by its manifest.
struct BundlePlugin {
  std::string file;  // in the bundle: "plugins/npu.so"
  std::string id, version;
  std::string abi;                        // that it was built for: "0.1"
  std::vector<std::string> delegates;     // ids
  std::vector<std::string> cpu_features;  // that it needs, as in /proc/cpuinfo
  std::vector<std::string> libraries;     // that it needs and the bundle does not have: "libdnnl.so.2"
  std::vector<std::string> files;         // in the bundle, that it declares to travel with it
};

// A file of a bundle.
struct BundleFile {
  std::string path;
  uint64_t bytes = 0;
  std::string sha256;  // 64 hexadecimal digits
  std::string text;    // the contents of a configuration; empty for other files
};

// The contents of a bundle.
struct BundleInfo {
  std::string name, version;
  std::string deputy;                       // version that packed it
  std::string architecture;                 // "x86_64"
  std::string signed_by;                    // id of the key by the signature, which may be unchecked; empty: not signed
  std::string expires;                      // last day of the signature, unchecked: "2027-01-31"; empty: no limit
  std::vector<std::string> configurations;  // in the order of their layers
  std::vector<std::string> models;
  std::vector<BundlePlugin> plugins;
  std::vector<BundleFile> files;  // all, by path
};

// A reason against a bundle. `rule` is stable, for programs: "damaged", "unsafe-path", "too-large", "incompatible",
// "signature", "configuration", "installed", "downgrade", or the rule by which the scan rejects a plugin
// ("abi-mismatch", "load-failed").
struct BundleProblem {
  std::string rule, message;
};

// The result of VerifyBundle and InstallBundle.
struct BundleVerification {
  BundleInfo info;                      // as far as it could be read
  bool signature_checked = false;       // against a key, successfully
  std::vector<BundleProblem> problems;  // empty: intact, and it fits this host
};

// The input of PackBundle.
struct BundleContents {
  std::string name;                         // letters, digits, '_', '.', '-'; begins with a letter
  std::string version;                      // begins with a digit
  std::vector<std::string> configurations;  // files with their conf.d, or shipped ones by name; later over earlier
  std::vector<std::string> models;          // files; MODEL.placement.yaml beside one goes with it
  std::string secret_key;                   // file; empty: not signed
  std::string expires;                      // last day of the signature, UTC: "2027-01-31"; empty: no limit
};

// A version of a bundle in a folder of installed bundles.
struct InstalledBundle {
  std::string name, version;
  std::string folder;    // of this version
  bool current = false;  // the one that the name means
};

// Packs the configuration, the plugins of its enabled delegates, and the models. The same input gives the same bytes.
// kConfig: the configuration; kPlugin: a delegate without a plugin; kInvalidArgument: a name, key or day that does
// not fit. Runs no plugin. [load-time]
Result<BundleInfo> PackBundle(const BundleContents& contents, const std::string& output);

// Reads without checking signature and host. Errors of a damaged bundle are kInvalidArgument. [any-thread]
Result<BundleInfo> InspectBundle(const std::string& bundle);

// Integrity, signature and its last day (`key`: a public key or its file; empty: not checked), and whether this host
// can use it: ABI, CPU features, libraries, the configuration against the options of the plugins, which a helper
// process runs. An error only where the bundle cannot be opened at all. [load-time]
Result<BundleVerification> VerifyBundle(const std::string& bundle, const std::string& key = "");

// Verifies, unpacks beside the installed versions, and makes it the current one. With problems nothing is changed; a
// version lower than the current one is one. kFailedPrecondition where users other than root and this one could change
// or replace the folder of installed bundles. A process that is killed at any time leaves the old or the new one
// current. `root`: see BundleRoot. One process at a time; others wait. [load-time]
Result<BundleVerification> InstallBundle(const std::string& file, const std::string& key = "",
                                         const std::string& root = "");

// How InstallBundle installs.
struct BundleInstallation {
  std::string key;               // a public key or its file; empty: the signature is not checked
  std::string root;              // see BundleRoot
  bool allow_downgrade = false;  // else a version lower than the current one is a problem, "downgrade"
};
// The same.
Result<BundleVerification> InstallBundle(const std::string& file, const BundleInstallation& installation);

// Makes `version` current; empty: the version that was current before. kFailedPrecondition if there is none.
Result<InstalledBundle> RollBackBundle(const std::string& name, const std::string& version = "",
                                       const std::string& root = "");
// Removes one version, which must not be the current one, or with an empty version the whole bundle.
Status RemoveBundle(const std::string& name, const std::string& version = "", const std::string& root = "");
// All installed versions in the folders in which FindBundle searches, by folder, name and version. [any-thread]
Result<std::vector<InstalledBundle>> ListBundles(const std::string& root = "");

// The current version of an installed bundle, or the folder itself for a path with '/'. Without `root` it is searched
// for in the user's and in the system's folder. kNotFound with the nearest name. [any-thread]
Result<InstalledBundle> FindBundle(const std::string& bundle, const std::string& root = "");

// Folder of installed bundles: `root`; or $DEPUTY_BUNDLES; or for root /var/lib/deputy/bundles, for others
// $XDG_DATA_HOME/deputy/bundles with ~/.local/share as default. [any-thread]
std::string BundleRoot(const std::string& root = "");

// A new pair of keys in the formats of minisign: the secret one without a password, readable by its owner only.
// Existing files are not replaced. [any-thread]
Status MakeBundleKeys(const std::string& secret_key, const std::string& public_key);

}  // namespace deputy

#ifndef DEPUTY_BUILDS_LIBRARY
#include "deputy/detail/bundle.hpp"  // IWYU pragma: export
#endif
