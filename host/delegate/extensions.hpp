// Types of a delegate's optional functions: executables as bytes, other shapes for a context, events of its device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace deputy::host {

// A serialized executable for BlobFormat::Restore. The bytes are aligned to 64 and live as long as `keep`.
struct Blob {
  std::span<const uint8_t> bytes;
  std::shared_ptr<const void> keep;
};

// The build of a delegate, its device and its options: what its results may depend on besides the model.
struct DelegateIdentity {
  std::string plugin, version;  // id and version of the plugin
  std::string build;            // build id of its file and a name of the content of the files that belong to it
  std::string delegate;         // id in the plugin
  std::string device;           // id
  std::string driver = {};      // of the device, a text of the delegate
  std::vector<std::pair<std::string, std::string>> options;  // in force, name and value
};

// Identity of the producer of a delegate's blobs; a blob is restored only if it is equal.
struct BlobMaker : DelegateIdentity {
  std::string compatibility;  // format, driver, firmware, as the delegate declares
};

// A context's answer to a request for other shapes; after a failure of kNotSupported the model is placed again.
enum class ResizeOutcome : uint8_t {
  kDone,
  kRecompile,  // the same nodes, compiled for the new shapes
};

// An event of a delegate's device.
struct ProfileEvent {
  std::string name, metadata;
  std::vector<NodeId> nodes;          // of the partition, ascending; empty when the delegate does not tell
  uint64_t begin_ns = 0, end_ns = 0;  // CLOCK_MONOTONIC; of the device's clock where it cannot be correlated
  bool on_device_clock = false;       // the delegate counted on the clock of the device
  bool is_related = true;             // false: the times are of a device's clock that is not related to the host's
};

}  // namespace deputy::host
