// Tools of the C API: inspection, configurations, the installation and bundles.
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "capi/error.hpp"
#include "capi/field_writer.hpp"
#include "capi/options.hpp"
#include "capi/tensors.hpp"
#include "deputy/bundle.hpp"
#include "deputy/compare.hpp"
#include "deputy/inspect.hpp"
#include "deputy/output_file.hpp"
#include "deputy/printable.hpp"
#include "deputy/process.hpp"

using deputy::Result;
using deputy::Status;
using namespace deputy::host::capi;

DeputyError* DeputyInspectModel(const char* path, const char* options, DeputyReport** report) {
  if (path == nullptr) return MissingArgument("path");
  return Report(report, [&]() -> Result<deputy::ModelContents> {
    deputy::fields::InspectRequest given;
    DEPUTY_RETURN_IF_ERROR(ReadOptions(options, given));
    if (given.input_shapes.empty()) return deputy::InspectModel(path);
    return deputy::InspectModel(path, [&](const auto&) -> Result<deputy::NamedShapes> { return given.input_shapes; });
  });
}

DeputyError* DeputyCheckConfig(const char* options, DeputyReport** report) {
  return Report(report, [&]() -> Result<deputy::ConfigCheck> {
    deputy::fields::ConfigCheckRequest given;
    DEPUTY_RETURN_IF_ERROR(ReadOptions(options, given));
    return deputy::CheckConfig(given.sources, given.options);
  });
}

DeputyError* DeputyConfigKeys(DeputyReport** report) {
  return Report(report, []() -> Result<std::vector<deputy::ConfigKey>> { return deputy::ConfigKeys(); });
}

DeputyError* DeputyConfigValues(const char* options, DeputyReport** report) {
  return Report(report, [&]() -> Result<std::vector<deputy::ConfigValue>> {
    deputy::fields::ConfigTexts given;
    DEPUTY_RETURN_IF_ERROR(ReadOptions(options, given));
    return deputy::ConfigValues(given.layers);
  });
}

DeputyError* DeputyConfigSchema(DeputyReport** text) {
  return Report(text, []() -> Result<std::string> { return deputy::ConfigSchema(); });
}

DeputyError* DeputyShippedConfigs(DeputyReport** report) {
  return Report(report, []() -> Result<std::vector<deputy::fields::ShippedConfig>> {
    std::vector<deputy::fields::ShippedConfig> shipped;
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

DeputyError* DeputyToleranceFor(const char* options, DeputyReport** report) {
  return Report(report, [&]() -> Result<deputy::Tolerance> {
    deputy::fields::ToleranceRequest given;
    DEPUTY_RETURN_IF_ERROR(ReadOptions(options, given));
    return deputy::ToleranceFor(given.given, given.output, given.model);
  });
}

DeputyError* DeputyCompare(const DeputyTensor* got, const DeputyTensor* want, const char* options,
                           DeputyReport** report) {
  if (got == nullptr) return MissingArgument("got");
  if (want == nullptr) return MissingArgument("want");
  return Report(report, [&]() -> Result<deputy::Comparison> {
    deputy::Tolerance tolerance;
    DEPUTY_RETURN_IF_ERROR(ReadOptions(options, tolerance));
    deputy::Tensor first, second;
    DEPUTY_RETURN_IF_ERROR(Take(*got, first));
    DEPUTY_RETURN_IF_ERROR(Take(*want, second));
    return deputy::CompareTensors(first, second, tolerance);
  });
}

DeputyError* DeputyPrintable(const char* text, size_t size, size_t limit, DeputyReport** printable) {
  return Report(printable, [&]() -> Result<std::string> {
    return deputy::Printable(text == nullptr ? std::string_view() : std::string_view(text, size), limit);
  });
}

DeputyError* DeputyDidYouMean(const char* word, const char* const* candidates, size_t count, DeputyReport** text) {
  return Report(text, [&]() -> Result<std::string> {
    const std::vector<std::string> names(candidates, candidates + (candidates == nullptr ? 0 : count));
    return deputy::DidYouMean(TextOf(word), names);
  });
}

DeputyError* DeputyOutputFileWrite(const char* path, const void* data, size_t size) {
  if (path == nullptr) return MissingArgument("path");
  if (data == nullptr && size != 0) return MissingArgument("data");
  return Guard([&] { return deputy::WriteOutputFile(path, {static_cast<const char*>(data), size}); });
}

DeputyError* DeputyOutputFileCheck(const char* path) {
  if (path == nullptr) return MissingArgument("path");
  return Guard([&] { return deputy::CheckOutputFile(path); });
}

void DeputyRemoveUnfinishedFilesOnSignals(void) { deputy::RemoveUnfinishedFilesOnSignals(); }
void DeputyReportFatalSignals(void) { deputy::ReportFatalSignals(); }
void DeputyRefuseExit(int status) { deputy::RefuseExit(status); }
void DeputyAcceptExit(void) { deputy::AcceptExit(); }
void DeputyCheckExit(const void* caller) { deputy::CheckExit(caller); }

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
