#include "plan/step_order.hpp"

#include <algorithm>
#include <functional>

#include "graph/graph.hpp"

namespace deputy::host {

StepOrder::StepOrder(Plan& plan)
    : words_(plan.steps.size() > kMostSteps ? 0 : (plan.steps.size() + 63) / 64), before_(plan.steps.size() * words_) {
  std::vector<uint32_t> producer_of(plan.graph->values.size(), kNone), producers;
  for (uint32_t index = 0; index < plan.steps.size(); ++index) {
    Step& step = plan.steps[index];
    producers.clear();
    const auto read = [&](ValueId id) {
      if (id != kNone && producer_of[id] != kNone) producers.push_back(producer_of[id]);
    };
    std::for_each(step.inputs.begin(), step.inputs.end(), read);
    for (const Branch& branch : step.branches) std::for_each(branch.captures.begin(), branch.captures.end(), read);
    // The latest first: those that it waits for itself are left out.
    std::sort(producers.begin(), producers.end(), std::greater<>());
    producers.erase(std::unique(producers.begin(), producers.end()), producers.end());
    step.waits.clear();
    for (const uint32_t producer : producers)
      if (!Precedes(producer, index)) Wait(step, index, producer);
    for (const ValueId id : step.outputs)
      if (id != kNone) producer_of[id] = index;
  }
}

void StepOrder::Wait(Step& step, uint32_t index, uint32_t producer) {
  step.waits.push_back(producer);
  if (!is_known()) return;
  uint64_t* const row = before_.data() + index * words_;
  const uint64_t* const others = before_.data() + producer * words_;
  for (size_t i = 0; i < words_; ++i) row[i] |= others[i];
  row[producer / 64] |= uint64_t{1} << (producer % 64);
}

}  // namespace deputy::host
