// Executables as bytes: ext/blob.h of the delegate under test, called as a host does. A plugin's errors with a sink or
// with a blob that was lent to it are recorded as faults.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "deputy/abi/ext/blob.h"
#include "guarded_buffer.hpp"
#include "instance.hpp"

namespace deputy::conformance {

// Bytes lent to a plugin, aligned to 64 and read-only. They cannot be accessed after their release.
class LentBlob {
 public:
  LentBlob(HostServices& host, const std::vector<uint8_t>& bytes);
  LentBlob(const LentBlob&) = delete;
  LentBlob& operator=(const LentBlob&) = delete;

  const deputy_blob* form() const { return &form_; }
  // The plugin must have released the blob by now; `when` completes the message.
  void Expect(const std::string& when);

 private:
  static void Release(void* owner);
  HostServices& host_;
  std::unique_ptr<GuardedBuffer> memory_;
  deputy_blob form_{};
  std::atomic<int> released_{0};
};

// A restored executable and its blob.
class Restored {
 public:
  Restored(std::unique_ptr<Executable> executable, std::shared_ptr<LentBlob> blob)
      : executable_(std::move(executable)), blob_(std::move(blob)) {}
  ~Restored();
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;
  Executable& executable() { return *executable_; }

 private:
  std::unique_ptr<Executable> executable_;
  std::shared_ptr<LentBlob> blob_;
};

class Blobs {
 public:
  // has() is false without the extension.
  Blobs(Plugin& plugin, const deputy_delegate* delegate);

  bool has() const { return table_ != nullptr; }
  bool compiles_without_device() const { return has() && (table_->flags & DEPUTY_BLOB_COMPILE_ONLY) != 0; }
  bool checks() const { return has() && table_->check != nullptr; }

  // Whether the instance serializes nothing.
  bool AreLeftOut(Instance& instance);
  // "" and a fault when it is none.
  std::string Compatibility(Instance& instance);
  // With a buffer of so many bytes, behind which nothing may be written.
  Outcome CompatibilityInto(Instance& instance, size_t capacity, uint64_t* size);
  Outcome Check(const std::string& compatibility);
  // The sink refuses bytes beyond `limit`.
  Outcome Serialize(Executable& executable, size_t limit, std::vector<uint8_t>* bytes);
  // The claim is not consumed. NULL and the outcome when it fails.
  std::unique_ptr<Restored> Restore(Instance& instance, const deputy_graph& graph, const Claim& claim,
                                    const std::vector<uint8_t>& bytes, Outcome* outcome);

 private:
  Plugin& plugin_;
  const deputy_delegate* delegate_;
  const deputy_ext_blob* table_;
  // Kept, so that a second release and a late write are noticed.
  std::vector<std::shared_ptr<LentBlob>> lent_;
  struct Writing;
  std::vector<std::shared_ptr<Writing>> written_;
};

// Damage to bytes that are stored in files.
struct Damage {
  std::string label;  // "byte 17 of 120 is 0x3c instead of 0x00"
  std::vector<uint8_t> bytes;
  bool incomplete = false;  // bytes are missing, which a reader has to notice
};

// Cut at several lengths, single bytes changed, bytes appended; the same for the same seed.
std::vector<Damage> DamagesOf(const std::vector<uint8_t>& bytes, uint64_t seed);

constexpr char kSinkIsFull[] = "the kit's sink takes no more";

}  // namespace deputy::conformance
