// Functions of deputy/config.hpp for programs, on the C API.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "deputy.h"
#include "deputy/config.hpp"
#include "deputy/detail/call.hpp"
#include "deputy/detail/report_reader.hpp"
#include "deputy/fields/config.hpp"

namespace deputy {
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

namespace detail {

inline std::vector<fields::ShippedConfig> ShippedConfigFiles() {
  return ReportedAlways<std::vector<fields::ShippedConfig>>(&DeputyShippedConfigs);
}

}  // namespace detail

inline std::vector<std::string> ShippedConfigs() {
  std::vector<std::string> names;
  for (fields::ShippedConfig& shipped : detail::ShippedConfigFiles()) names.push_back(std::move(shipped.name));
  return names;
}

inline std::string ShippedConfigFile(const std::string& name) {
  for (fields::ShippedConfig& shipped : detail::ShippedConfigFiles())
    if (shipped.name == name) return std::move(shipped.file);
  return {};
}

}  // namespace deputy
