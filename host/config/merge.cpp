#include "config/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/nearest.hpp"
#include "base/printable.hpp"
#include "config/config.hpp"
#include "config/origin.hpp"

namespace deputy::host {
namespace {

YamlNode* Child(YamlNode& map, std::string_view key) {
  for (YamlEntry& entry : map.entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

const std::string* NameOfDelegate(const YamlNode& delegate) {
  const YamlEntry* name = delegate.Find("name");
  return name != nullptr && name->value.kind == YamlNode::Kind::kScalar ? &name->value.text : nullptr;
}

// Depth is bounded by the reader's limit.
void Flatten(YamlEntry&& entry, const std::string& prefix, std::unordered_map<std::string, Origin>& seen,
             std::vector<YamlEntry>& flat, Problems& problems) {
  std::string name = prefix + entry.key;
  if (entry.value.kind == YamlNode::Kind::kMap && !entry.value.entries.empty()) {
    for (YamlEntry& inner : entry.value.entries) Flatten(std::move(inner), name + ".", seen, flat, problems);
    return;
  }
  const auto [first, is_new] = seen.emplace(name, entry.key_at);
  if (!is_new) {
    problems.Add(entry.key_at,
                 fmt::format("option {} is set twice, first at {}", Quoted(name), first->second.ToString()),
                 ProblemCode::kDuplicate);
    return;
  }
  flat.push_back({std::move(name), std::move(entry.key_at), std::move(entry.value)});
}

void MergeMap(YamlNode& base, YamlNode over) {
  base.at = std::move(over.at);
  std::unordered_map<std::string, size_t> index;
  for (size_t i = 0; i < base.entries.size(); ++i) index.emplace(base.entries[i].key, i);
  for (YamlEntry& entry : over.entries) {
    const auto found = index.find(entry.key);
    if (found == index.end()) {
      base.entries.push_back(std::move(entry));
      continue;
    }
    YamlNode& under = base.entries[found->second].value;
    if (under.kind == YamlNode::Kind::kMap && entry.value.kind == YamlNode::Kind::kMap) {
      MergeMap(under, std::move(entry.value));
    } else {
      under = std::move(entry.value);
    }
  }
}

class DelegateMerger {
 public:
  DelegateMerger(YamlNode& list, NewDelegates new_delegates, Problems& problems, const Elsewhere& elsewhere)
      : list_(list), new_delegates_(new_delegates), problems_(problems), elsewhere_(elsewhere) {
    for (size_t i = 0; i < list_.items.size(); ++i)
      if (const std::string* name = NameOfDelegate(list_.items[i])) index_.emplace(*name, i);
  }

  void Merge(YamlNode layer) {
    list_.at = layer.at;
    if (layer.items.empty()) list_.items.clear();
    std::vector<Move> moves;
    std::vector<std::string> order;
    for (YamlNode& delegate : layer.items) {
      // The schema reports delegates without a name.
      if (delegate.kind != YamlNode::Kind::kMap || NameOfDelegate(delegate) == nullptr) continue;
      const std::string name = *NameOfDelegate(delegate);
      std::optional<YamlNode> before = TakeBefore(delegate);
      if (!MergeOne(name, std::move(delegate))) continue;
      order.push_back(name);
      if (before) moves.push_back({name, std::move(*before)});
    }
    KeepOrder(order);
    // After all names are known: `before` may name a delegate that the same layer lists further down.
    ApplyAll(moves);
  }

 private:
  struct Move {
    std::string name;
    YamlNode before;
  };

  static std::optional<YamlNode> TakeBefore(YamlNode& delegate) {
    const auto entry = std::find_if(delegate.entries.begin(), delegate.entries.end(),
                                    [](const YamlEntry& candidate) { return candidate.key == "before"; });
    if (entry == delegate.entries.end()) return std::nullopt;
    YamlNode before = std::move(entry->value);
    delegate.entries.erase(entry);
    if (before.kind != YamlNode::Kind::kScalar) return std::nullopt;
    return before;
  }

  bool MergeOne(const std::string& name, YamlNode delegate) {
    const auto known = index_.find(name);
    if (known != index_.end()) {
      // The name's origin stays that of the layer that made the delegate.
      std::erase_if(delegate.entries, [](const YamlEntry& entry) { return entry.key == "name"; });
      MergeMap(list_.items[known->second], std::move(delegate));
      return true;
    }
    if (new_delegates_ == NewDelegates::kWithPluginOnly && delegate.Find("delegate") == nullptr) {
      problems_.Add(delegate.at, fmt::format("no delegate is called {}{}", Quoted(name), Meant(name)),
                    ProblemCode::kUnknownDelegate);
      return false;
    }
    index_.emplace(name, list_.items.size());
    list_.items.push_back(std::move(delegate));
    return true;
  }

  // The order of the layer holds for those that it lists, beginning with its last one, which stays.
  void KeepOrder(const std::vector<std::string>& order) {
    for (size_t i = order.size(); i-- > 1;)
      if (index_.at(order[i - 1]) > index_.at(order[i])) MoveTo(order[i - 1], index_.at(order[i]));
  }

  // A delegate moves only after the one before which it is placed; then no later move separates them.
  void ApplyAll(const std::vector<Move>& moves) {
    enum class State { kWaiting, kOnPath, kDone };
    std::vector<State> states(moves.size(), State::kWaiting);
    std::unordered_map<std::string_view, size_t> by_name;
    for (size_t i = 0; i < moves.size(); ++i) by_name.emplace(moves[i].name, i);
    for (size_t first = 0; first < moves.size(); ++first) {
      std::vector<size_t> path;
      size_t next = first;
      while (states[next] == State::kWaiting) {
        states[next] = State::kOnPath;
        path.push_back(next);
        const auto target = by_name.find(moves[next].before.text);
        if (target == by_name.end() || target->second == next) break;
        next = target->second;
      }
      const bool circle = !path.empty() && path.back() != next && states[next] == State::kOnPath;
      for (size_t i = path.size(); i-- > 0;) {
        const Move& move = moves[path[i]];
        states[path[i]] = State::kDone;
        if (circle) {
          problems_.Add(
              move.before.at,
              fmt::format("'before' forms a cycle: {} before {}", Quoted(move.name), Quoted(move.before.text)),
              ProblemCode::kOrder);
        } else {
          Apply(move);
        }
      }
    }
  }

  void Apply(const Move& move) {
    if (move.before.text == kCpuName) {
      MoveTo(move.name, list_.items.size());
      return;
    }
    const auto target = index_.find(move.before.text);
    if (target == index_.end()) {
      problems_.Add(move.before.at,
                    fmt::format("'before' must name a delegate of this layer or of one below, not {}{}",
                                Quoted(move.before.text), Meant(move.before.text)),
                    ProblemCode::kUnknownDelegate);
    } else if (move.before.text == move.name) {
      problems_.Add(move.before.at, "a delegate cannot be before itself", ProblemCode::kOrder);
    } else {
      MoveTo(move.name, target->second);
    }
  }

  void MoveTo(const std::string& name, size_t target) {
    const size_t from = index_.at(name);
    const auto at = [&](size_t i) { return list_.items.begin() + static_cast<std::ptrdiff_t>(i); };
    if (from < target) {
      std::rotate(at(from), at(from + 1), at(target));
    } else {
      std::rotate(at(target), at(from), at(from + 1));
    }
    for (size_t i = std::min(from, target); i < std::max(from + 1, target); ++i)
      index_[*NameOfDelegate(list_.items[i])] = i;
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const YamlNode& delegate : list_.items) names.push_back(*NameOfDelegate(delegate));
    return names;
  }

  // After the name of an entry that does not exist.
  std::string Meant(const std::string& name) const {
    const std::string layer = elsewhere_ ? elsewhere_(name) : "";
    return layer.empty() ? DidYouMean(name, Names()) + Known() : Known() + layer;
  }

  std::string Known() const {
    constexpr size_t kMostShown = 10;
    std::vector<std::string> names = Names();
    if (names.empty()) return " (none is listed)";
    const bool more = names.size() > kMostShown;
    if (more) names.resize(kMostShown);
    return fmt::format(" (listed: {}{})", Printable(fmt::format("{}", fmt::join(names, ", ")), SIZE_MAX),
                       more ? ", ..." : "");
  }

  YamlNode& list_;
  NewDelegates new_delegates_;
  Problems& problems_;
  const Elsewhere& elsewhere_;
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace

void FlattenOptions(YamlNode& layer, Problems& problems) {
  YamlNode* delegates = Child(layer, "delegates");
  if (delegates == nullptr) return;
  for (YamlNode& delegate : delegates->items) {
    YamlNode* options = Child(delegate, "options");
    if (options == nullptr || options->kind != YamlNode::Kind::kMap) continue;
    std::vector<YamlEntry> flat;
    std::unordered_map<std::string, Origin> seen;
    for (YamlEntry& entry : options->entries) Flatten(std::move(entry), "", seen, flat, problems);
    options->entries = std::move(flat);
  }
}

void AddLowerPaths(const YamlNode& merged, YamlNode& layer) {
  const YamlEntry* lower = merged.Find("plugins");
  YamlNode* upper = layer.kind == YamlNode::Kind::kMap ? Child(layer, "plugins") : nullptr;
  if (lower == nullptr || upper == nullptr || upper->kind != YamlNode::Kind::kMap) return;
  const YamlEntry* under = lower->value.Find("paths");
  YamlNode* over = Child(*upper, "paths");
  if (under == nullptr || over == nullptr) return;
  if (over->kind == YamlNode::Kind::kScalar) {
    YamlNode list;
    list.kind = YamlNode::Kind::kList;
    list.at = over->at;
    list.items.push_back(std::move(*over));
    *over = std::move(list);
  }
  if (over->kind != YamlNode::Kind::kList || over->items.empty()) return;
  const auto add = [&](const YamlNode& path) {
    if (path.at.source != Origin().source) over->items.push_back(path);
  };
  if (under->value.kind == YamlNode::Kind::kScalar) add(under->value);
  for (const YamlNode& path : under->value.items) add(path);
}

void MergeLayer(YamlNode& merged, YamlNode layer, NewDelegates new_delegates, Problems& problems,
                const Elsewhere& elsewhere) {
  // Anything but a mapping, or a list under 'delegates', is the schema's to refuse.
  if (layer.kind != YamlNode::Kind::kMap) return;
  if (YamlNode* upper = Child(layer, "delegates")) {
    if (upper->kind == YamlNode::Kind::kList) {
      YamlNode* lower = Child(merged, "delegates");
      if (lower == nullptr) {
        YamlEntry made{"delegates", upper->at, {}};
        made.value.kind = YamlNode::Kind::kList;
        merged.entries.push_back(std::move(made));
        lower = &merged.entries.back().value;
      }
      DelegateMerger(*lower, new_delegates, problems, elsewhere).Merge(std::move(*upper));
    }
    std::erase_if(layer.entries, [](const YamlEntry& entry) { return entry.key == "delegates"; });
  }
  merged.kind = YamlNode::Kind::kMap;
  MergeMap(merged, std::move(layer));
}

std::vector<std::string> DelegateNames(const YamlNode& merged) {
  std::vector<std::string> names;
  const YamlEntry* delegates = merged.Find("delegates");
  if (delegates == nullptr) return names;
  for (const YamlNode& delegate : delegates->value.items)
    if (const std::string* name = NameOfDelegate(delegate)) names.push_back(*name);
  return names;
}

}  // namespace deputy::host
