// Known failures of a delegate, from a file beside the plugin: two lists, of permanent limits and of features that are
// not implemented yet, each entry with a reason. A line is
//
//   cannot   numerics.Resize/mode=cubic*   the device has no such filter
//   not-yet  leaks.execute                 the driver keeps 16 bytes a run (ticket 1234)
//   computes-in float16                    products are accumulated in fp32 and stored as fp16
//
// with a test's name or a test and its case, both with * and ?, and '#' before a comment.
#pragma once

#include <string>
#include <vector>

#include "deputy/abi/tensor.h"

namespace deputy::conformance {

struct Quirk {
  bool cannot = false;  // otherwise: does not yet
  std::string pattern, reason;
  int line = 0;
  int excused = 0;   // failures so far
  bool met = false;  // a test or case that it names was run
};

struct QuirkList {
  std::string file;
  std::vector<Quirk> entries;
  deputy_dtype computes_in = DEPUTY_DTYPE_UNDEFINED;

  // False and the first error, "file:line: text", when the file cannot be read or has a bad line.
  static bool Read(const std::string& path, QuirkList* list, std::string* error);

  // The entry for a finding of `test` about `subject` (may be ""); NULL without one.
  Quirk* Find(const std::string& test, const std::string& subject);
};

}  // namespace deputy::conformance
