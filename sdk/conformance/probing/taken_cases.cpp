#include "probing/taken_cases.hpp"

#include <algorithm>
#include <map>

#include "probing/forms.hpp"
#include "probing/neighbours.hpp"
#include "random/model.hpp"

namespace deputy::conformance {
namespace {

constexpr int kMostFormQuestions = 120, kMostDrawQuestions = 60;
constexpr size_t kEnoughToKnow = 6;  // refusals of an unknown operator
constexpr int kMostCombinationsInVain = 200;
constexpr int kMostInVain = 45, kMostUnknown = 6;  // questions without a single case that is taken

bool HoldsNaN(const Case& tested) {
  return std::any_of(tested.inputs.begin(), tested.inputs.end(), [](const Operand& input) {
    for (int64_t i = 0; input.present && i < input.value.count(); ++i)
      if (reference::IsNaN(input.value, i)) return true;
    return false;
  });
}

}  // namespace

TakenCases::TakenCases(Instance& instance, std::vector<const Case*> fixed, uint64_t seed)
    : instance_(instance),
      fixed_(std::move(fixed)),
      op_type_(fixed_.empty() ? "" : fixed_.front()->node.name()),
      seed_(seed) {}

void TakenCases::Record(const Case& tested, bool taken, const Answer& refusal) {
  ++offered_;
  const std::optional<Form> form = FormOf(tested);
  if (taken) {
    ++taken_;
    if (form) right_types_.insert(form->dtype);
    return;
  }
  if (refusal.reason != DEPUTY_REASON_OPERATOR_UNKNOWN && refusal.reason != DEPUTY_REASON_DEFINITION_TOO_NEW) ++known_;
  if (form && refusal.reason == DEPUTY_REASON_DTYPE) wrong_types_.insert(form->dtype);
}

bool TakenCases::Asks(const Case& tested) {
  const CaseGraph shown(tested);
  if (shown.expected.empty()) return false;
  Answer refusal;
  std::optional<Claim> claim = instance_.ClaimAll(shown.graph, &refusal);
  if (claim) instance_.Release(*claim);
  Record(tested, claim.has_value(), refusal);
  return claim.has_value();
}

std::vector<Case> TakenCases::Search() {
  std::vector<Case> found;
  // Some delegates give that reason for every refusal.
  const int most_in_vain = is_unknown() ? kMostUnknown : kMostInVain;
  std::map<deputy_dtype, size_t> of_type;
  int questions = 0;
  const size_t missing = taken_ < kEnoughCases ? kEnoughCases - taken_ : 0;
  for (const Form& form : CommonForms()) {
    if (found.size() >= missing || questions >= kMostFormQuestions) break;
    if (taken_ == 0 && questions >= most_in_vain) break;
    if (wrong_types_.count(form.dtype) != 0 && right_types_.count(form.dtype) == 0) continue;
    if (of_type[form.dtype] >= kEnoughCases / 2) continue;
    const std::optional<Case> tested = CaseIn(op_type_, form, seed_);
    if (!tested) continue;
    ++questions;
    if (!Asks(*tested)) continue;
    ++of_type[form.dtype];
    found.push_back(*tested);
  }
  for (const Case& tested : CombinationsOf(op_type_, seed_)) {
    if (found.size() >= missing ||
        (taken_ == 0 && questions >= most_in_vain + (is_unknown() ? kMostUnknown : kMostCombinationsInVain)))
      break;
    ++questions;
    if (Asks(tested)) found.push_back(tested);
  }
  if (found.size() < missing && (taken_ != 0 || questions < most_in_vain))
    for (Case& drawn : Drawn(missing - found.size(), kMostDrawQuestions)) found.push_back(std::move(drawn));
  return found;
}

std::vector<Case> TakenCases::Drawn(size_t most, int questions) {
  std::vector<Case> found;
  const std::vector<std::string>& names = RandomOperators();
  const auto at = std::find(names.begin(), names.end(), op_type_);
  if (at == names.end() || is_unknown()) return found;
  // A model's operator follows from its number.
  uint64_t number = static_cast<uint64_t>(at - names.begin()) + seed_ * names.size() * 1000;
  for (int i = 0; i < questions && found.size() < most; ++i, number += names.size()) {
    RandomModel model = DrawModel(number);
    if (model.tested.node.op_type.empty()) return found;
    // A host computes nodes of constants itself.
    const bool reads = std::any_of(model.tested.inputs.begin(), model.tested.inputs.end(),
                                   [](const Operand& input) { return input.present && !input.constant; });
    if (!reads || !Asks(model.tested)) continue;
    if (HoldsNaN(model.tested)) model.tested.label += " values=nan";
    found.push_back(std::move(model.tested));
  }
  return found;
}

std::vector<Case> TakenCases::First(size_t most) {
  std::vector<Case> found;
  for (const bool plain : {true, false})
    for (const Case* tested : fixed_) {
      if (found.size() == most) return found;
      const bool is_plain = tested->label == "plain" || tested->label == "second=constant";
      if (is_plain != plain || tested->label.find("empty") != std::string::npos) continue;
      if (offered_ >= kEnoughToKnow && is_unknown()) return found;
      if (Asks(*tested)) found.push_back(*tested);
    }
  for (Case& other : Search()) {
    if (found.size() == most) break;
    found.push_back(std::move(other));
  }
  return found;
}

std::vector<std::pair<std::string, std::vector<const Case*>>> ByOperator(const std::vector<Case>& cases) {
  std::map<std::string, std::vector<const Case*>> operators;
  for (const Case& one : cases) operators[one.node.name()].push_back(&one);
  return {operators.begin(), operators.end()};
}

}  // namespace deputy::conformance
