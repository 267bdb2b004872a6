// The verification of a delegate's results: the nodes of its partition run on the CPU with the same inputs, differences
// are told from rounding errors, and the nodes that cause one are searched for.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.hpp"
#include "deputy/compare.hpp"
#include "execute/execution.hpp"
#include "graph/graph.hpp"
#include "verify/wrong_nodes.hpp"

namespace deputy::host {

enum class VerifyOutcome : uint8_t {
  kRight,
  kRounding,  // differs by more than the tolerance, but not by more than rounding errors of the CPU explain
  kWrong,
  kNotVerifiable,  // random numbers, strings, or the CPU cannot run the nodes
};
std::string_view NameOf(VerifyOutcome outcome);  // "right", "rounding errors", "wrong", "not verifiable"

// Nodes that a delegate computes wrongly, with tensors in the order of their graph.
struct WrongPart {
  Graph graph;  // it captures its inputs
  std::vector<Tensor> inputs, expected, actual;
};

struct Verification {
  VerifyOutcome outcome = VerifyOutcome::kRight;
  std::string text;              // the difference, or the reason why there is no result
  WrongNodes wrong_nodes;        // if wrong: positions in the node list of the partition
  std::vector<Tensor> expected;  // the reference's outputs, in the step's order without those that are left out
  double max_difference = 0;     // over all outputs
  std::vector<WrongPart> parts;  // on request, if wrong: of each group, or of all nodes where there are no groups
};

// A dense tensor without a copy of its bytes, which must outlive it.
Result<Tensor> ViewOf(const deputy_tensor& tensor);

// Replaces the outputs of the run by the reference's.
Status TakeExpected(const StepRun& run, const Verification& found);

class Verifier {
 public:
  // `model_mutex` guards the plans of StepHealth. Both must outlive the verifier.
  Verifier(Delegates delegates, Mutex& model_mutex) : delegates_(delegates), model_mutex_(model_mutex) {}

  // Inputs that the delegate has changed are restored. A deadline does not end a verification, which would otherwise
  // begin again in every run; the only error is that of a cancelled run. `with_parts` fills the parts. [any-thread]
  Result<Verification> Verify(const StepRun& run, const ToleranceSettings& tolerance, const CancellationToken& token,
                              bool with_parts = false);

 private:
  class StepVerification;

  const Delegates delegates_;
  Mutex& model_mutex_;
};

}  // namespace deputy::host
