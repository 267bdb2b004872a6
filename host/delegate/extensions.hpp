// What a delegate may be able to do beyond compiling and running: executables as bytes, other shapes for a context,
// events of its device. The words that host/delegate's interface uses for them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace deputy::host {

// A serialized executable on its way back to its delegate. The bytes are aligned to 64 and live as long as `keep`.
struct Blob {
  std::span<const uint8_t> bytes;
  std::shared_ptr<const void> keep;
};

// Who makes a delegate's blobs: what must be the same for a blob to be taken back at all.
struct BlobMaker {
  std::string plugin, version;  // id and version of the plugin
  std::string build;            // build id of its file, so that a plugin in development is another one each time
  std::string delegate;         // id in the plugin
  uint32_t device = 0;
  std::vector<std::pair<std::string, std::string>> options;  // in force, name and value
  std::string compatibility;                                 // format, driver, firmware, as the delegate says
};

// What a context answers when it is to take other shapes; a failure of kNotSupported means: place anew.
enum class ResizeOutcome : uint8_t {
  kDone,
  kRecompile,  // the same nodes, compiled for the new shapes
};

// Something that a delegate's device did.
struct ProfileEvent {
  std::string name, metadata;
  std::vector<NodeId> nodes;          // of the partition, ascending; empty when the delegate does not tell
  uint64_t begin_ns = 0, end_ns = 0;  // CLOCK_MONOTONIC; of the device's clock where it could not be tied to that
  bool on_device_clock = false;       // the delegate counted on the clock of the device
};

}  // namespace deputy::host
