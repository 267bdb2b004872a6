// Partitions of several nodes: formed from the delegate's verdicts as a host does, compiled each as one, and compared
// with the oracle, which computes node by node. Each model is tested whole and with each of its nodes owned by another
// delegate.
#include "partitions.hpp"

#include <algorithm>

#include "case_run.hpp"
#include "partition_run.hpp"
#include "saved_case.hpp"
#include "test.hpp"

namespace deputy::conformance {
namespace {

using Models = std::vector<ModelCase>;

// A model, possibly with one node of another delegate, or with inputs and outputs bound in another order than that in
// which they are read and made.
struct Shape {
  const ModelCase* model = nullptr;
  std::string label;
  std::unique_ptr<ModelGraph> shown;
  bool reversed = false;
};

std::vector<Shape> ShapesOf(const Models& models) {
  std::vector<Shape> shapes;
  for (const ModelCase& model : models) {
    shapes.push_back({&model, model.label, std::make_unique<ModelGraph>(model)});
    if (model.inputs.size() > 1 || model.outputs.size() > 1)
      shapes.push_back({&model, model.label + " bound in reverse order", std::make_unique<ModelGraph>(model), true});
    for (size_t i = 0; i < model.nodes.size(); ++i) {
      const std::string name = std::to_string(i) + " (" + model.nodes[i].node.op_type + ")";
      shapes.push_back({&model, model.label + " without node " + name, std::make_unique<ModelGraph>(model)});
      shapes.back().shown->graph.mutable_node(static_cast<deputy_node_id>(i)).offered = false;
    }
  }
  return shapes;
}

void CheckModels(TestRun& run, const Models& models) {
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  const std::vector<Shape> shapes = ShapesOf(models);
  size_t several = 0;
  for (auto i = static_cast<size_t>(run.first_case()); i < shapes.size(); ++i) {
    run.BeginCase(static_cast<int64_t>(i), shapes[i].label);
    const SavedCase saved(run, shapes[i].label, *shapes[i].model);
    several += RunPartitions(run, *instance, shapes[i].label, *shapes[i].shown, shapes[i].reversed);
  }
  if (several == 0) run.Skipped("it takes no two nodes of one model together");
}

// Claims that are made and refused, in any order and overlapping.
void CheckClaims(TestRun& run, const Models& models) {
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr || !run.NoFaults(*plugin, "")) return;
  if (!instance->proposes()) return run.Skipped("it does not form partitions of its own");
  const std::vector<Shape> shapes = ShapesOf(models);
  for (auto i = static_cast<size_t>(run.first_case()); i < shapes.size(); ++i) {
    const std::string& label = shapes[i].label;
    run.BeginCase(static_cast<int64_t>(i), label);
    const deputy_graph& graph = shapes[i].shown->graph;
    std::vector<Claim> first = PartitionsOf(*instance, graph), second = PartitionsOf(*instance, graph);
    const bool any = !first.empty();
    // All are refused, the last one first and while another proposal exists.
    for (std::vector<Claim>* claims : {&second, &first})
      for (auto claim = claims->rbegin(); claim != claims->rend(); ++claim) instance->Release(*claim);
    if (run.NoFaults(*plugin, label) && any) run.Passed(label);
  }
}

void CheckGroups(TestRun& run, const Models& models) {
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr || !run.NoFaults(*plugin, "")) return;
  if (!instance->names_groups()) return run.Skipped("it names no groups");
  const std::vector<Shape> shapes = ShapesOf(models);
  for (auto i = static_cast<size_t>(run.first_case()); i < shapes.size(); ++i) {
    const std::string& label = shapes[i].label;
    run.BeginCase(static_cast<int64_t>(i), label);
    const deputy_graph& graph = shapes[i].shown->graph;
    (void)instance->Query(graph);
    const std::vector<std::vector<deputy_node_id>> first = instance->Groups(graph), second = instance->Groups(graph);
    if (first != second) run.Failed(label, "the second answer for the same graph differs from the first");
    if (run.NoFaults(*plugin, label) && first == second && !first.empty()) run.Passed(label);
  }
}

}  // namespace

std::vector<Test> PartitionTests(const std::vector<ModelCase>& models) {
  return {{"partitions.claims", With(CheckClaims, models)},
          {"partitions.groups", With(CheckGroups, models)},
          {"partitions.models", With(CheckModels, models)}};
}

}  // namespace deputy::conformance
