// Tools of the C API: inspection, configurations, the installation and bundles.
#include <string>
#include <vector>

#include "base/status.hpp"
#include "capi/error.hpp"
#include "capi/field_writer.hpp"
#include "capi/options.hpp"
#include "deputy/bundle.hpp"
#include "deputy/bundle_fields.hpp"
#include "deputy/inspect.hpp"

namespace deputy::host::capi {
namespace {

struct CheckedConfig {
  ConfigSources sources;
  ConfigCheckOptions options;
};

struct InspectOptions {
  NamedShapes input_shapes;
};

struct ShippedConfig {
  std::string name, file;
};

template <class V>
void Describe(V& v, CheckedConfig& c) {
  v("files", c.sources.files);
  v("settings", c.sources.settings);
  v("offline", c.options.offline);
  v("model", c.options.model);
}
template <class V>
void Describe(V& v, InspectOptions& o) {
  v("input_shapes", o.input_shapes);
}
template <class V>
void Describe(V& v, ShippedConfig& s) {
  v("name", s.name);
  v("file", s.file);
}

}  // namespace
}  // namespace deputy::host::capi

using deputy::Result;
using deputy::Status;
using namespace deputy::host::capi;

DeputyError* DeputyInspectModel(const char* path, const char* options, DeputyReport** report) {
  if (path == nullptr) return MissingArgument("path");
  return Report(report, [&]() -> Result<deputy::ModelContents> {
    InspectOptions given;
    DEPUTY_RETURN_IF_ERROR(ReadOptions(options, given));
    if (given.input_shapes.empty()) return deputy::InspectModel(path);
    return deputy::InspectModel(path, [&](const auto&) -> Result<deputy::NamedShapes> { return given.input_shapes; });
  });
}

DeputyError* DeputyCheckConfig(const char* options, DeputyReport** report) {
  return Report(report, [&]() -> Result<deputy::ConfigCheck> {
    CheckedConfig given;
    DEPUTY_RETURN_IF_ERROR(ReadOptions(options, given));
    return deputy::CheckConfig(given.sources, given.options);
  });
}

DeputyError* DeputyConfigKeys(DeputyReport** report) {
  return Report(report, []() -> Result<std::vector<deputy::ConfigKey>> { return deputy::ConfigKeys(); });
}

DeputyError* DeputyConfigSchema(DeputyReport** text) {
  return Report(text, []() -> Result<std::string> { return deputy::ConfigSchema(); });
}

DeputyError* DeputyShippedConfigs(DeputyReport** report) {
  return Report(report, []() -> Result<std::vector<ShippedConfig>> {
    std::vector<ShippedConfig> shipped;
    for (const std::string& name : deputy::ShippedConfigs()) shipped.push_back({name, deputy::ShippedConfigFile(name)});
    return shipped;
  });
}

DeputyError* DeputyInstallation(DeputyReport** report) {
  return Report(report, []() -> Result<deputy::InstallationReport> { return deputy::DescribeInstallation(); });
}

DeputyError* DeputyCacheKinds(DeputyReport** report) {
  return Report(report, []() -> Result<std::vector<std::string>> { return deputy::CacheEntryKinds(); });
}

DeputyError* DeputyBundlePack(const char* contents, const char* output, DeputyReport** report) {
  return Report(report, [&]() -> Result<deputy::BundleInfo> {
    deputy::BundleContents given;
    DEPUTY_RETURN_IF_ERROR(ReadOptions(contents, given));
    return deputy::PackBundle(given, TextOf(output));
  });
}

DeputyError* DeputyBundleInspect(const char* bundle, DeputyReport** report) {
  return Report(report, [&] { return deputy::InspectBundle(TextOf(bundle)); });
}

DeputyError* DeputyBundleVerify(const char* bundle, const char* key, DeputyReport** report) {
  return Report(report, [&] { return deputy::VerifyBundle(TextOf(bundle), TextOf(key)); });
}

DeputyError* DeputyBundleInstall(const char* file, const char* options, DeputyReport** report) {
  return Report(report, [&]() -> Result<deputy::BundleVerification> {
    deputy::BundleInstallation given;
    DEPUTY_RETURN_IF_ERROR(ReadOptions(options, given));
    return deputy::InstallBundle(TextOf(file), given);
  });
}

DeputyError* DeputyBundleRollBack(const char* name, const char* version, const char* root, DeputyReport** report) {
  return Report(report, [&] { return deputy::RollBackBundle(TextOf(name), TextOf(version), TextOf(root)); });
}

DeputyError* DeputyBundleRemove(const char* name, const char* version, const char* root) {
  return Guard([&] { return deputy::RemoveBundle(TextOf(name), TextOf(version), TextOf(root)); });
}

DeputyError* DeputyBundleList(const char* root, DeputyReport** report) {
  return Report(report, [&] { return deputy::ListBundles(TextOf(root)); });
}

DeputyError* DeputyBundleFind(const char* bundle, const char* root, DeputyReport** report) {
  return Report(report, [&] { return deputy::FindBundle(TextOf(bundle), TextOf(root)); });
}

DeputyError* DeputyBundleFolder(const char* root, DeputyReport** text) {
  return Report(text, [&]() -> Result<std::string> { return deputy::BundleRoot(TextOf(root)); });
}

DeputyError* DeputyBundleMakeKeys(const char* secret_key, const char* public_key) {
  return Guard([&] { return deputy::MakeBundleKeys(TextOf(secret_key), TextOf(public_key)); });
}
