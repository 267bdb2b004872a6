// "delegates.npu0.options.frequency=low" as a layer: a tree with one leaf, for --set and the application's own
// settings.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/reader.hpp"

namespace deputy::host {

// Delegates are addressed by name. Names may hold dots: the longest of `delegates` that fits is meant, else the part up
// to the next dot. Other names that the writer chose (options, inputs, globs) extend to the end of the path. A value
// that begins with [ { " or ' is YAML; any other is taken literally, so that a glob needs no quotes.
std::optional<YamlNode> MakeSetting(std::string_view path, std::string_view value, const std::string& source,
                                    std::span<const std::string> delegates, Problems& problems);

}  // namespace deputy::host
