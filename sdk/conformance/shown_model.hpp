// A graph with known values that is shown to a plugin: the inputs and expected outputs of any partition, the buffers of
// a run, and the comparison with the expected outputs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "guarded_buffer.hpp"
#include "instance.hpp"
#include "tolerance.hpp"

namespace deputy::conformance {

class ShownModel {
 public:
  virtual ~ShownModel() = default;

  deputy_graph graph;

  const reference::Tensor& ValueOf(deputy_value_id id) const { return known_[id].value; }
  // For messages: "input 0".
  const std::string& NameOf(deputy_value_id id) const { return known_[id].name; }
  // The tolerance of a value that the claim's nodes compute from exact inputs.
  virtual Tolerance ToleranceIn(const Claim& claim, deputy_value_id id, deputy_dtype computes_in) const = 0;

 protected:
  // Called for every value, in the order in which they are added to the graph.
  void Know(std::string name, reference::Tensor value) { known_.push_back({std::move(name), std::move(value)}); }

 private:
  struct Known {
    std::string name;
    reference::Tensor value;
  };
  std::vector<Known> known_;
};

// The tensors of one run, between guard pages. Inputs can only be read; outputs are filled with `poison`.
class Binding {
 public:
  // Order of the tensors as in the claim.
  Binding(const ShownModel& shown, const Claim& claim, Flush flush, uint8_t poison);

  Outcome Run(Context& context, const RunSettings& settings = {}) {
    return context.Execute(inputs_, outputs_, settings);
  }
  // Other values in the same buffers; `other` has the same shapes.
  void Assign(const ShownModel& other, const Claim& claim, uint8_t poison);
  // From now on the outputs are read-only as well. `why` completes "wrote output 0".
  void Close(const std::string& why = " after execute had returned");
  // Runs, and waits where the delegate first touches buffer `number` (inputs in front of outputs) until `meanwhile` has
  // been called on another thread, or has not returned for a while. `stopped`: it touched the buffer, and `meanwhile`
  // returned in time.
  // kMiddle: where it first touches a page in the middle of the buffer, if it has several.
  enum class Where { kFirst, kMiddle };
  Outcome RunStopped(Context& context, size_t number, const std::function<void()>& meanwhile, bool* stopped,
                     std::string* why_not, Where where = Where::kFirst) {
    return RunStopped([&] { return Run(context); }, number, meanwhile, stopped, why_not, where);
  }
  // The same for another way to run.
  Outcome RunStopped(const std::function<Outcome()>& run, size_t number, const std::function<void()>& meanwhile,
                     bool* stopped, std::string* why_not, Where where = Where::kFirst);
  // Of the inputs, then outputs.
  std::vector<deputy_tensor> Tensors() const {
    std::vector<deputy_tensor> tensors = inputs_;
    tensors.insert(tensors.end(), outputs_.begin(), outputs_.end());
    return tensors;
  }
  size_t buffer_count() const { return input_buffers_.size() + output_buffers_.size(); }
  // The bytes of each output.
  std::vector<std::vector<uint8_t>> Results() const;
  // Whether the outputs have these bytes.
  bool Holds(const std::vector<std::vector<uint8_t>>& results) const;

 private:
  deputy_tensor Bound(const std::string& name, const reference::Tensor& tensor, Flush flush);
  std::vector<std::unique_ptr<GuardedBuffer>> input_buffers_, output_buffers_;
  std::vector<deputy_tensor> inputs_, outputs_;
};

// A fault of the results of a run; `second` are those of another run that began with another poison. "" if there is
// none.
std::string FaultOfResults(const ShownModel& shown, const Claim& claim, const std::vector<std::vector<uint8_t>>& first,
                           const std::vector<std::vector<uint8_t>>& second);
// Compares with the oracle. `computes_in` as in ToleranceOf.
std::string FaultOfValues(const ShownModel& shown, const Claim& claim, const std::vector<std::vector<uint8_t>>& results,
                          deputy_dtype computes_in);
// Runs once and compares with the oracle.
std::string FaultOfRun(const ShownModel& shown, const Claim& claim, Context& context, deputy_dtype computes_in);
// The same in buffers that exist, which get the values of `shown` first.
std::string FaultOfRunIn(Binding& binding, const ShownModel& shown, const Claim& claim, Context& context,
                         deputy_dtype computes_in);
// Runs twice and checks both. Faults of the plugin are left to the test.
std::string FaultOfRuns(const ShownModel& shown, const Claim& claim, Context& context, deputy_dtype computes_in);

constexpr uint8_t kPoison = 0xa5, kOtherPoison = 0x5a;

}  // namespace deputy::conformance
