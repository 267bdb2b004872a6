// Options as users write them, checked against the schema that the delegate publishes and brought into the form that
// the schema prescribes. Numbers follow the same grammar as the rest of the configuration: decimal, no leading zeros.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plugin/discovery/description.hpp"

namespace deputy::host {

struct OptionProblem {
  std::string option;    // as it was written
  std::string message;   // "option 'frequncy' is unknown; did you mean 'frequency'?"
  bool unknown = false;  // the name is wrong, not the value
};

struct CheckedOptions {
  std::vector<std::pair<std::string, std::string>> values;  // in the order given, without those that have a problem
  std::vector<OptionProblem> problems;                      // all of them
};

// Normalized values pass again unchanged. A range holds only where its minimum lies below its maximum. [any-thread]
CheckedOptions CheckOptions(std::span<const OptionSchema> schema,
                            std::span<const std::pair<std::string, std::string>> given);

// "low | balanced | high | extreme, 1..4, or a clock from 200MHz to 1GHz": the values that an option accepts, for
// messages.
std::string AcceptedBy(const OptionSchema& option);

}  // namespace deputy::host
