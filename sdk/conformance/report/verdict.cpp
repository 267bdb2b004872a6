#include "report/verdict.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "deputy/printable.hpp"
#include "reference/tensor.hpp"
#include "text.hpp"

namespace deputy::conformance {
namespace {

std::set<std::string> PartsOf(const std::string& label) {
  std::istringstream words(label == "plain" ? "" : label);
  std::set<std::string> parts;
  for (std::string word; words >> word;) parts.insert(word);
  return parts;
}

// Failures with one cause have one text, but for its numbers. Wrong values are told apart by their cases: each names
// what is wrong.
std::string CauseOf(const Finding& finding) {
  if (finding.text.find("largest error") != std::string::npos) return finding.subject + '\n' + finding.text;
  std::string cause;
  for (const char letter : finding.text)
    if (std::isdigit(static_cast<unsigned char>(letter)) == 0) cause += letter;
  return cause;
}

}  // namespace

size_t JudgedTest::FailedCases() const {
  return static_cast<size_t>(std::count_if(findings.begin(), findings.end(), [](const JudgedFinding& judged) {
    return judged.finding.kind == FindingKind::kFailed && judged.excuse == nullptr;
  }));
}

std::vector<JudgedTest::Culprit> JudgedTest::Culprits() const {
  std::vector<const Finding*> failed;
  for (const JudgedFinding& judged : findings)
    if (judged.finding.kind == FindingKind::kFailed && judged.excuse == nullptr) failed.push_back(&judged.finding);
  std::vector<Culprit> culprits;
  std::map<std::string, size_t> known;  // by cause
  for (const Finding* one : failed) {
    const std::set<std::string> parts = PartsOf(one->subject);
    const bool explained = std::any_of(failed.begin(), failed.end(), [&](const Finding* other) {
      const std::set<std::string> fewer = PartsOf(other->subject);
      return !other->subject.empty() && fewer.size() < parts.size() &&
             std::includes(parts.begin(), parts.end(), fewer.begin(), fewer.end());
    });
    if (explained) continue;
    const auto [at, is_new] = known.emplace(CauseOf(*one), culprits.size());
    if (is_new)
      culprits.push_back({one, 1});
    else
      ++culprits[at->second].cases;
  }
  return culprits;
}

Judgement Judge(const std::vector<TestResult>& results, QuirkList& quirks) {
  Judgement judgement;
  for (const TestResult& result : results) {
    JudgedTest test;
    test.name = result.name;
    test.delegate = result.delegate;
    test.seconds = result.seconds;
    for (OperatorCoverage& one : CoverageOf(result)) judgement.coverage.push_back(std::move(one));
    int failed = 0, excused = 0, passed = 0;
    for (const Finding& finding : result.findings) {
      JudgedFinding judged{finding, nullptr};
      const bool is_remark = finding.kind == FindingKind::kNote || finding.kind == FindingKind::kWarning ||
                             finding.kind == FindingKind::kCoverage;
      Quirk* quirk = is_remark ? nullptr : quirks.Find(result.name, finding.subject);
      const bool skipped = finding.kind == FindingKind::kSkipped || finding.kind == FindingKind::kUnavailable;
      if (quirk != nullptr && !skipped) quirk->met = true;
      if (finding.kind == FindingKind::kPassed) ++passed;
      if (skipped) test.skipped = finding.text;
      if (finding.kind == FindingKind::kUnavailable) judgement.unavailable.emplace(test.delegate, finding.text);
      if (finding.kind == FindingKind::kFailed) {
        judged.excuse = quirk;
        ++(quirk != nullptr ? excused : failed);
        if (quirk != nullptr) ++quirk->excused;
      }
      test.findings.push_back(judged);
    }
    test.verdict = failed != 0                            ? Verdict::kFail
                   : excused != 0                         ? Verdict::kExcused
                   : passed == 0 && !test.skipped.empty() ? Verdict::kSkip
                                                          : Verdict::kPass;
    // A test without cases passes by ending without a failure.
    if (test.verdict == Verdict::kPass)
      if (Quirk* quirk = quirks.Find(result.name, "")) quirk->met = true;
    judgement.cases += std::max(1, passed + failed + excused);
    ++(test.verdict == Verdict::kPass   ? judgement.passed
       : test.verdict == Verdict::kFail ? judgement.failed
       : test.verdict == Verdict::kSkip ? judgement.skipped
                                        : judgement.excused);
    judgement.tests.push_back(std::move(test));
  }
  for (const Quirk& quirk : quirks.entries)
    if (quirk.met && quirk.excused == 0) judgement.unexpected_passes.push_back(&quirk);
  return judgement;
}

std::string TextReport(const Judgement& judgement, const std::string& plugin, const QuirkList& quirks,
                       const TextSettings& settings) {
  constexpr size_t kMostLines = 8, kMostTests = 3, kMostNamed = 6;
  std::ostringstream out;
  std::map<std::string, std::vector<std::string>> tests_of;  // by cause
  for (const JudgedTest& test : judgement.tests) {
    const std::vector<JudgedTest::Culprit> culprits = test.Culprits();
    for (size_t i = 0; i < std::min(culprits.size(), kMostLines); ++i) {
      const Finding& finding = *culprits[i].finding;
      std::vector<std::string>& tests = tests_of[CauseOf(finding)];
      tests.push_back(test.title());
      if (tests.size() > kMostTests) continue;
      out << "FAIL  " << test.title() << "  ";
      if (!finding.subject.empty()) out << test.subject() << ": " << Printable(finding.subject) << ": ";
      out << Printable(finding.text);
      if (culprits[i].cases > 1)
        out << " (and " << Counted(culprits[i].cases - 1, "more case") << " with this failure)";
      out << "\n";
    }
    const size_t failing = test.FailedCases();
    size_t named = 0;
    for (size_t i = 0; i < std::min(culprits.size(), kMostLines); ++i) named += culprits[i].cases;
    if (failing > named && !culprits.empty())
      out << "      " << test.title() << "  " << Counted(failing, "failure") << " in all; "
          << Counted(failing - named, "failure") << " of cases with more than one difference, or of further causes\n";
    for (const JudgedFinding& judged : test.findings)
      if (judged.finding.kind == FindingKind::kWarning)
        out << "WARNING  " << test.title() << "  " << Printable(judged.finding.text) << "\n";
    if (!settings.verbose) continue;
    if (test.verdict == Verdict::kPass) out << "pass  " << test.title() << "\n";
    if (test.verdict == Verdict::kSkip) out << "skip  " << test.title() << "  " << Printable(test.skipped) << "\n";
    for (const JudgedFinding& judged : test.findings) {
      if (judged.finding.kind == FindingKind::kNote)
        out << "      " << test.title() << "  " << Printable(judged.finding.text) << "\n";
      if (judged.excuse != nullptr)
        out << (judged.excuse->cannot ? "cannot  " : "not yet  ") << test.title() << "  "
            << Printable(judged.finding.subject) << (judged.finding.subject.empty() ? "" : ": ")
            << judged.excuse->reason << "\n";
    }
  }
  for (const auto& [cause, tests] : tests_of) {
    if (tests.size() <= kMostTests) continue;
    const size_t end = std::min(tests.size(), kMostTests + kMostNamed);
    out << "FAIL  " << tests[kMostTests];
    for (size_t i = kMostTests + 1; i < end; ++i) out << ", " << tests[i];
    if (end < tests.size()) out << " and " << Counted(tests.size() - end, "more test");
    out << "  as " << tests.front() << ": " << Printable(cause.substr(0, 120)) << "\n";
  }
  if (settings.verbose || settings.coverage) out << CoverageTable(judgement.coverage);
  for (const auto& [delegate, said] : judgement.unavailable)
    out << "UNAVAILABLE  " << Printable(delegate) << (delegate.empty() ? "" : ": ") << Printable(said)
        << "; its tests were skipped (--allow-unavailable)\n";
  for (const Quirk* quirk : judgement.unexpected_passes)
    out << "UNEXPECTED PASS  " << quirks.file << ":" << quirk->line << ": " << quirk->pattern
        << " passes; remove the entry from the list\n";
  out << plugin << ": " << Counted(static_cast<size_t>(judgement.passed), "test") << " passed, " << judgement.failed
      << " failed, " << judgement.excused << " excused, " << judgement.skipped << " skipped; "
      << Counted(static_cast<size_t>(judgement.cases), "case") << "\n"
      << CoverageSummary(judgement.coverage, static_cast<size_t>(std::max(0, settings.least_cases)));
  return out.str();
}

namespace {

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char letter : Printable(text)) {
    if (letter == '&')
      out += "&amp;";
    else if (letter == '<')
      out += "&lt;";
    else if (letter == '>')
      out += "&gt;";
    else if (letter == '"')
      out += "&quot;";
    else
      out += letter;
  }
  return IsUtf8(out) ? out : "(not UTF-8)";
}

}  // namespace

std::string JUnitReport(const Judgement& judgement) {
  std::ostringstream out;
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const JudgedTest& test : judgement.tests) {
    std::ostringstream body, properties;
    for (const OperatorCoverage& one : judgement.coverage) {
      if (one.delegate != test.delegate || test.name != "numerics." + one.op_type) continue;
      const auto property = [&](const char* name, size_t value) {
        properties << "      <property name=\"" << name << "\" value=\"" << value << "\"/>\n";
      };
      properties << "    <properties>\n";
      property("coverage.taken", one.taken);
      property("coverage.fixed_taken", one.fixed_taken);
      property("coverage.fixed", one.fixed);
      properties << "    </properties>\n";
    }
    int cases = 0, failures = 0, skipped = 0;
    const auto open = [&](const std::string& subject) {
      ++cases;
      body << "    <testcase classname=\"" << Escaped(test.title()) << "\" name=\""
           << Escaped(subject.empty() ? test.subject() : subject) << "\">";
    };
    for (const JudgedFinding& judged : test.findings) {
      const Finding& finding = judged.finding;
      if (finding.kind != FindingKind::kPassed && finding.kind != FindingKind::kFailed) continue;
      open(finding.subject);
      if (finding.kind == FindingKind::kFailed && judged.excuse == nullptr) {
        ++failures;
        body << "<failure message=\"" << Escaped(finding.text) << "\"/>";
      } else if (judged.excuse != nullptr) {
        ++skipped;
        body << "<skipped message=\"" << (judged.excuse->cannot ? "cannot: " : "not yet: ")
             << Escaped(judged.excuse->reason) << "\"/>";
      }
      body << "</testcase>\n";
    }
    if (cases == 0) {
      open("");
      if (test.verdict == Verdict::kSkip) {
        ++skipped;
        body << "<skipped message=\"" << Escaped(test.skipped) << "\"/>";
      }
      body << "</testcase>\n";
    }
    out << "  <testsuite name=\"" << Escaped(test.title()) << "\" tests=\"" << cases << "\" failures=\"" << failures
        << "\" skipped=\"" << skipped << "\" time=\"" << test.seconds << "\">\n"
        << properties.str() << body.str() << "  </testsuite>\n";
  }
  for (const auto& [delegate, said] : judgement.unavailable)
    out << "  <testsuite name=\"available\" tests=\"1\" failures=\"1\"><testcase classname=\"available\" name=\""
        << Escaped(delegate) << "\"><failure message=\"" << Escaped(said) << "\"/></testcase></testsuite>\n";
  for (const Quirk* quirk : judgement.unexpected_passes)
    out << "  <testsuite name=\"quirks\" tests=\"1\" failures=\"1\"><testcase classname=\"quirks\" name=\""
        << Escaped(quirk->pattern) << "\"><failure message=\"unexpected pass\"/></testcase></testsuite>\n";
  out << "</testsuites>\n";
  return out.str();
}

bool QuirkList::Read(const std::string& path, QuirkList* list, std::string* error) {
  std::ifstream stream(path);
  list->file = path;
  if (!stream) {
    *error = path + ": cannot be read";
    return false;
  }
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    std::istringstream words(line);
    std::string word, pattern, reason;
    if (!(words >> word) || word[0] == '#') continue;
    const auto wrong = [&](const std::string& text) {
      *error = path + ":" + std::to_string(number) + ": " + text;
      return false;
    };
    if (!(words >> pattern)) return wrong("'" + word + "' needs a pattern");
    std::getline(words >> std::ws, reason);
    if (reason.empty()) return wrong("an entry needs a reason");
    if (word == "computes-in") {
      for (deputy_dtype dtype = 1; dtype <= DEPUTY_DTYPE_BFLOAT16; ++dtype)
        if (reference::IsReal(dtype) && pattern == reference::NameOf(dtype)) list->computes_in = dtype;
      if (list->computes_in == DEPUTY_DTYPE_UNDEFINED) return wrong("'" + pattern + "' is no float type");
    } else if (word == "cannot" || word == "not-yet") {
      list->entries.push_back({word == "cannot", pattern, reason, number});
    } else {
      return wrong("'" + word + "' is none of cannot, not-yet, computes-in");
    }
  }
  return true;
}

Quirk* QuirkList::Find(const std::string& test, const std::string& subject) {
  for (Quirk& entry : entries)
    if (Matches(entry.pattern, test) || Matches(entry.pattern, test + "/" + subject)) return &entry;
  return nullptr;
}

}  // namespace deputy::conformance
