#include "config/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/nearest.hpp"
#include "base/printable.hpp"
#include "config/field_reader.hpp"
#include "config/fields.hpp"
#include "config/origin.hpp"

namespace deputy::host {
namespace {

void CheckDelegates(const YamlNode& root, Problems& problems) {
  const YamlEntry* delegates = root.Find("delegates");
  if (delegates == nullptr) return;
  std::unordered_map<std::string, Origin> seen;
  for (const YamlNode& delegate : delegates->value.items) {
    if (delegate.kind != YamlNode::Kind::kMap) continue;
    const YamlEntry* name = delegate.Find("name");
    if (name == nullptr) {
      problems.Add(delegate.at, "key 'name' is missing; a delegate is addressed by its name", ProblemCode::kMissingKey);
      continue;
    }
    if (name->value.kind != YamlNode::Kind::kScalar) continue;
    for (const char* key : {"name", "delegate"}) {
      const YamlEntry* entry = delegate.Find(key);
      if (entry != nullptr && entry->value.text == kCpuName)
        problems.Add(entry->value.at,
                     "the CPU is never listed, it is always the last delegate; its settings are under 'cpu:'");
    }
    const auto [first, is_new] = seen.emplace(name->value.text, name->value.at);
    if (!is_new)
      problems.Add(
          name->value.at,
          fmt::format("delegate {} is listed twice, first at {}", Quoted(name->value.text), first->second.ToString()),
          ProblemCode::kDuplicate);
  }
}

void CheckPlacementRules(const YamlNode& root, Problems& problems) {
  const YamlEntry* placement = root.Find("placement");
  const YamlEntry* rules = placement == nullptr ? nullptr : placement->value.Find("rules");
  if (rules == nullptr) return;
  const auto says = [](const YamlNode& rule, std::string_view key) {
    const YamlEntry* entry = rule.Find(key);
    return entry != nullptr && !(entry->value.kind == YamlNode::Kind::kList && entry->value.items.empty());
  };
  for (const YamlNode& rule : rules->value.items) {
    if (rule.kind != YamlNode::Kind::kMap) continue;
    if (!says(rule, "nodes") && !says(rule, "ops") && !says(rule, "domains") && rule.Find("regions") == nullptr)
      problems.Add(rule.at, "a rule needs at least one of nodes, ops, domains", ProblemCode::kMissingKey);
    if (says(rule, "to") == says(rule, "avoid")) problems.Add(rule.at, "a rule needs exactly one of 'to' and 'avoid'");
  }
}

}  // namespace

bool IsOurVersion(const YamlNode& root, Problems& problems) {
  const YamlEntry* version = root.Find("version");
  if (version == nullptr || version->value.kind != YamlNode::Kind::kScalar || version->value.quoted) return true;
  const Result<int64_t> number = ParseInteger(version->value.text);
  if (!number.ok() || *number == kConfigVersion) return true;
  problems.Add(version->value.at,
               fmt::format("this Deputy reads version {} of the configuration, not {}", kConfigVersion,
                           Quoted(version->value.text)),
               ProblemCode::kVersion);
  return false;
}

Config ReadConfig(const YamlNode& root, LayerKind kind, const BaseFolders& bases, Problems& problems) {
  Config config;
  if (root.kind != YamlNode::Kind::kMap) {
    problems.Add(root.at, fmt::format("a configuration is a mapping, such as 'version: 1', not {}",
                                      root.kind == YamlNode::Kind::kList ? "a list" : "a single value"));
    return config;
  }
  if (kind == LayerKind::kFile && root.Find("version") == nullptr)
    problems.Add(root.at, "key 'version' is missing; write 'version: 1'", ProblemCode::kMissingKey);
  FieldReader reader(root, bases, problems);
  VisitConfig(reader, config);
  reader.RefuseUnknownKeys();
  CheckDelegates(root, problems);
  CheckPlacementRules(root, problems);
  for (DelegateConfig& delegate : config.delegates.items)
    if (delegate.delegate->empty()) delegate.delegate.value = *delegate.name;
  return config;
}

std::vector<Problem> UnknownReferences(const Config& config, const std::vector<std::string>& added) {
  std::vector<std::string> names;
  for (const DelegateConfig& delegate : config.delegates) names.push_back(*delegate.name);
  names.insert(names.end(), added.begin(), added.end());
  names.emplace_back(kCpuName);
  std::vector<Problem> unknown;
  const auto check = [&](const std::string& name, const Origin& at) {
    if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) return;
    unknown.push_back({at,
                       fmt::format("no delegate is called {}{} (known: {})", Quoted(name), DidYouMean(name, names),
                                   Printable(fmt::format("{}", fmt::join(names, ", ")), SIZE_MAX)),
                       ProblemCode::kUnknownDelegate});
  };
  for (const PlacementRule& rule : config.placement.rules) {
    check(*rule.to, rule.to.origin);
    for (const Setting<std::string>& name : rule.avoid) check(*name, name.origin);
  }
  for (const Named<LogLevel>& level : config.log.delegates) check(level.name, level.origin());
  if (!config.plugins.trust_keys.empty() && *config.plugins.trust != Trust::kListed)
    unknown.push_back({config.plugins.trust_keys.origin, "'trust_keys' has no effect without 'trust: listed'",
                       ProblemCode::kNoEffect});
  return unknown;
}

}  // namespace deputy::host
