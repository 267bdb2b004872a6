// One run of a checked delegate: its tensors lie between guard pages, and its inputs are read-only. A wrong access ends
// the process, as it might without guard pages, but with a line that describes the access.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "delegate/delegate.hpp"

namespace deputy::host {

// Pages for the bytes of one tensor, watched by the handler of fatal signals while they are there.
class GuardedBytes {
 public:
  // `name`: "plugin com.example.npu (npu.so): execute: input 0"; begins the handler's line. Inputs are readable only.
  static Result<std::unique_ptr<GuardedBytes>> Make(const std::string& name, const void* input, size_t bytes);
  ~GuardedBytes();
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  void* data() const { return data_; }
  // False: the margin between the bytes and the pages was written.
  bool IsIntact() const;

 private:
  GuardedBytes() = default;

  std::string in_front_, behind_, inside_;
  uint8_t* mapping_ = nullptr;
  size_t inner_ = 0;  // bytes of the pages between the guards
  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
};

class GuardedRun final : public OutputAllocator {
 public:
  // Copies the tensors of `args`; `place` names the plugin and its function. The last byte of each tensor is the last
  // of its page, as far as the alignment to `kAlignment` bytes allows.
  static Result<std::unique_ptr<GuardedRun>> Make(const RunArgs& args, const std::string& place);

  std::vector<const deputy_tensor*>& inputs() { return inputs_; }
  std::vector<deputy_tensor*>& outputs() { return outputs_; }
  // Of an output whose extents only the run knows: allocates that of `args`, and memory between guard pages.
  Status Allocate(deputy_tensor* tensor, std::span<const int64_t> dims) override;
  // The plugin's wrong change of the tensors; empty if there is none.
  std::string Changed() const;
  // Copies the outputs to the tensors of `args`.
  void Finish() const;

 private:
  GuardedRun(const RunArgs& args, const std::string& place) : args_(args), place_(place) {}
  Status Add(const deputy_tensor* tensor, bool is_input, const std::string& name);

  const RunArgs& args_;
  const std::string place_;
  std::deque<deputy_tensor> tensors_;
  std::vector<deputy_tensor> given_;  // as tensors_ were
  std::vector<std::unique_ptr<GuardedBytes>> memory_;
  std::vector<const deputy_tensor*> inputs_;
  std::vector<deputy_tensor*> outputs_;
};

}  // namespace deputy::host
