// An execution provider (EP) on one of its devices, as the delegate uses it, with either runtime: ONNX Runtime's own
// library (hosted/), or the tables of this plugin (own/).
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "api/types.hpp"
#include "deputy/sdk/sdk.hpp"

namespace ort {

namespace sdk = deputy::sdk;

using TextPairs = std::vector<std::pair<std::string, std::string>>;

struct ProviderSettings {
  std::string runtime;         // path or name of ONNX Runtime's library; unused with own tables
  std::string library;         // path of the EP's library; empty: one that is built into ONNX Runtime
  std::string name;            // of the EP, as it states it; empty: that of the library's first
  std::string registered;      // name under which the library is registered, which some EPs state as their own
  std::string device;          // "cpu", "gpu", "npu", or an index into the EP's devices; empty: its first
  TextPairs options;           // of the EP, with its names
  TextPairs session_config;    // entries of the session's configuration
  uint32_t threads = 1;        // of a pool for computing, the calling one included
  bool is_serial = true;       // the EP ends its process when its sessions run or are made at once
  std::string power_entry;     // of a run's configuration, for its power level; empty: the EP has none
  bool keeps_context = false;  // the EP can put what it has compiled into a model (EPContext)
};

// Of one node: taken, or the reason in the EP's words, if it has any.
struct Answer {
  bool is_taken = false;
  std::string reason = {};
};

class Provider {
 public:
  virtual ~Provider() = default;

  // For people and for blobs: name and version of the EP, and of the runtime.
  virtual std::string Description() const = 0;
  // Asks about all nodes of `nodes` without compiling: all of them together first, then each one that was not taken
  // alone. One answer for each node, in its order. A failure: nothing can be asked. One call at a time.
  virtual sdk::Result<std::vector<Answer>> Ask(const sdk::PartitionView& nodes) = 0;
  // Compiles all nodes as one unit of the EP; kNotSupported if it does not take all. Nothing has run yet. One call at a
  // time. The executable keeps the provider.
  virtual sdk::Result<std::unique_ptr<sdk::Executable>> Compile(const sdk::PartitionView& partition) = 0;
  // From the bytes that an executable of such a partition has serialized.
  virtual sdk::Result<std::unique_ptr<sdk::Executable>> Restore(const sdk::PartitionView&, sdk::Blob) {
    return sdk::Status(sdk::Code::kNotSupported, "no compiled blobs");
  }
};

// Of the process: held while a session of any EP is made, and in runs of those that `is_serial` says.
inline std::mutex& OneAtATime() {
  static std::mutex mutex;
  return mutex;
}

// Of a library that dlopen has refused with `failure`: what the sandbox keeps from a worker process has its remedy, all
// else has `otherwise`.
inline sdk::Status CannotOpen(const std::string& what, const std::string& path, const std::string& failure,
                              const std::string& otherwise) {
  // The failure may be that of a library which this one needs.
  const bool is_named = failure.find(path) != std::string::npos;
  const bool is_refused = failure.find("Permission denied") != std::string::npos;
  return sdk::Status(sdk::Code::kNotFound,
                     "cannot open " + what + ": " + (is_named ? failure : "'" + path + "': " + failure) + "; " +
                         (is_refused ? "the sandbox reads the folders of the system, of LD_LIBRARY_PATH and of "
                                       "'plugins: {readable: [DIR]}'"
                                     : otherwise));
}

// The same for the library of an EP.
inline sdk::Status CannotOpenProvider(const std::string& path, const std::string& failure) {
  return CannotOpen("the execution provider", path, failure,
                    "install its package, such as 'pip install onnxruntime-qnn', and give option 'library' its path");
}

// The position of the first device that is as `wanted` in ProviderSettings::device. kUnavailable: none is.
inline sdk::Result<size_t> ChooseDevice(const std::vector<HardwareDeviceType>& devices, const std::string& wanted) {
  if (devices.empty()) return sdk::Status(sdk::Code::kUnavailable, "the execution provider offers no device here");
  std::string list;
  for (size_t i = 0; i < devices.size(); ++i) {
    const std::string kind = devices[i] == kGpu ? "gpu" : devices[i] == kNpu ? "npu" : "cpu";
    if (wanted.empty() || wanted == kind || wanted == std::to_string(i)) return i;
    list += (i == 0 ? "" : ", ") + std::to_string(i) + ": " + kind;
  }
  return sdk::Status(sdk::Code::kUnavailable, "option 'device': no device is '" + wanted + "'; there are: " + list);
}

// A message with what the EP has said, unless it has that already.
inline std::string WithReason(std::string text, const std::string& reason) {
  if (!reason.empty() && text.find(reason) == std::string::npos) text += " (" + reason + ")";
  return text;
}

// kNotFound, with the command that installs it: no such library. [load-time]
sdk::Result<std::shared_ptr<Provider>> OpenHosted(const sdk::Host& host, const ProviderSettings& settings);
// kNotSupported: an EP that computes by kernels in a registry, not by compiling. [load-time]
sdk::Result<std::shared_ptr<Provider>> OpenOwn(const sdk::Host& host, const ProviderSettings& settings);

}  // namespace ort
