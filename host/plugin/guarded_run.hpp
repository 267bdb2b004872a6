// One run of a delegate that is checked: its tensors lie between pages that nobody may touch, its inputs cannot be
// written. What it does beyond ends the process, as it might have without, but with a line that says what it was.
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
  // `what`: "plugin com.example.npu (npu.so): execute: input 0"; begins the handler's line. Inputs are readable only.
  static Result<std::unique_ptr<GuardedBytes>> Make(const std::string& what, const void* input, size_t bytes);
  ~GuardedBytes();
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  void* data() const { return data_; }
  // False: something was written beside the bytes, nearer than the pages.
  bool IsIntact() const;

 private:
  GuardedBytes() = default;

  std::string in_front_, behind_, inside_;
  uint8_t* mapping_ = nullptr;
  size_t inner_ = 0;  // bytes of the pages between the guards
  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
};

class GuardedRun {
 public:
  // Copies what `args` binds; `place` names the plugin and its function. The last byte of each tensor is the last of
  // its page, so far as the alignment to `kAlignment` bytes lets it.
  static Result<GuardedRun> Make(const RunArgs& args, const std::string& place);

  std::vector<const deputy_tensor*>& inputs() { return inputs_; }
  std::vector<deputy_tensor*>& outputs() { return outputs_; }
  // What the plugin changed of what it was given; empty if nothing.
  std::string Changed() const;
  // Copies the outputs to where they belong; nothing is changed.
  void Finish(const RunArgs& args) const;

 private:
  Status Add(const deputy_tensor* tensor, bool is_input, const std::string& what);

  std::deque<deputy_tensor> tensors_;
  std::vector<deputy_tensor> given_;  // as tensors_ were
  std::vector<std::unique_ptr<GuardedBytes>> memory_;
  std::vector<const deputy_tensor*> inputs_;
  std::vector<deputy_tensor*> outputs_;
};

}  // namespace deputy::host
