// Options of sessions and runs, as EPs read them.
#pragma once

#include <string>

#include "own/key_values.hpp"

namespace ort {

struct SessionOptions {
  KeyValuePairs entries = {};
};

struct RunOptions {
  KeyValuePairs entries = {};
};

namespace own {

// The prefix of an EP's options among the entries of a session: "ep.qnnexecutionprovider.".
std::string OptionPrefix(const std::string& provider);

}  // namespace own
}  // namespace ort
