// How much of each operator was tested: the cases that a delegate took, and of how many that were offered. A delegate
// that takes little passes easily; the report says so.
#pragma once

#include <string>
#include <vector>

#include "runner.hpp"

namespace deputy::conformance {

struct OperatorCoverage {
  std::string delegate;  // as in TestResult
  std::string op_type;
  size_t taken = 0;                   // of all cases, also those that a search found
  size_t fixed_taken = 0, fixed = 0;  // of the fixed ones
};

// From the findings about coverage.
std::vector<OperatorCoverage> CoverageOf(const TestResult& result);

// "coverage: Conv 2 of 41 cases, Relu 7 of 9; 3 of 224 operators", and a line of warning for operators that are taken
// with fewer than `least` cases. Nothing where no operator was tested.
std::string CoverageSummary(const std::vector<OperatorCoverage>& all, size_t least);
// One line for each operator that is taken.
std::string CoverageTable(const std::vector<OperatorCoverage>& all);

}  // namespace deputy::conformance
