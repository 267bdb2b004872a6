// One case or model with several sets of data: the same nodes, shapes and constants, and other values in the inputs.
// And variants, which differ in their constants alone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "case_run.hpp"

namespace deputy::conformance {

class Subject {
 public:
  explicit Subject(const Case& tested);
  explicit Subject(const ModelCase& model);

  const std::string& name() const { return name_; }
  // Turn 0 is compiled. All have its shapes, also of the outputs.
  static constexpr size_t kTurns = 5;
  const ShownModel& turn(size_t number) const { return *turns_[number % turns_.size()]; }
  // Turn 0 with other data in a part of its inputs, far from the ends of each.
  const std::vector<std::unique_ptr<ShownModel>>& changed_inside() const { return changed_inside_; }
  // The same nodes, shapes and data with other constants; none where nothing is constant.
  struct Variant {
    const char* name;  // "constants of which the last element differs"
    std::unique_ptr<ShownModel> shown;
  };
  const std::vector<Variant>& variants() const { return variants_; }

 private:
  struct Backing;
  std::string name_;
  std::shared_ptr<Backing> backing_;  // of the graphs
  std::vector<std::unique_ptr<ShownModel>> turns_, changed_inside_;
  std::vector<Variant> variants_;
};

// A subject that is compiled. Members are destroyed in the right order.
struct Loaded {
  Claim claim;
  std::unique_ptr<Executable> executable;
  std::unique_ptr<Context> context;
};
// Nothing where the delegate does not take all nodes; with `why_not` empty then, and otherwise the failure.
std::optional<Loaded> Load(Instance& instance, const ShownModel& shown, std::string* why_not);

}  // namespace deputy::conformance
