#include "report/coverage.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <sstream>

#include "text.hpp"

namespace deputy::conformance {
namespace {

std::string ShareText(const OperatorCoverage& one) {
  std::string text = one.op_type + " " + std::to_string(one.fixed_taken) + " of " + std::to_string(one.fixed);
  return one.delegate.empty() ? text : one.delegate + "'s " + text;
}

double ShareOf(const OperatorCoverage& one) {
  return static_cast<double>(one.fixed_taken) / static_cast<double>(std::max<size_t>(1, one.fixed));
}

std::vector<OperatorCoverage> TakenOf(const std::vector<OperatorCoverage>& all) {
  std::vector<OperatorCoverage> taken;
  std::copy_if(all.begin(), all.end(), std::back_inserter(taken),
               [](const OperatorCoverage& one) { return one.taken != 0; });
  return taken;
}

}  // namespace

std::vector<OperatorCoverage> CoverageOf(const TestResult& result) {
  // A test that was continued after a crash tells its numbers once, at its end.
  std::vector<OperatorCoverage> all;
  for (const Finding& finding : result.findings) {
    if (finding.kind != FindingKind::kCoverage) continue;
    OperatorCoverage one;
    one.delegate = result.delegate;
    one.op_type = finding.subject;
    std::istringstream(finding.text) >> one.taken >> one.fixed_taken >> one.fixed;
    all.push_back(std::move(one));
  }
  return all;
}

std::string CoverageSummary(const std::vector<OperatorCoverage>& all, size_t least) {
  constexpr size_t kMostNamed = 6;
  if (all.empty()) return "";
  std::vector<OperatorCoverage> taken = TakenOf(all);
  std::stable_sort(taken.begin(), taken.end(),
                   [](const OperatorCoverage& a, const OperatorCoverage& b) { return ShareOf(a) < ShareOf(b); });
  std::ostringstream out;
  out << "coverage: ";
  for (size_t i = 0; i < std::min(taken.size(), kMostNamed); ++i)
    out << (i == 0 ? "" : ", ") << ShareText(taken[i]) << (i == 0 ? " cases" : "");
  if (taken.size() > kMostNamed)
    out << ", " << Counted(taken.size() - kMostNamed, "operator") << " with a larger share (--coverage)";
  std::set<std::string> operators;
  for (const OperatorCoverage& one : taken) operators.insert(one.op_type);
  std::set<std::string> offered;
  for (const OperatorCoverage& one : all) offered.insert(one.op_type);
  out << (taken.empty() ? "" : "; ") << operators.size() << " of " << offered.size() << " operators\n";
  std::string few;
  for (const OperatorCoverage& one : taken)
    if (one.taken < least) few += (few.empty() ? "" : ", ") + one.op_type + " (" + std::to_string(one.taken) + ")";
  if (!few.empty())
    out << "WARNING  fewer than " << least << " cases were tested of " << few
        << "; the delegate takes nothing else that the kit knows to ask for\n";
  return out.str();
}

std::string CoverageTable(const std::vector<OperatorCoverage>& all) {
  std::ostringstream out;
  for (const OperatorCoverage& one : TakenOf(all)) {
    char line[160];
    std::snprintf(line, sizeof line, "      %-28s %4zu of %4zu fixed cases, %4zu in all\n",
                  (one.delegate.empty() ? one.op_type : one.delegate + ": " + one.op_type).c_str(), one.fixed_taken,
                  one.fixed, one.taken);
    out << line;
  }
  return out.str();
}

}  // namespace deputy::conformance
