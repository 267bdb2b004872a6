// Deputy's own model format: reading and writing .dpm files. host/docs/dpm-format.md defines it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "base/status.hpp"
#include "graph/graph.hpp"

namespace deputy::host {

// Whether a file that begins with these bytes is, or was meant to be, a .dpm file. Four bytes are enough. [any-thread]
bool IsModelFile(std::span<const uint8_t> head);

// The graph, verified. Constants point into `bytes`, which `keep` keeps alive; with a null `keep` they are copies, and
// the caller may free `bytes` afterwards. For any `bytes` the result is an error or a graph that VerifyGraph accepts,
// in time and memory linear in their size. Errors do not name the file. [any-thread]
Result<Graph> ReadModel(std::span<const uint8_t> bytes, std::shared_ptr<const void> keep);

// Equal graphs give equal bytes. Constants of equal contents are stored once. The file is written completely or not
// created.
Status WriteModelFile(const Graph& graph, const std::filesystem::path& path);

}  // namespace deputy::host
