// One case on an opened delegate: the graph that is shown, the buffers that are bound, and the comparison with the
// oracle.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "guarded_buffer.hpp"
#include "instance.hpp"
#include "tolerance.hpp"

namespace deputy::conformance {

// A graph of one node, or of a chain, with the values that its inputs have and its outputs must get.
struct CaseGraph {
  deputy_graph graph;
  // One per input and output of the graph, in its order.
  std::vector<reference::Tensor> inputs, expected;
  std::vector<std::string> input_names, output_names;

  explicit CaseGraph(const Case& tested);

  const reference::Tensor& InputOf(deputy_value_id id) const;
  const reference::Tensor& OutputOf(deputy_value_id id) const;
};

// The tensors of one run, between guard pages. Inputs can only be read; outputs are filled with `poison`.
class Binding {
 public:
  // Order of the tensors as in the claim.
  Binding(const CaseGraph& shown, const Claim& claim, Flush flush, uint8_t poison);

  Outcome Run(Context& context) { return context.Execute(inputs_, outputs_); }
  // From now on nobody may write the outputs, either.
  void Close();
  // The bytes of each output.
  std::vector<std::vector<uint8_t>> Results() const;

 private:
  deputy_tensor Bound(const std::string& name, const reference::Tensor& tensor, Flush flush);
  std::vector<std::unique_ptr<GuardedBuffer>> input_buffers_, output_buffers_;
  std::vector<deputy_tensor> inputs_, outputs_;
};

// What can be wrong with the results of a run; `second` are those of another run that began with another poison. ""
// when nothing is.
std::string FaultOfResults(const CaseGraph& shown, const Claim& claim, const std::vector<std::vector<uint8_t>>& first,
                           const std::vector<std::vector<uint8_t>>& second);
// Against the oracle.
std::string FaultOfValues(const Case& tested, const CaseGraph& shown, const Claim& claim,
                          const std::vector<std::vector<uint8_t>>& results, deputy_dtype computes_in);

// "" when the context computes the case, in two runs with other surroundings; faults of the plugin are left to the
// test.
std::string FaultOfRuns(const Case& tested, const CaseGraph& shown, const Claim& claim, Context& context,
                        deputy_dtype computes_in);

constexpr uint8_t kPoison = 0xa5, kOtherPoison = 0x5a;

// A case that the delegate takes, compiled, with a context; the simplest of them for tests that need just any.
struct Compiled {
  const Case* tested = nullptr;
  std::unique_ptr<CaseGraph> shown;
  Claim claim;  // its handle is spent
  std::unique_ptr<Executable> executable;
  std::unique_ptr<Context> context;
};
// Nothing where the delegate refuses the case; `why_not` then says so.
std::optional<Compiled> CompileCase(Instance& instance, const Case& tested, std::string* why_not);
// The first case, of those that do arithmetic if there are any, that the delegate takes.
std::optional<Compiled> CompileAnyCase(Instance& instance, const std::vector<Case>& cases);

}  // namespace deputy::conformance
