// Functions of deputy/config.hpp for programs, on the C API.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "deputy.h"
#include "deputy/config.hpp"
#include "deputy/detail/call.hpp"
#include "deputy/detail/report_reader.hpp"
#include "deputy/fields/config.hpp"

namespace deputy {
namespace detail {

// {name, file} of the shipped configurations.
inline std::vector<std::pair<std::string, std::string>> ShippedConfigFiles() {
  std::vector<std::pair<std::string, std::string>> files;
  DeputyReport* report = nullptr;
  ThrowIfOutOfMemory(DeputyShippedConfigs(&report));
  const std::unique_ptr<DeputyReport, decltype(&DeputyReportFree)> owned(report, &DeputyReportFree);
  const DeputyField* const root = DeputyReportRoot(report);
  for (size_t i = 0; i < DeputyFieldCount(root); ++i)
    files.emplace_back(TextOf(DeputyFieldNamed(DeputyFieldAt(root, i), "name")),
                       TextOf(DeputyFieldNamed(DeputyFieldAt(root, i), "file")));
  return files;
}

}  // namespace detail

inline Result<ConfigCheck> CheckConfig(const ConfigSources& sources, const ConfigCheckOptions& options) {
  const std::string json = detail::OptionsWriter::Json(fields::ConfigCheckRequest{sources, options});
  return detail::Reported<ConfigCheck>([&](DeputyReport** report) { return DeputyCheckConfig(json.c_str(), report); });
}

inline std::vector<ConfigKey> ConfigKeys() { return detail::ReportedAlways<std::vector<ConfigKey>>(&DeputyConfigKeys); }

inline Result<std::vector<ConfigValue>> ConfigValues(const std::vector<ConfigText>& layers) {
  const std::string json = detail::OptionsWriter::Json(fields::ConfigTexts{layers});
  return detail::Reported<std::vector<ConfigValue>>(
      [&](DeputyReport** report) { return DeputyConfigValues(json.c_str(), report); });
}

inline std::vector<std::string> ShippedConfigs() {
  std::vector<std::string> names;
  for (auto& [name, file] : detail::ShippedConfigFiles()) names.push_back(name);
  return names;
}

inline std::string ShippedConfigFile(const std::string& name) {
  for (auto& [shipped, file] : detail::ShippedConfigFiles())
    if (shipped == name) return file;
  return {};
}

}  // namespace deputy
