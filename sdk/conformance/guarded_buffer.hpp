// Memory for one tensor between guard pages: an access beyond its elements ends the process, and the trap reports it.
// It can be made read-only while a plugin has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "deputy/abi/base.h"

namespace deputy::conformance {

// The end of the elements that is adjacent to a guard page. With kEnd the address is aligned to the element only.
enum class Flush { kBegin, kEnd };

class GuardedBuffer {
 public:
  // `name` is for messages: "input 0". With kEnd a larger alignment leaves a gap behind the elements.
  GuardedBuffer(std::string name, size_t bytes, Flush flush, size_t alignment = 1);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  // NULL when there are no elements.
  uint8_t* data() const { return bytes_ == 0 ? nullptr : data_; }
  size_t size() const { return bytes_; }
  void Fill(uint8_t byte);
  void Assign(const std::vector<uint8_t>& bytes);
  // No writes from now on, or writes again. `why` completes "wrote input 0".
  void Protect(bool read_only, const std::string& why = "");
  // The pages of the elements, and how they may be accessed; NULL when there are no elements.
  void* pages() const;
  size_t pages_size() const { return inner_; }
  int protection() const;
  // No access from now on. `why` completes "reached input 0".
  void Seal(const std::string& why);

 private:
  std::string name_, before_, behind_, inside_;
  size_t bytes_, inner_;  // of the elements; of the pages between the guards
  uint8_t* mapping_ = nullptr;
  uint8_t* data_ = nullptr;
  bool read_only_ = false;
};

// A text whose NUL is at the end of a page: a plugin that reads behind it ends the process.
class GuardedText {
 public:
  GuardedText(const std::string& name, const std::string& text);
  deputy_str str() const { return {reinterpret_cast<const char*>(buffer_.data()), buffer_.size() - 1}; }

 private:
  GuardedBuffer buffer_;
};

}  // namespace deputy::conformance
