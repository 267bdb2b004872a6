// A partition as a session of ONNX Runtime, and its runs in the host's buffers.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime.hpp"

namespace ort {

// A tensor of a session: its name there, and what each run has.
struct SessionTensor {
  std::string name;
  ElementType type = 0;
  std::vector<int64_t> dims;
};

struct CompiledSession {
  std::shared_ptr<Provider> provider;  // of the session, which it outlives
  const Runtime* runtime = nullptr;
  sdk::Host host;
  Owned<Session> session;
  std::vector<SessionTensor> inputs, outputs;  // in the order of the partition
  std::mutex* serial = nullptr;                // held in a run; NULL: runs overlap
  std::string power_entry;                     // as in ProviderSettings
  // Compiles the partition once more, into the bytes that Restore takes; empty: it cannot.
  std::function<sdk::Result<std::string>()> context_model;
};

// Names, element types and extents of the partition's tensors in `model`. kNotSupported: extents that are not known,
// or elements that are not numbers.
sdk::Result<std::vector<SessionTensor>> TensorsOf(const std::vector<sdk::ValueView>& values,
                                                  const std::vector<std::string>& names);

std::unique_ptr<sdk::Executable> MakeExecutable(CompiledSession compiled);

}  // namespace ort
