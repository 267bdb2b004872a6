#include "probing/subject.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

#include "random/draft.hpp"

namespace deputy::conformance {

struct Subject::Backing {
  std::deque<Case> cases;
  std::deque<ModelCase> models;
};

namespace {

void Rotate(Tensor& tensor, size_t turn) {
  const auto rotated = [&](auto& values) {
    if (values.size() > 1)
      std::rotate(values.begin(), values.begin() + static_cast<ptrdiff_t>(turn % values.size()), values.end());
  };
  if (reference::IsReal(tensor.dtype)) rotated(tensor.real);
}

// Writes another element over that at `part` quarters of the tensor; false where all are equal or it is small.
bool ChangeInside(Tensor& tensor, size_t part) {
  if (!reference::IsReal(tensor.dtype) || tensor.count() < 8) return false;
  const size_t at = tensor.real.size() * part / 4;
  const auto other = std::find_if(tensor.real.begin(), tensor.real.end(),
                                  [&](double value) { return value < tensor.real[at] || value > tensor.real[at]; });
  if (other == tensor.real.end()) return false;
  tensor.real[at] = *other;
  return true;
}

// Floats drawn anew in the range of the old ones.
bool Redraw(Tensor& tensor, uint64_t seed) {
  if (!reference::IsReal(tensor.dtype) || tensor.count() < 2) return false;
  const auto [least, most] = std::minmax_element(tensor.real.begin(), tensor.real.end());
  const double low = *least, high = *most;
  if (!(low < high)) return false;
  RandomSource random(seed);
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.Put(i, std::clamp(low + static_cast<double>(random.Between(0, 4096)) / 4096 * (high - low), low, high));
  return true;
}

// Another element at `at`: one of the ends of the tensor's range, or, `slightly`, one nearby.
bool ChangeOne(Tensor& tensor, int64_t at, bool slightly) {
  if (!reference::IsReal(tensor.dtype) || tensor.count() < 2) return false;
  const auto [least, most] = std::minmax_element(tensor.real.begin(), tensor.real.end());
  const double old = tensor.Get(at), low = *least, high = *most;
  if (!std::isfinite(high - low)) return false;
  tensor.Put(at, slightly ? old * 1.125 : (old < high ? high : low));
  const double now = tensor.Get(at);
  return now < old || now > old;
}

// Two different elements change places, so that sums over all bytes stay.
bool Exchange(Tensor& tensor) {
  if (!reference::IsReal(tensor.dtype)) return false;
  auto& values = tensor.real;
  const auto other = std::find_if(values.begin(), values.end(),
                                  [&](double value) { return value < values.back() || value > values.back(); });
  if (other == values.end()) return false;
  std::swap(*other, values.back());
  return true;
}

// How the constants of a variant differ from those of the subject. Caches take constants for the same by name and size,
// by their first bytes, by a sum.
struct Change {
  const char* name;
  bool (*apply)(Tensor& tensor, size_t input);
};
constexpr Change kChanges[] = {
    {"other constants", [](Tensor& tensor, size_t input) { return Redraw(tensor, 77 + input); }},
    {"constants of which the last element differs",
     [](Tensor& tensor, size_t) { return ChangeOne(tensor, tensor.count() - 1, false); }},
    {"constants of which the last element differs a little",
     [](Tensor& tensor, size_t) { return ChangeOne(tensor, tensor.count() - 1, true); }},
    {"constants of which the middle differs",
     [](Tensor& tensor, size_t) { return ChangeOne(tensor, tensor.count() / 2, false); }},
    {"constants of which two elements have changed places", [](Tensor& tensor, size_t) { return Exchange(tensor); }}};

bool SameShapes(const ShownModel& one, const ShownModel& other) {
  for (const deputy_value_id id : one.graph.outputs())
    if (one.ValueOf(id).dims != other.ValueOf(id).dims || one.ValueOf(id).dtype != other.ValueOf(id).dtype)
      return false;
  return true;
}

// Other inputs, or other constants, and what the nodes make of them.
void Recompute(ModelCase& model) {
  for (const ModelNode& node : model.nodes) {
    reference::Inputs operands;
    for (const size_t input : node.inputs) operands.push_back(input == kLeftOut ? nullptr : &model.values[input].value);
    model.values[node.outputs[0]].value = reference::Compute(node.node, operands).at(0);
  }
}

}  // namespace

Subject::Subject(const Case& tested) : name_(tested.name()), backing_(std::make_shared<Backing>()) {
  for (size_t turn = 0; turn < kTurns; ++turn) {
    backing_->cases.push_back(Turned(tested, turn));
    auto shown = std::make_unique<CaseGraph>(backing_->cases.back());
    if (turn == 0 || SameShapes(*turns_.front(), *shown)) turns_.push_back(std::move(shown));
  }
  for (const size_t part : {1u, 2u, 3u}) {
    Case changed = tested;
    bool any = false;
    for (size_t i = 0; i < changed.inputs.size(); ++i) {
      Operand& input = changed.inputs[i];
      if (input.present && !input.constant && !ArePositions(tested.node, i))
        any = ChangeInside(input.value, part) || any;
    }
    if (!any) continue;
    backing_->cases.push_back(std::move(changed));
    auto shown = std::make_unique<CaseGraph>(backing_->cases.back());
    if (SameShapes(*turns_.front(), *shown)) changed_inside_.push_back(std::move(shown));
  }
  // Bounds and steps that are constant change shapes, which are compared.
  for (const Change& change : kChanges) {
    Case other = tested;
    bool differs = false;
    for (size_t i = 1; i < other.inputs.size(); ++i)
      if (other.inputs[i].present && other.inputs[i].constant && !ArePositions(tested.node, i))
        differs = change.apply(other.inputs[i].value, i) || differs;
    if (!differs) continue;
    backing_->cases.push_back(std::move(other));
    auto shown = std::make_unique<CaseGraph>(backing_->cases.back());
    if (SameShapes(*turns_.front(), *shown)) variants_.push_back({change.name, std::move(shown)});
  }
}

Subject::Subject(const ModelCase& model) : name_(model.label), backing_(std::make_shared<Backing>()) {
  for (size_t turn = 0; turn < kTurns; ++turn) {
    ModelCase other = model;
    for (const size_t input : other.inputs) Rotate(other.values[input].value, turn);
    if (turn != 0) Recompute(other);
    backing_->models.push_back(std::move(other));
    turns_.push_back(std::make_unique<ModelGraph>(backing_->models.back()));
  }
  ModelCase changed = model;
  bool any = false;
  for (const size_t input : changed.inputs) any = ChangeInside(changed.values[input].value, 2) || any;
  if (any) {
    Recompute(changed);
    backing_->models.push_back(std::move(changed));
    changed_inside_.push_back(std::make_unique<ModelGraph>(backing_->models.back()));
  }
  for (const Change& change : kChanges) {
    ModelCase other = model;
    bool differs = false;
    for (size_t i = 0; i < other.values.size(); ++i)
      if (other.values[i].constant) differs = change.apply(other.values[i].value, i) || differs;
    if (!differs) continue;
    Recompute(other);
    backing_->models.push_back(std::move(other));
    auto shown = std::make_unique<ModelGraph>(backing_->models.back());
    if (SameShapes(*turns_.front(), *shown)) variants_.push_back({change.name, std::move(shown)});
  }
}

std::optional<Loaded> Load(Instance& instance, const ShownModel& shown, std::string* why_not) {
  why_not->clear();
  Answer refusal;
  std::optional<Claim> claim = instance.ClaimAll(shown.graph, &refusal);
  if (!claim) return std::nullopt;
  Loaded loaded;
  loaded.claim = *claim;
  Outcome outcome;
  loaded.executable = instance.Compile(shown.graph, *claim, &outcome);
  if (loaded.executable == nullptr) {
    // Several nodes together may be refused.
    if (outcome.code != DEPUTY_NOT_SUPPORTED || claim->nodes.size() == 1)
      *why_not = "compile fails: " + outcome.ToString();
    return std::nullopt;
  }
  std::string reason;
  loaded.context = loaded.executable->CreateContext(&reason);
  if (loaded.context != nullptr) return loaded;
  *why_not = "context_create fails: " + reason;
  return std::nullopt;
}

}  // namespace deputy::conformance
