// A placement that is measured: its plan, an execution with memory for its outputs, and the times of its runs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/aligned.hpp"
#include "execute/execution.hpp"
#include "partition/cost_table.hpp"

namespace deputy::host {

struct SearchSubject;

// Nodes are numbered as in SlowerNodes. [one-thread]
class Candidate {
 public:
  // By delegate: nodes that it does not get although the order would give them to it.
  using Refused = std::map<size_t, std::set<uint32_t>>;
  struct StepTime {
    size_t delegate = 0;
    std::vector<uint32_t> nodes;
    uint64_t ns = 0;
  };

  Candidate(std::string name, Refused refused) : name_(std::move(name)), refused_(std::move(refused)) {}

  // Places and compiles with these options, and binds the inputs of `sample`.
  Status Prepare(const SearchSubject& subject, PlacementOptions options, const Execution& sample);
  Status Run(const CancellationToken& token) { return execution_->Run(token); }
  // Fills steps() by a few runs.
  bool Profile(const CancellationToken& token);
  // Adds the time of each node by Profile; `delegates` are those of the subject.
  void AddTo(CostTable& costs, Delegates delegates) const;

  void AddTurn(uint64_t median_ns);
  void ForgetTurns() { turns_ = time_ = second_ = 0; }
  size_t turns() const { return turns_; }
  bool measured() const { return turns_ != 0; }
  // Of a run in the fastest turn; 0 before the first. What disturbs a turn makes it slower: other processes, a slower
  // clock, and threads of other candidates' libraries, beside which the kernel may keep all threads of this one on one
  // processor for many turns. None of them is there in later runs of a placement that is alone.
  uint64_t time() const { return time_; }
  double RatioTo(const Candidate& other) const { return static_cast<double>(time_) / static_cast<double>(other.time_); }
  // How much longer the second fastest turn was, as a share of the fastest; 0 before there are two.
  double spread() const;

  const std::string& name() const { return name_; }
  const Refused& refused() const { return refused_; }
  // Whether no delegate loses a node: the placement as the configuration orders it.
  bool is_the_order() const { return refused_.empty(); }
  // Per node the delegate that owns it.
  const std::vector<uint32_t>& owners() const { return owners_; }
  // Nodes that the delegate has, or would get if others did not: all but those for which it, or a rule, says no.
  std::set<uint32_t> NodesWithin(size_t delegate) const;
  // Steps of the plan itself, in order; those of regions count to their node. Empty before Profile.
  const std::vector<StepTime>& steps() const { return steps_; }
  // The time of these nodes: steps that hold only some of them count in part.
  double TimeOf(const std::vector<uint32_t>& nodes) const;

 private:
  Status BindTensors(const Execution& sample);

  const std::string name_;
  const Refused refused_;
  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<Execution> execution_;
  std::vector<AlignedBytes> outputs_;
  std::vector<uint32_t> owners_, number_of_;    // per number; per node of the plan's graph
  std::vector<std::vector<uint8_t>> excluded_;  // per delegate, per number
  // Per number, by Profile: of the time of its step, in proportion to the multiply-adds and bytes of its nodes.
  std::vector<double> share_ns_;
  size_t turns_ = 0;
  uint64_t time_ = 0, second_ = 0;
  std::vector<StepTime> steps_;
};

// Turns from which on a change of the placement needs no more than the margin.
constexpr size_t kTurnsOfGain = 5;

// Does the candidate gain enough over the other one, both measured, to replace it? `margin` is the least share of the
// time. With fewer turns, of which one may have been disturbed, the share must be larger; and unless the margin is 0,
// the gain must exceed what depends on the addresses of the memory, which are others in each process.
bool Gains(const Candidate& candidate, const Candidate& other, double margin);

}  // namespace deputy::host
