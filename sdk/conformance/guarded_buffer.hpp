// Memory for one tensor between pages that nobody may touch: an access beyond its elements ends the process, and the
// trap knows what it was. It can be made read-only while a plugin has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace deputy::conformance {

// Which end of the elements touches a forbidden page. kEnd leaves an address that is aligned to the element alone.
enum class Flush { kBegin, kEnd };

class GuardedBuffer {
 public:
  // `name` is for messages: "input 0". With kEnd a larger alignment leaves as many bytes as it needs behind the
  // elements.
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
  // No access at all from now on. `why` completes "reached input 0".
  void Seal(const std::string& why);

 private:
  std::string name_, before_, behind_, inside_;
  size_t bytes_, inner_;  // of the elements; of the pages between the guards
  uint8_t* mapping_ = nullptr;
  uint8_t* data_ = nullptr;
};

}  // namespace deputy::conformance
