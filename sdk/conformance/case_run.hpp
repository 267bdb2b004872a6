// One case on an opened delegate: the graph that is shown, and what is compiled of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shown_model.hpp"

namespace deputy::conformance {

// A graph of one node with the values that its inputs have and its outputs must get.
class CaseGraph final : public ShownModel {
 public:
  // `tested` must outlive it.
  explicit CaseGraph(const Case& tested);
  Tolerance ToleranceIn(const Claim& claim, deputy_value_id id, deputy_dtype computes_in) const override;

  // One per input and output of the graph, in its order.
  std::vector<reference::Tensor> inputs, expected;

 private:
  const Case& tested_;
};

// A case that the delegate takes, compiled, with a context; the simplest of them for tests that need just any.
struct Compiled {
  std::string name;
  const Case* tested = nullptr;  // NULL for a model
  std::unique_ptr<ShownModel> shown;
  Claim claim;  // its handle is spent
  std::unique_ptr<Executable> executable;
  std::unique_ptr<Context> context;
};
// Nothing where the delegate refuses to take all of it together; `why_not` then says so.
std::optional<Compiled> CompileShown(Instance& instance, std::string name, std::unique_ptr<ShownModel> shown,
                                     std::string* why_not);
std::optional<Compiled> CompileCase(Instance& instance, const Case& tested, std::string* why_not);
// The first case, of those that do arithmetic if there are any, that the delegate takes.
std::optional<Compiled> CompileAnyCase(Instance& instance, const std::vector<Case>& cases);

}  // namespace deputy::conformance
