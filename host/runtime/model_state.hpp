// A loaded model: the graph as it was imported, and the plans of the configuration in force.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "base/file.hpp"
#include "base/mutex.hpp"
#include "deputy/model.hpp"
#include "runtime/in_force.hpp"
#include "runtime/model_plans.hpp"
#include "runtime/model_scope.hpp"

namespace deputy::host {

// A session, for the model whose plans it uses.
class PlansUser {
 public:
  virtual ~PlansUser() = default;
  // The model has other plans. What an idle session holds of the former ones, for the caller to destroy; null: nothing.
  // A session in use lets go of them when its call or run ends, if that does not just end. Does not wait. [any-thread]
  virtual std::shared_ptr<void> LetGo() = 0;
};

}  // namespace deputy::host

namespace deputy {

struct Model::State {
  std::string name;  // for errors: the path of the file while it is loaded, then its name
  // For the log: the name of the file.
  std::string log_name() const { return path.empty() ? name : path.filename().string(); }
  // Verified, newest definitions, after the passes that need no shapes but the model's own: plans begin with it and
  // share its constants.
  std::shared_ptr<const host::Graph> graph;
  // The imported graph is read again from the file when it is requested; that of a model from memory is kept.
  std::shared_ptr<const host::MappedFile> file;
  std::filesystem::path path;
  std::shared_ptr<const host::Graph> original;
  NamedShapes input_shapes;                // of BuildOptions
  std::vector<std::string> extra_outputs;  // of BuildOptions
  std::vector<std::string> given_inputs;   // of BuildOptions
  std::vector<std::string> inputs_with_default;
  std::shared_ptr<const host::ModelIdentity> identity;  // of `graph`
  std::vector<TensorInfo> inputs, outputs;
  bool only_tensors = true;  // all of these

  // The shapes of the inputs when all are fixed by the model. Plans do not differ by inputs that are not tensors; the
  // shape of such an input is empty.
  bool has_static_inputs() const;
  std::vector<Shape> static_shapes() const;
  std::string ForShapes(std::span<const Shape> shapes) const;
  // Builds `graph` from the imported graph, by one inference, and lists its inputs and outputs. Values that cannot be
  // computed are an error only if all input shapes are static.
  Status Prepare(host::Graph imported, const host::Engine& engine);
  // Whether the shapes are possible for the inputs: rank, fixed extents, one number per symbol.
  Status CheckShapes(std::span<const Shape> shapes) const;

  // Of the content of the model's files, and of all else that decisions about it depend on. One call at a time.
  std::function<host::Digest(const host::Engine&)> digest;
  // What runs of all models of its context use; null in tests.
  std::shared_ptr<host::InForce> in_force;

  // The plans that new runs use. [any-thread]
  std::shared_ptr<host::ModelPlans> plans() const {
    const host::MutexLock lock(mutex_);
    return plans_;
  }
  // Whether these are they. [any-thread]
  bool AreCurrent(const host::ModelPlans* plans) const { return current_.load(std::memory_order_acquire) == plans; }
  // `limits: {timeout}` of the plans in force; 0: no limit. [any-thread]
  std::chrono::nanoseconds timeout() const { return timeout_; }
  // Uses other plans from now on; returns the former ones. [any-thread]
  std::shared_ptr<host::ModelPlans> Use(std::shared_ptr<host::ModelPlans> next);
  // What idle sessions hold of former plans. [any-thread]
  std::vector<std::shared_ptr<void>> LetGo() const;
  // Until Remove, `user` hears of other plans. [any-thread]
  void Add(host::PlansUser& user);
  void Remove(host::PlansUser& user);

 private:
  mutable host::Mutex mutex_;
  std::shared_ptr<host::ModelPlans> plans_ DEPUTY_GUARDED_BY(mutex_);
  std::vector<host::PlansUser*> users_ DEPUTY_GUARDED_BY(mutex_);
  std::atomic<const host::ModelPlans*> current_{nullptr};  // plans_
  std::atomic<std::chrono::nanoseconds> timeout_{std::chrono::nanoseconds(0)};
};

}  // namespace deputy

namespace deputy::host {

// Values of a graph as its caller sees them.
std::vector<TensorInfo> DescribeValues(const Graph& graph, std::span<const ValueId> ids);

PlacementReport MakeReport(const Plan& plan, const Engine& engine);
// Without the lists of partitions and nodes.
PlacementReport MakeShares(const Plan& plan, const Engine& engine);
PlacedGraph MakeReportWithGraph(const Plan& plan, const Engine& engine);
// The delegates of the engine without what depends on a plan, custom-operator kernels included.
std::vector<DelegateReport> ReportDelegates(const Engine& engine);

}  // namespace deputy::host
