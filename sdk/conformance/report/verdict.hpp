// The result of a run: pass, fail or skip for every test, after the lists of quirks have been applied, and the entries
// without a failure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/quirks.hpp"
#include "runner.hpp"

namespace deputy::conformance {

enum class Verdict { kPass, kFail, kSkip, kExcused };

struct JudgedFinding {
  Finding finding;
  const Quirk* excuse = nullptr;
};

struct JudgedTest {
  std::string name;
  std::string delegate;  // "": the plugin has one, or the test is about the whole plugin
  Verdict verdict = Verdict::kPass;
  double seconds = 0;
  std::vector<JudgedFinding> findings;
  std::string skipped;  // why

  // "numerics.Conv", in front of it the delegate.
  std::string title() const { return delegate.empty() ? name : delegate + ": " + name; }
  // "Conv" for "numerics.Conv".
  std::string subject() const { return name.substr(name.find('.') + 1); }
  // Failures that no other failure explains: one whose label has all parts of another one's and more is omitted.
  std::vector<const Finding*> Culprits() const;
};

struct Judgement {
  std::vector<JudgedTest> tests;
  std::vector<const Quirk*> unexpected_passes;
  // The reasons of delegates that cannot run here, by id as in JudgedTest.
  std::map<std::string, std::string> unavailable;
  int passed = 0, failed = 0, skipped = 0, excused = 0, cases = 0;
};

Judgement Judge(const std::vector<TestResult>& results, QuirkList& quirks);

// Text for users: one line per culprit, then a summary.
std::string TextReport(const Judgement& judgement, const std::string& plugin, const QuirkList& quirks, bool verbose);
std::string JUnitReport(const Judgement& judgement);

}  // namespace deputy::conformance
