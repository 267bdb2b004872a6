#include "random/model.hpp"

#include <algorithm>
#include <map>

#include "random/families.hpp"

namespace deputy::conformance {
namespace {

constexpr int32_t kNewestOpset = 23;

using Writers = std::map<std::string, void (*)(Draft&)>;

const Writers& AllWriters() {
  static const auto* const writers = [] {
    auto* all = new Writers;
#define DEPUTY_ADD(family) \
  for (const DraftRow& row : family##Drafts()) all->emplace(row.op_type, row.write);
    DEPUTY_DRAFT_FAMILIES(DEPUTY_ADD)
#undef DEPUTY_ADD
    return all;
  }();
  return *writers;
}

// The last operator set in which a definition holds.
int32_t LastOpset(const OperatorFacts& facts, int32_t since) {
  for (const Definition& definition : facts.definitions)
    if (definition.since > since) return definition.since - 1;
  return std::max(kNewestOpset, since);
}

// The unknown extents of the model's inputs: none, all, or some.
UnknownExtents DrawUnknown(RandomSource& random, const Case& tested) {
  UnknownExtents unknown;
  const int64_t how = random.Between(0, 3);
  if (how <= 1) return unknown;
  unknown.outputs = true;
  for (size_t i = 0; i < tested.inputs.size(); ++i)
    for (size_t axis = 0; axis < tested.inputs[i].value.rank(); ++axis)
      if (how == 2 || random.Half()) unknown.inputs.insert({i, axis});
  return unknown;
}

}  // namespace

const std::vector<std::string>& RandomOperators() {
  static const auto* const names = [] {
    auto* all = new std::vector<std::string>;
    for (const OperatorFacts& facts : AllOperators())
      if (facts.domain.empty() && reference::Knows(std::string(facts.name))) all->emplace_back(facts.name);
    return all;
  }();
  return *names;
}

RandomModel DrawModel(uint64_t seed) {
  const std::string& op_type = RandomOperators()[static_cast<size_t>(seed % RandomOperators().size())];
  const OperatorFacts& facts = *FactsOf(op_type);
  Draft draft(facts, seed);
  RandomModel model;
  const auto writer = AllWriters().find(op_type);
  if (writer == AllWriters().end()) return model;
  writer->second(draft);
  model.tested = draft.Finish();
  const int32_t since = model.tested.node.since_version;
  model.opset = static_cast<int32_t>(draft.Between(since, LastOpset(facts, since)));
  model.unknown = DrawUnknown(draft, model.tested);
  return model;
}

std::vector<uint8_t> FileOf(const RandomModel& model, const std::vector<Tensor>& expected) {
  Case shown = model.tested;
  shown.node.since_version = model.opset;
  return OnnxModel(shown, expected, model.unknown);
}

}  // namespace deputy::conformance
