#include "guarded_buffer.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>

#include "trap.hpp"

namespace deputy::conformance {
namespace {

const size_t kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));

}  // namespace

GuardedBuffer::GuardedBuffer(std::string name, size_t bytes, Flush flush, size_t alignment)
    : name_(std::move(name)),
      before_("memory in front of " + name_),
      behind_("memory behind " + name_),
      bytes_(bytes),
      inner_((bytes + kPage - 1) / kPage * kPage) {
  if (bytes == 0) return;
  void* mapped = mmap(nullptr, inner_ + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<uint8_t*>(mapped);
  uint8_t* inner = mapping_ + kPage;
  mprotect(inner, inner_, PROT_READ | PROT_WRITE);
  data_ = flush == Flush::kBegin ? inner : inner + inner_ - (bytes + alignment - 1) / alignment * alignment;
  WatchRegion(mapping_, kPage, Forbidden::kAll, before_.c_str());
  WatchRegion(inner + inner_, kPage, Forbidden::kAll, behind_.c_str());
}

GuardedBuffer::~GuardedBuffer() {
  if (mapping_ == nullptr) return;
  UnwatchRegion(mapping_);
  UnwatchRegion(mapping_ + kPage);
  UnwatchRegion(mapping_ + kPage + inner_);
  munmap(mapping_, inner_ + 2 * kPage);
}

void GuardedBuffer::Fill(uint8_t byte) {
  if (bytes_ != 0) std::memset(data_, byte, bytes_);
}

void GuardedBuffer::Assign(const std::vector<uint8_t>& bytes) {
  if (bytes_ != 0) std::memcpy(data_, bytes.data(), bytes_);
}

void* GuardedBuffer::pages() const { return mapping_ == nullptr ? nullptr : mapping_ + kPage; }
int GuardedBuffer::protection() const { return read_only_ ? PROT_READ : PROT_READ | PROT_WRITE; }

void GuardedBuffer::Protect(bool read_only, const std::string& why) {
  if (mapping_ == nullptr) return;
  read_only_ = read_only;
  uint8_t* inner = mapping_ + kPage;
  UnwatchRegion(inner);
  inside_ = name_ + why;
  if (read_only) WatchRegion(inner, inner_, Forbidden::kWrites, inside_.c_str());
  mprotect(inner, inner_, protection());
}

void GuardedBuffer::Seal(const std::string& why) {
  if (mapping_ == nullptr) return;
  uint8_t* inner = mapping_ + kPage;
  UnwatchRegion(inner);
  inside_ = name_ + why;
  WatchRegion(inner, inner_, Forbidden::kAll, inside_.c_str());
  mprotect(inner, inner_, PROT_NONE);
}

GuardedText::GuardedText(const std::string& name, const std::string& text)
    : buffer_(name, text.size() + 1, Flush::kEnd) {
  buffer_.Assign(std::vector<uint8_t>(text.c_str(), text.c_str() + text.size() + 1));
  buffer_.Protect(true);
}

}  // namespace deputy::conformance
