// A case or a model on an opened delegate: the graph that is shown to the plugin, and its executable.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cases/models.hpp"
#include "shown_model.hpp"
#include "test.hpp"

namespace deputy::conformance {

// A graph of one node with the values of its inputs and the expected values of its outputs.
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

// The graph of a model of several nodes.
class ModelGraph final : public ShownModel {
 public:
  // `model` must outlive it.
  explicit ModelGraph(const ModelCase& model);
  Tolerance ToleranceIn(const Claim& claim, deputy_value_id id, deputy_dtype computes_in) const override;

 private:
  // How far a value moves when every node of the claim errs as far as it may; of several trials the largest.
  double DeviationOf(const Claim& claim, deputy_value_id id, deputy_dtype computes_in) const;
  bool IsIn(const Claim& claim, size_t node) const;
  // A node with the values of its inputs.
  Case Alone(size_t node) const;

  const ModelCase& model_;
  mutable std::map<std::vector<deputy_node_id>, std::map<size_t, double>> deviations_;  // by nodes of a claim, by value
  mutable std::mutex mutex_;
};

// A compiled case that the delegate supports, with a context.
struct Compiled {
  std::string name;
  const Case* tested = nullptr;  // NULL for a model
  std::unique_ptr<ShownModel> shown;
  Claim claim;  // its handle was consumed
  std::unique_ptr<Executable> executable;
  std::unique_ptr<Context> context;
};
// Nothing where the delegate refuses all nodes together; `why_not` is the reason.
std::optional<Compiled> CompileShown(Instance& instance, std::string name, std::unique_ptr<ShownModel> shown,
                                     std::string* why_not);
std::optional<Compiled> CompileCase(Instance& instance, const Case& tested, std::string* why_not);
// The first case that the delegate supports, preferably one that computes, for tests that need any case.
std::optional<Compiled> CompileAnyCase(Instance& instance, const std::vector<Case>& cases);

// Of the operators' cases in the order of `cases`, those of operators that compute in front; of others, the plain ones.
// `admits` is asked about each case, with how many of its operator were admitted before and how many of them the
// delegate supported. At most `most`.
std::vector<Compiled> CompileSomeCases(
    Instance& instance, const std::vector<Case>& cases, size_t most,
    const std::function<bool(const Case& tested, size_t admitted, size_t supported)>& admits);

// `compiled` is empty after a failure or a skip has been recorded.
struct OpenedCase {
  std::unique_ptr<Plugin> plugin;
  std::unique_ptr<Instance> instance;
  std::optional<Compiled> compiled;
};
OpenedCase OpenAnyCase(TestRun& run, const std::vector<Case>& cases);

}  // namespace deputy::conformance
