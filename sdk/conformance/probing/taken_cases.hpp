// Finds cases of one operator that a delegate takes: the fixed ones, and where those are too few, forms and random
// nodes until there are enough, within a bounded number of questions.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "case_run.hpp"

namespace deputy::conformance {

// The number of cases below which an operator counts as hardly tested.
constexpr size_t kEnoughCases = 8;

class TakenCases {
 public:
  // `fixed` are the cases of one operator and must outlive it.
  TakenCases(Instance& instance, std::vector<const Case*> fixed, uint64_t seed);

  // Asks whether the delegate takes the case alone; the answer is remembered for the search.
  bool Asks(const Case& tested);
  // Records an answer that was given elsewhere.
  void Record(const Case& tested, bool taken, const Answer& refusal);

  // Cases beyond the fixed ones, for an operator with fewer than kEnoughCases of them. Few questions about one that the
  // delegate says it does not know.
  std::vector<Case> Search();
  // Random nodes of the operator that are taken, at most `most` after at most `questions`.
  std::vector<Case> Drawn(size_t most, int questions);
  // The first `most` that are taken, fixed ones in front, plain ones before all.
  std::vector<Case> First(size_t most);

  size_t taken() const { return taken_; }
  size_t offered() const { return offered_; }

 private:
  bool is_unknown() const { return taken_ == 0 && known_ == 0; }

  Instance& instance_;
  std::vector<const Case*> fixed_;
  std::string op_type_;
  uint64_t seed_;
  size_t taken_ = 0, offered_ = 0;
  size_t known_ = 0;                    // refusals for a reason other than that the operator is unknown
  std::set<deputy_dtype> wrong_types_;  // refused for their element type
  std::set<deputy_dtype> right_types_;
};

// The cases of each operator, by name.
std::vector<std::pair<std::string, std::vector<const Case*>>> ByOperator(const std::vector<Case>& cases);

}  // namespace deputy::conformance
