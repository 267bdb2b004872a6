// Nodes that ONNX Runtime runs as one: a model of Deputy, with a session for each run that is under way.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "deputy/model.hpp"
#include "deputy/status.hpp"
#include "runtime.hpp"

namespace ort_ep {

class FusedModel {
 public:
  // `inputs` and `outputs`: the names of the fused node's, in its order. kInternal for one that the model does not
  // have.
  static deputy::Result<std::unique_ptr<FusedModel>> Make(std::string name, size_t nodes, deputy::Model model,
                                                          const std::vector<std::string>& inputs,
                                                          const std::vector<std::string>& outputs);

  // Reads the inputs and writes the outputs in ONNX Runtime's memory. Only an output whose extents follow from the
  // values of the inputs is copied, and one in memory that is not aligned to its elements. [any-thread]
  deputy::Status Run(const Runtime& runtime, ort::KernelContext* context);

  const std::string& name() const { return name_; }
  size_t nodes() const { return nodes_; }
  uint64_t runs() const { return runs_; }
  uint64_t failed_runs() const { return failed_runs_; }
  // For the shapes of a run, if there was one. [any-thread]
  deputy::Result<deputy::PlacementReport> Placement();

 private:
  using Shapes = std::vector<deputy::Shape>;
  // By output; none: not known before the run.
  using OutputShapes = std::vector<std::optional<deputy::Shape>>;
  using SharedShapes = std::shared_ptr<const OutputShapes>;

  FusedModel(std::string name, size_t nodes, deputy::Model model)
      : name_(std::move(name)), nodes_(nodes), model_(std::move(model)) {}

  deputy::Result<std::unique_ptr<deputy::Session>> Take();
  void GiveBack(std::unique_ptr<deputy::Session> session);
  deputy::Status RunIn(deputy::Session& session, const Runtime& runtime, ort::KernelContext* context);
  deputy::Result<SharedShapes> ShapesOfOutputs(deputy::Session& session, const std::vector<deputy::Tensor>& inputs);

  const std::string name_;
  const size_t nodes_;
  deputy::Model model_;
  std::vector<size_t> inputs_, outputs_;  // of the model, their places at the fused node
  std::atomic<uint64_t> runs_{0}, failed_runs_{0};
  SharedShapes static_shapes_;  // NULL: they depend on the inputs
  std::mutex mutex_;
  std::vector<std::unique_ptr<deputy::Session>> sessions_;  // that are not running
  std::map<Shapes, SharedShapes> known_shapes_;
};

}  // namespace ort_ep
