// The values of a configuration by their paths, as it is written for people and for --set.
#pragma once

#include <map>
#include <string>

namespace deputy::cli {

// Of the text of Context::ShowConfig: "delegates.npu0.options.frequency" to "high", without the origins. A list of
// single values is one value, "Conv, Relu"; its other items have their name, or their number from 0, in the path.
std::map<std::string, std::string> ValuesOf(const std::string& shown);

}  // namespace deputy::cli
