// Functions of deputy/bundle.hpp for programs, on the C API.
#pragma once

#include <string>
#include <vector>

#include "deputy.h"
#include "deputy/bundle.hpp"
#include "deputy/detail/call.hpp"
#include "deputy/detail/report_reader.hpp"
#include "deputy/fields/bundle.hpp"

namespace deputy {

inline Result<BundleInfo> PackBundle(const BundleContents& contents, const std::string& output) {
  const std::string json = detail::OptionsWriter::Json(contents);
  return detail::Reported<BundleInfo>(
      [&](DeputyReport** report) { return DeputyBundlePack(json.c_str(), output.c_str(), report); });
}

inline Result<BundleInfo> InspectBundle(const std::string& bundle) {
  return detail::Reported<BundleInfo>(
      [&](DeputyReport** report) { return DeputyBundleInspect(bundle.c_str(), report); });
}

inline Result<BundleVerification> VerifyBundle(const std::string& bundle, const std::string& key) {
  return detail::Reported<BundleVerification>(
      [&](DeputyReport** report) { return DeputyBundleVerify(bundle.c_str(), key.c_str(), report); });
}

inline Result<BundleVerification> InstallBundle(const std::string& file, const BundleInstallation& installation) {
  const std::string json = detail::OptionsWriter::Json(installation);
  return detail::Reported<BundleVerification>(
      [&](DeputyReport** report) { return DeputyBundleInstall(file.c_str(), json.c_str(), report); });
}

inline Result<BundleVerification> InstallBundle(const std::string& file, const std::string& key,
                                                const std::string& root) {
  return InstallBundle(file, BundleInstallation{key, root});
}

inline Result<InstalledBundle> RollBackBundle(const std::string& name, const std::string& version,
                                              const std::string& root) {
  return detail::Reported<InstalledBundle>(
      [&](DeputyReport** report) { return DeputyBundleRollBack(name.c_str(), version.c_str(), root.c_str(), report); });
}

inline Status RemoveBundle(const std::string& name, const std::string& version, const std::string& root) {
  return detail::StatusOf(DeputyBundleRemove(name.c_str(), version.c_str(), root.c_str()));
}

inline Result<std::vector<InstalledBundle>> ListBundles(const std::string& root) {
  return detail::Reported<std::vector<InstalledBundle>>(
      [&](DeputyReport** report) { return DeputyBundleList(root.c_str(), report); });
}

inline Result<InstalledBundle> FindBundle(const std::string& bundle, const std::string& root) {
  return detail::Reported<InstalledBundle>(
      [&](DeputyReport** report) { return DeputyBundleFind(bundle.c_str(), root.c_str(), report); });
}

inline std::string BundleRoot(const std::string& root) {
  return detail::ReportedAlways<std::string>(
      [&](DeputyReport** text) { return DeputyBundleFolder(root.c_str(), text); });
}

inline Status MakeBundleKeys(const std::string& secret_key, const std::string& public_key) {
  return detail::StatusOf(DeputyBundleMakeKeys(secret_key.c_str(), public_key.c_str()));
}

}  // namespace deputy
