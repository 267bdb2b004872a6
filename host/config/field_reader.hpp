// The visitor of fields.hpp that fills a Config from a tree and reports everything that does not fit.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/fields.hpp"
#include "config/reader.hpp"
#include "config/schema.hpp"
#include "config/words.hpp"

namespace deputy::host {

class FieldReader {
 public:
  FieldReader(const YamlNode& root, const BaseFolders& bases, Problems& problems)
      : map_(&root), bases_(bases), problems_(problems) {}

  // Reports the keys that no call has read since the mapping was entered.
  void RefuseUnknownKeys();

  void Text(std::string_view key, Setting<std::string>& out, TextKind kind);
  void Texts(std::string_view key, List<Setting<std::string>>& out,
             TextKind kind);  // one text is a list of one
  void Integer(std::string_view key, Setting<int64_t>& out, const IntegerRange& range);
  void Real(std::string_view key, Setting<std::optional<double>>& out, const RealRange& range);
  void Flag(std::string_view key, Setting<bool>& out);
  void Quantity(std::string_view key, Setting<Percent>& out, const PercentRange& range);
  void Quantity(std::string_view key, Setting<Duration>& out, const DurationRange& range);
  void Quantity(std::string_view key, Setting<Bytes>& out, const SizeRange& range);
  void Options(std::string_view key, List<Named<OptionValue>>& out);
  void Instruction(std::string_view key);
  void Unavailable(std::string_view key);

  template <class E>
  void Choice(std::string_view key, Setting<E>& out) {
    if (const YamlNode* node = Take(key)) ReadChoice(key, *node, out);
  }

  template <class E>
  void Choices(std::string_view key, List<Named<E>>& out, TextKind names) {
    const YamlNode* map = TakeMap(key, out.origin);
    if (map == nullptr) return;
    for (const YamlEntry& entry : map->entries) {
      Setting<E> setting;
      if (CheckKey(key, entry, names) && ReadChoice(entry.key, entry.value, setting))
        out.items.push_back({entry.key, setting});
    }
  }

  template <class Visit>
  void Group(std::string_view key, Visit visit) {
    Origin origin;
    if (const YamlNode* map = TakeMap(key, origin)) Within(*map, visit);
  }

  // A single word in the place of the group is the value of `single`.
  template <class E, class Visit>
  void GroupOrChoice(std::string_view key, Setting<E>& single, Visit visit) {
    const YamlNode* node = Take(key);
    if (node == nullptr) return;
    if (node->kind == YamlNode::Kind::kMap) return Within(*node, visit);
    ReadChoice(key, *node, single);
  }

  template <class T, class Visit>
  void Items(std::string_view key, List<T>& out, Visit visit) {
    const YamlNode* list = TakeList(key, out.origin);
    if (list == nullptr) return;
    for (const YamlNode& item : list->items) {
      T made;
      if (item.kind != YamlNode::Kind::kMap) {
        Refuse(key, item, "a list of mappings", "");
        continue;
      }
      Within(item, [&] { visit(made); });
      out.items.push_back(std::move(made));
    }
  }

 private:
  template <class Visit>
  void Within(const YamlNode& map, Visit visit) {
    const YamlNode* outer = map_;
    std::vector<std::string_view> outer_known, outer_unavailable;
    outer_known.swap(known_);
    outer_unavailable.swap(unavailable_);
    map_ = &map;
    visit();
    RefuseUnknownKeys();
    map_ = outer;
    known_.swap(outer_known);
    unavailable_.swap(outer_unavailable);
  }

  template <class E>
  bool ReadChoice(std::string_view key, const YamlNode& node, Setting<E>& out) {
    for (const Word<E>& word : Words(E{})) {
      if (node.kind != YamlNode::Kind::kScalar || node.text != word.text) continue;
      out = {word.value, node.at};
      return true;
    }
    RefuseWord(key, node, WordTexts<E>());
    return false;
  }

  // The value of a key that is there and has not been refused before.
  const YamlNode* Take(std::string_view key);
  const YamlNode* TakeMap(std::string_view key, Origin& origin);
  const YamlNode* TakeList(std::string_view key, Origin& origin);
  bool ReadText(std::string_view key, const YamlNode& node, TextKind kind, Setting<std::string>& out);
  bool CheckKey(std::string_view map, const YamlEntry& entry, TextKind kind);
  std::string Resolve(const YamlNode& node) const;
  void RefuseWord(std::string_view key, const YamlNode& node, const std::vector<std::string_view>& accepted);
  // "'key' must be EXPECTED, not FOUND: REASON"
  void Refuse(std::string_view key, const YamlNode& node, std::string_view expected, std::string_view reason);

  const YamlNode* map_;
  std::vector<std::string_view> known_, unavailable_;  // keys of the mapping that the visitor is in
  const BaseFolders& bases_;
  Problems& problems_;
};

}  // namespace deputy::host
