#include <fmt/format.h>

#include <iterator>
#include <string_view>
#include <vector>

#include "base/printable.hpp"
#include "config/fields.hpp"
#include "config/show.hpp"
#include "config/words.hpp"

namespace deputy::host {
namespace {

constexpr std::string_view kNamePattern = "^[A-Za-z0-9_.-]+$";  // IsName

std::string Pattern(std::string_view pattern) {
  return fmt::format(R"({{"type": "string", "pattern": {}}})", InQuotes(pattern));
}

// "us, ms, s" as the alternatives of a pattern.
std::string QuantityPattern(const std::string& units) {
  std::string alternatives;
  for (const char c : units)
    if (c != ' ') alternatives.push_back(c == ',' ? '|' : c);
  return fmt::format(R"(^(0|[1-9][0-9]*)(\.[0-9]{{1,3}})?({})$)", alternatives);
}

std::string Enumeration(const std::vector<std::string_view>& words) {
  std::vector<std::string> values;
  bool is_no_in_yaml_1_1 = false;
  for (const std::string_view word : words) {
    values.push_back(InQuotes(word));
    is_no_in_yaml_1_1 |= word == "off";
  }
  // YAML 1.1 readers turn an unquoted off into false, and a valid file would be refused.
  if (is_no_in_yaml_1_1) values.emplace_back("false");
  return fmt::format(R"({{"enum": [{}]}})", fmt::join(values, ", "));
}

std::string ListOf(std::string_view items) { return fmt::format(R"({{"type": "array", "items": {}}})", items); }

// The visitor of fields.hpp that writes the schema. Values are not read.
class SchemaWriter {
 public:
  void Text(const Key& key, const Setting<std::string>&, TextKind kind) { Add(key, TextOf(kind)); }
  void Texts(const Key& key, const List<Setting<std::string>>&, TextKind kind) {
    Add(key, fmt::format(R"({{"anyOf": [{}, {}]}})", TextOf(kind), ListOf(TextOf(kind))));
  }
  void Integer(const Key& key, const Setting<int64_t>&, const IntegerRange& range) {
    const std::string number =
        range.min == range.max
            ? fmt::format(R"({{"const": {}}})", range.min)
            : fmt::format(R"({{"type": "integer", "minimum": {}, "maximum": {}}})", range.min, range.max);
    Add(key, OrWord(number, range.word));
  }
  void Real(const Key& key, const Setting<std::optional<double>>&, const RealRange& range) {
    Add(key, fmt::format(R"({{"type": "number", "minimum": {}, "maximum": {}}})", range.min, range.max));
  }
  void Quantity(const Key& key, const Setting<Percent>&, const PercentRange& range) {
    AddQuantity(key, "a share", range.min, range.max, "%");
  }
  void Flag(const Key& key, const Setting<bool>&) { Add(key, R"({"type": "boolean"})"); }
  void Quantity(const Key& key, const Setting<Duration>&, const DurationRange& range) {
    std::vector<std::string_view> words;
    if (range.has_words()) words = {range.automatic, range.none};
    AddQuantity(key, "a duration", range.min, range.max, DurationUnits(), words);
  }
  void Quantity(const Key& key, const Setting<Bytes>&, const SizeRange& range) {
    AddQuantity(key, "a size", range.min, range.max, SizeUnits());
  }
  // Any names: each plugin publishes its own. Nested mappings are dotted names.
  void Options(const Key& key, const List<Named<OptionValue>>&) { Add(key, R"({"$ref": "#/$defs/options"})"); }
  void Instruction(const Key& key) { Add(key, TextOf(TextKind::kName)); }
  void Unavailable(const Key& key) { Add(key, R"({"not": {}})", "not available in this version"); }

  template <class E>
  void Choice(const Key& key, const Setting<E>&) {
    Add(key, WordsOf<E>());
  }
  template <class E>
  void Choices(const Key& key, const List<Named<E>>&, TextKind names) {
    Add(key, fmt::format(R"({{"type": "object", "propertyNames": {}, "additionalProperties": {}}})", TextOf(names),
                         WordsOf<E>()));
  }

  template <class Visit>
  void Group(const Key& key, Visit visit) {
    Add(key, Mapping(visit, ""));
  }

  template <class E, class Visit>
  void GroupOrChoice(const Key& key, const Setting<E>&, Visit visit) {
    Add(key, fmt::format(R"({{"anyOf": [{}, {}]}})", WordsOf<E>(), Mapping(visit, "")));
  }

  template <class T, class Visit>
  void Items(const Key& key, const List<T>&, Visit visit) {
    T item;
    Add(key, ListOf(Mapping([&] { visit(item); }, RulesOf(item))));
  }

  // An object of the keys that `visit` goes through, and no others.
  template <class Visit>
  std::string Mapping(Visit visit, std::string_view rules) {
    std::vector<std::string> outer;
    outer.swap(properties_);
    visit();
    outer.swap(properties_);
    return fmt::format(R"({{"type": "object", "properties": {{{}}}, "additionalProperties": false{}}})",
                       fmt::join(outer, ", "), rules);
  }

 private:
  // Requirements of schema.cpp beyond the single keys.
  static std::string_view RulesOf(const DelegateConfig&) { return R"(, "required": ["name"])"; }
  static std::string_view RulesOf(const PlacementRule&) {
    return R"(, "oneOf": [{"required": ["to"]}, {"required": ["avoid"]}], "anyOf": [{"required": ["nodes"]}, )"
           R"({"required": ["ops"]}, {"required": ["domains"]}])";
  }

  static std::string TextOf(TextKind kind) {
    return kind == TextKind::kName        ? Pattern(kNamePattern)
           : kind == TextKind::kPublicKey ? Pattern("^RW[A-Za-z0-9+/]{54}$")
           : kind == TextKind::kVariable  ? Pattern("^([A-Za-z_][A-Za-z0-9_]*)?\\*$|^[A-Za-z_][A-Za-z0-9_]*$")
           : kind == TextKind::kDevice
               ? R"({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "minLength": 1}]})"
           : kind == TextKind::kDump ? Enumeration({std::begin(kDumpWords), std::end(kDumpWords)})
           : kind == TextKind::kCacheDir
               ? R"({"anyOf": [{"type": "string", "minLength": 1}, {"const": false}]})"  // off, see Enumeration
               : R"({"type": "string", "minLength": 1})";
  }
  void AddQuantity(const Key& key, std::string_view quantity, std::string_view min, std::string_view max,
                   const std::string& units, const std::vector<std::string_view>& words = {}) {
    const std::string pattern = Pattern(QuantityPattern(units));
    Add(key, words.empty() ? pattern : fmt::format(R"({{"anyOf": [{}, {}]}})", Enumeration(words), pattern),
        fmt::format("{} from {} to {}, with its unit: {}", quantity, min, max, units));
  }
  static std::string OrWord(const std::string& schema, std::string_view word) {
    return word.empty() ? schema : fmt::format(R"({{"anyOf": [{{"const": {}}}, {}]}})", InQuotes(word), schema);
  }
  template <class E>
  static std::string WordsOf() {
    return Enumeration(WordTexts<E>());
  }

  void Add(const Key& key, std::string_view schema, std::string_view note = {}) {
    const std::string description = fmt::format("{}{}{}", key.meaning, note.empty() ? "" : "; ", note);
    properties_.push_back(
        fmt::format(R"({}: {{"description": {}, {})", InQuotes(key.name), InQuotes(description), schema.substr(1)));
  }

  std::vector<std::string> properties_;
};

}  // namespace

std::string ConfigJsonSchema() {
  Config config;
  SchemaWriter writer;
  const std::string schema = writer.Mapping([&] { VisitConfig(writer, config); }, R"(, "required": ["version"])");
  return fmt::format(
      R"({{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Deputy's configuration", )"
      R"("$defs": {{"options": {{"type": "object", "propertyNames": {}, "additionalProperties": {{"anyOf": )"
      R"([{{"type": ["string", "number", "boolean"]}}, {{"$ref": "#/$defs/options"}}]}}}}}}, {})",
      Pattern(kNamePattern), schema.substr(1));
}

}  // namespace deputy::host
