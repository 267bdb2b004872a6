#include "settings.hpp"

#include <algorithm>
#include <cstring>

#include "deputy/output_file.hpp"
#include "deputy/printable.hpp"

namespace ort_ep {
namespace {

using deputy::Context;
using deputy::DeviceInfo;
using deputy::Result;
using deputy::Status;
using deputy::StatusCode;

// "did you mean 'report'?", or all names.
std::string AdviceFor(const std::string& name, const std::vector<std::string>& known, const std::string& what) {
  const std::string nearest = deputy::DidYouMean(name, known);  // "; did you mean ...", or nothing
  if (!nearest.empty()) return nearest.substr(2);
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  return list.empty() ? "there are no " + what : "the " + what + " are " + list;
}

// Of the delegates that were asked for, those that are absent because of faults: name, reason. An error where one is
// for another reason.
Result<TextPairs> CheckOpened(const Context& context, const std::vector<std::string>& wanted) {
  DEPUTY_ASSIGN_OR_RETURN(const deputy::DelegateListing listing, context.ListDelegates());
  TextPairs failed;
  for (const deputy::AbsentDelegate& absent : listing.absent) {
    if (std::find(wanted.begin(), wanted.end(), absent.name) == wanted.end()) continue;
    if (!absent.has_failed)
      return Status(StatusCode::kUnavailable, "delegate '" + absent.name + "' cannot be used: " + absent.reason)
          .Advise("'deputy doctor' checks the configuration; the device of the whole configuration goes without it");
    failed.emplace_back(absent.name, absent.reason);
  }
  return failed;
}

}  // namespace

Result<Settings> ReadSettings(const TextPairs& entries, std::vector<std::string> delegates) {
  Settings settings;
  settings.delegates = std::move(delegates);
  for (const auto& [key, value] : entries) {
    if (key == "ep.context_enable" && value == "1")
      return Status(StatusCode::kNotSupported, "Deputy writes no models with compiled parts ('ep.context_enable')")
          .Advise("it keeps them in its own cache, which the key 'cache' of its configuration names");
    if (key.rfind(kOptionPrefix, 0) != 0) continue;
    const std::string option = key.substr(std::strlen(kOptionPrefix));
    if (option == "config")
      settings.config = value;
    else if (option == "report")
      settings.report = value;
    else
      return Status(StatusCode::kInvalidArgument, std::string(kProviderName) + " has no option '" + option + "'")
          .Advise(AdviceFor(option, {"config", "report"}, "options"));
  }
  return settings;
}

Status SetDynamicOption(Context context, const std::string& key, const std::string& value) {
  if (key.rfind(kOptionPrefix, 0) == 0)
    return Status(StatusCode::kInvalidArgument, "'" + key + "' is no dynamic option")
        .Advise("options of a session are given when it is made; dynamic ones have the form " +
                std::string(kDynamicPrefix) + "NAME.OPTION");
  if (key.rfind(kDynamicPrefix, 0) != 0) return {};
  const size_t begin = std::strlen(kDynamicPrefix), dot = key.rfind('.');
  if (dot <= begin || dot + 1 == key.size())
    return Status(StatusCode::kInvalidArgument, "'" + key + "' names no option of a delegate")
        .Advise("the form is " + std::string(kDynamicPrefix) + "NAME.OPTION");
  return context.SetOption(key.substr(begin, dot - begin), key.substr(dot + 1), value);
}

Result<Context> OpenContext(const Settings& settings, const std::vector<std::string>& changes) {
  if (!settings.config.empty()) return Context::FromYaml(settings.config, changes);
  return Context::FromLayers({{}, changes});
}

Result<Deputy> OpenDeputy(const Settings& settings) {
  if (!settings.report.empty()) DEPUTY_RETURN_IF_ERROR(deputy::CheckOutputFile(settings.report));
  DEPUTY_ASSIGN_OR_RETURN(Context whole, OpenContext(settings));
  if (settings.delegates.empty()) {
    DEPUTY_RETURN_IF_ERROR(whole.Load());
    if (whole.HasFallback()) return Deputy{whole, {}, true};
    DEPUTY_ASSIGN_OR_RETURN(Context placing, OpenContext(settings, {"fallback=cpu"}));
    DEPUTY_RETURN_IF_ERROR(placing.Load());
    return Deputy{whole, placing, false};
  }
  // The order decides: a measurement would give nodes to the CPU, and those are ONNX Runtime's.
  std::vector<std::string> changes = {"placement.policy=priority"}, known;
  for (const DeviceInfo& entry : whole.ConfiguredDelegates()) {
    known.push_back(entry.name);
    if (std::find(settings.delegates.begin(), settings.delegates.end(), entry.name) == settings.delegates.end())
      changes.push_back("delegates." + entry.name + ".enabled=false");
  }
  for (const std::string& wanted : settings.delegates)
    if (std::find(known.begin(), known.end(), wanted) == known.end())
      return Status(StatusCode::kNotFound, "the configuration has no delegate '" + wanted + "'")
          .At(settings.config)
          .Advise(AdviceFor(wanted, known, "delegates"));
  DEPUTY_ASSIGN_OR_RETURN(Context chosen, OpenContext(settings, changes));
  DEPUTY_RETURN_IF_ERROR(chosen.Load());
  DEPUTY_ASSIGN_OR_RETURN(TextPairs absent, CheckOpened(chosen, settings.delegates));
  if (chosen.HasFallback()) return Deputy{chosen, {}, false, std::move(absent)};
  changes.push_back("fallback=cpu");
  DEPUTY_ASSIGN_OR_RETURN(Context placing, OpenContext(settings, changes));
  DEPUTY_RETURN_IF_ERROR(placing.Load());
  return Deputy{chosen, placing, false, std::move(absent)};
}

}  // namespace ort_ep
