#include "config/reference.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "config/fields.hpp"
#include "config/words.hpp"

namespace deputy::host {
namespace {

std::string_view NameOf(TextKind kind) {
  switch (kind) {
    case TextKind::kName: return "name";
    case TextKind::kPattern: return "text";
    case TextKind::kDevice: return "number or name";
    case TextKind::kPluginPath: return "folder";
    case TextKind::kPublicKey: return "public key";
    case TextKind::kCacheDir: return "auto, off or a folder";
    case TextKind::kFolder: return "auto or a folder";
    case TextKind::kDump: return "word: graph, placement, plan or tensors";
    case TextKind::kVariable: return "name, or a beginning of names before '*'";
  }
  return "text";
}

// The visitor of fields.hpp that lists the keys.
class KeyLister {
 public:
  std::vector<KeyEntry> Take() { return std::move(keys_); }

  void Text(const Key& key, const Setting<std::string>& text, TextKind kind) { Add(key, NameOf(kind), *text); }
  void Texts(const Key& key, const List<Setting<std::string>>& list, TextKind kind) {
    std::vector<std::string_view> texts;
    for (const Setting<std::string>& text : list) texts.push_back(*text);
    Add(key, fmt::format("list, each a {}", NameOf(kind)), fmt::format("[{}]", fmt::join(texts, ", ")));
  }
  void Integer(const Key& key, const Setting<int64_t>& value, const IntegerRange& range) {
    const std::string type = range.min == range.max ? std::to_string(range.min)
                                                    : fmt::format("integer from {} to {}{}{}", range.min, range.max,
                                                                  range.word.empty() ? "" : ", or ", range.word);
    const bool absent = *value == 0 && range.min > 0;
    Add(key, type, absent ? std::string(range.word) : std::to_string(*value));
  }
  void Real(const Key& key, const Setting<std::optional<double>>&, const RealRange& range) {
    Add(key, fmt::format("number from {} to {}", range.min, range.max), "");
  }
  void Flag(const Key& key, const Setting<bool>& value) { Add(key, "true or false", *value ? "true" : "false"); }
  void Quantity(const Key& key, const Setting<Percent>& value, const PercentRange& range) {
    Add(key, fmt::format("share from {} to {}", range.min, range.max), FormatPercent(*value));
  }
  void Quantity(const Key& key, const Setting<Duration>& value, const DurationRange& range) {
    const std::string words = range.has_words() ? fmt::format("{}, {} or ", range.automatic, range.none) : "";
    const std::string_view word = range.WordOf(*value);
    Add(key, fmt::format("{}duration from {} to {}, in {}", words, range.min, range.max, DurationUnits()),
        word.empty() ? FormatDuration(*value) : std::string(word));
  }
  void Quantity(const Key& key, const Setting<Bytes>& value, const SizeRange& range) {
    Add(key, fmt::format("size from {} to {}, in {}", range.min, range.max, SizeUnits()), FormatSize(*value));
  }
  void Options(const Key& key, const List<Named<OptionValue>>&) {
    Add(key, "mapping of the delegate's options to values", "{}");
  }
  void Instruction(const Key& key) { Add(key, NameOf(TextKind::kName), ""); }
  void Unavailable(const Key& key) {
    Add(key, "not available in this version", "");
    keys_.back().available = false;
  }

  template <class E>
  void Choice(const Key& key, const Setting<E>& value) {
    Add(key, WordsOf<E>(), std::string(WordFor(*value)));
  }
  template <class E>
  void Choices(const Key& key, const List<Named<E>>&, TextKind) {
    Add(key, fmt::format("mapping of names of delegates to {}", WordsOf<E>()), "{}");
  }

  template <class Visit>
  void Group(const Key& key, Visit visit) {
    Add(key, "mapping", "");
    Within(fmt::format("{}{}.", prefix_, key.name), visit);
  }
  template <class E, class Visit>
  void GroupOrChoice(const Key& key, const Setting<E>&, Visit visit) {
    Add(key, fmt::format("mapping, or {}", WordsOf<E>()), "");
    Within(fmt::format("{}{}.", prefix_, key.name), visit);
  }
  template <class T, class Visit>
  void Items(const Key& key, const List<T>&, Visit visit) {
    Add(key, "list of mappings", "[]");
    T item;
    // Entries of delegates are addressed by name, other items are not addressed.
    const bool named = std::is_same_v<T, DelegateConfig>;
    Within(fmt::format("{}{}{}.", prefix_, key.name, named ? ".NAME" : "[]"), [&] { visit(item); });
  }

 private:
  template <class Visit>
  void Within(std::string prefix, Visit visit) {
    prefix.swap(prefix_);
    visit();
    prefix.swap(prefix_);
  }
  template <class E>
  static std::string WordsOf() {
    return fmt::format("{}", fmt::join(WordTexts<E>(), " | "));
  }
  void Add(const Key& key, std::string_view type, std::string default_value) {
    keys_.push_back({prefix_ + std::string(key.name), std::string(type), std::move(default_value),
                     std::string(key.meaning), std::string(key.example)});
  }

  std::string prefix_;
  std::vector<KeyEntry> keys_;
};

}  // namespace

std::vector<KeyEntry> KeyReference(const Config& defaults) {
  KeyLister lister;
  VisitConfig(lister, defaults);
  return lister.Take();
}

}  // namespace deputy::host
