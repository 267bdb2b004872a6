// The result of a run: pass, fail or skip for every test, after the lists of quirks have been applied, and the entries
// without a failure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "deputy/abi/tensor.h"
#include "report/coverage.hpp"
#include "runner.hpp"

namespace deputy::conformance {

struct Quirk {
  bool cannot = false;  // otherwise: does not yet
  std::string pattern, reason;
  int line = 0;
  int excused = 0;   // failures so far
  bool met = false;  // a test or case that it names was run
};

// Known failures of a delegate, from a file beside the plugin: two lists, of permanent limits and of features that are
// not implemented yet, each entry with a reason. A line is
//
//   cannot   numerics.Resize/mode=cubic*   the device has no such filter
//   not-yet  leaks.execute                 the driver keeps 16 bytes a run (ticket 1234)
//   computes-in float16                    products are accumulated in fp32 and stored as fp16
//
// with a test's name or a test and its case, both with * and ?, and '#' before a comment.
struct QuirkList {
  std::string file;
  std::vector<Quirk> entries;
  deputy_dtype computes_in = DEPUTY_DTYPE_UNDEFINED;

  // False and the first error, "file:line: text", when the file cannot be read or has a bad line.
  static bool Read(const std::string& path, QuirkList* list, std::string* error);

  // The entry for a finding of `test` about `subject` (may be ""); NULL without one.
  Quirk* Find(const std::string& test, const std::string& subject);
};

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
  // Failures that no other failure explains: one whose label has all parts of another one's and more is omitted, and of
  // several with the same cause the first is given with their number.
  struct Culprit {
    const Finding* finding = nullptr;
    size_t cases = 1;
  };
  std::vector<Culprit> Culprits() const;
  // All failures that no quirk excuses.
  size_t FailedCases() const;
};

struct Judgement {
  std::vector<JudgedTest> tests;
  std::vector<const Quirk*> unexpected_passes;
  std::vector<OperatorCoverage> coverage;
  // The reasons of delegates that cannot run here, by id as in JudgedTest.
  std::map<std::string, std::string> unavailable;
  int passed = 0, failed = 0, skipped = 0, excused = 0, cases = 0;
};

Judgement Judge(const std::vector<TestResult>& results, QuirkList& quirks);

struct TextSettings {
  bool verbose = false;
  bool coverage = false;  // as a table
  int least_cases = 0;    // with a warning about operators that have fewer
};

// Text for users: one line per culprit, then a summary.
std::string TextReport(const Judgement& judgement, const std::string& plugin, const QuirkList& quirks,
                       const TextSettings& settings);
std::string JUnitReport(const Judgement& judgement);

}  // namespace deputy::conformance
