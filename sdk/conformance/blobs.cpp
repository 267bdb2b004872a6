#include "blobs.hpp"

#include <algorithm>
#include <cstdio>
#include <random>
#include <set>

#include "text.hpp"

namespace deputy::conformance {
namespace {

constexpr size_t kAlignment = 64, kMostText = 1023;

}  // namespace

// Receives the bytes of an executable.
struct Blobs::Writing {
  HostServices& host;
  size_t limit;
  std::vector<uint8_t> bytes;
  deputy_blob_sink sink{};
  bool open = true, full = false;

  static deputy_status* Write(void* self, const void* data, uint64_t size) {
    auto& writing = *static_cast<Writing*>(self);
    const auto fault = [&](const char* text) { writing.host.Fault(std::string("serialize: ") + text); };
    if (!writing.open) fault("it wrote after it had returned");
    if (writing.full) fault("it wrote again after the sink had refused");
    if (data == nullptr && size != 0) fault("it wrote bytes from NULL");
    if (!writing.open || data == nullptr) return nullptr;
    if (size > writing.limit - writing.bytes.size()) {
      writing.full = true;
      return writing.host.NewStatus(DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, kSinkIsFull);
    }
    const auto* begin = static_cast<const uint8_t*>(data);
    writing.bytes.insert(writing.bytes.end(), begin, begin + size);
    return nullptr;
  }
};

LentBlob::LentBlob(HostServices& host, const std::vector<uint8_t>& bytes)
    : host_(host), memory_(std::make_unique<GuardedBuffer>("the blob", bytes.size(), Flush::kEnd, kAlignment)) {
  memory_->Assign(bytes);
  memory_->Protect(true);
  form_.struct_size = sizeof form_;
  form_.data = memory_->data();
  form_.size = bytes.size();
  form_.owner = this;
  form_.release = Release;
}

void LentBlob::Release(void* owner) {
  auto& lent = *static_cast<LentBlob*>(owner);
  if (lent.released_.fetch_add(1) != 0) return lent.host_.Fault("restore: it released its blob twice");
  lent.memory_->Seal(" after it had released it");
}

void LentBlob::Expect(const std::string& when) {
  if (released_ == 0) host_.Fault("restore: its blob was not released " + when);
  memory_.reset();
}

Restored::~Restored() {
  executable_.reset();
  blob_->Expect("before executable_destroy returned");
}

Blobs::Blobs(Plugin& plugin, const deputy_delegate* delegate)
    : plugin_(plugin),
      delegate_(delegate),
      table_(static_cast<const deputy_ext_blob*>(
          plugin.Extension(delegate, DEPUTY_EXT_BLOB, DEPUTY_END_OF(deputy_ext_blob, restore)))) {
  if (table_ == nullptr) return;
  if (table_->compatibility != nullptr && table_->serialize != nullptr && table_->restore != nullptr) return;
  plugin_.host().Fault(std::string("the table of ") + DEPUTY_EXT_BLOB + " has empty slots");
  table_ = nullptr;
}

Outcome Blobs::CompatibilityInto(Instance& instance, size_t capacity, uint64_t* size) {
  constexpr char kUntouched = 0x5a;
  std::vector<char> buffer(capacity + kAlignment, kUntouched);
  const Outcome outcome = plugin_.Call(
      "compatibility", [&] { return table_->compatibility(instance.handle(), buffer.data(), capacity, size); });
  if (std::any_of(buffer.begin() + static_cast<ptrdiff_t>(capacity), buffer.end(),
                  [](char byte) { return byte != kUntouched; }))
    plugin_.host().Fault("compatibility: it wrote behind the buffer");
  return outcome;
}

bool Blobs::AreLeftOut(Instance& instance) {
  uint64_t size = 0;
  return CompatibilityInto(instance, kMostText + 1, &size).code == DEPUTY_NOT_SUPPORTED;
}

std::string Blobs::Compatibility(Instance& instance) {
  char buffer[kMostText + 1] = {};
  uint64_t size = 0;
  const Outcome outcome = plugin_.Call(
      "compatibility", [&] { return table_->compatibility(instance.handle(), buffer, sizeof buffer, &size); });
  std::string wrong;
  if (!outcome.ok())
    wrong = "it fails: " + outcome.ToString();
  else if (size > kMostText)
    wrong = "the text has " + std::to_string(size) + " bytes; at most 1023 are allowed";
  else if (buffer[size] != 0)
    wrong = "the text has no NUL behind it";
  else if (!FaultOf({buffer, size}, false).empty())
    wrong = "the text " + FaultOf({buffer, size}, false);
  if (wrong.empty()) return std::string(buffer, size);
  plugin_.host().Fault("compatibility: " + wrong);
  return "";
}

Outcome Blobs::Check(const std::string& compatibility) {
  return plugin_.Call("check", [&] { return table_->check(delegate_, plugin_.host().table(), StrOf(compatibility)); });
}

Outcome Blobs::Serialize(Executable& executable, size_t limit, std::vector<uint8_t>* bytes) {
  written_.push_back(std::make_shared<Writing>(Writing{plugin_.host(), limit, {}, {}}));
  Writing& writing = *written_.back();
  writing.sink.struct_size = sizeof writing.sink;
  writing.sink.self = &writing;
  writing.sink.write = Writing::Write;
  const Outcome outcome =
      plugin_.Call("serialize", [&] { return table_->serialize(executable.handle(), &writing.sink); });
  writing.open = false;
  *bytes = std::move(writing.bytes);
  if (outcome.ok() && writing.full) plugin_.host().Fault("serialize: it succeeded although the sink had refused");
  if (outcome.ok() && !writing.full && bytes->empty()) plugin_.host().Fault("serialize: it succeeded without a byte");
  return outcome;
}

std::unique_ptr<Restored> Blobs::Restore(Instance& instance, const deputy_graph& graph, const Claim& claim,
                                         const std::vector<uint8_t>& bytes, Outcome* outcome) {
  const ShownGraph shown(plugin_.host(), graph);
  const deputy_partition partition = PartitionOf(graph, claim);
  lent_.push_back(std::make_shared<LentBlob>(plugin_.host(), bytes));
  const std::shared_ptr<LentBlob> lent = lent_.back();
  const CompileCall compile(plugin_.host(), partition);
  deputy_executable* made = nullptr;
  *outcome =
      plugin_.Call("restore", [&] { return table_->restore(instance.handle(), compile.args(), lent->form(), &made); });
  if (outcome->ok() && made == nullptr)
    *outcome = {DEPUTY_INTERNAL, DEPUTY_NO_NODE, "restore succeeded without an executable"};
  if (outcome->ok()) return std::make_unique<Restored>(std::make_unique<Executable>(plugin_, delegate_, made), lent);
  lent->Expect("before restore failed");
  return nullptr;
}

std::vector<Damage> DamagesOf(const std::vector<uint8_t>& bytes, uint64_t seed) {
  // Formats have their lengths and counts at the front, so that more changes are made there.
  constexpr size_t kHead = 96, kChangesInHead = 40, kChangesElsewhere = 24;
  const size_t size = bytes.size();
  const std::string of = " of " + std::to_string(size) + " bytes";
  std::vector<Damage> all;
  std::set<size_t> lengths = {1, 4, 8, 12, 16, 24, 32, 64, 128, size / 4, size / 2, size - size / 4};
  if (size > 0) lengths.insert(size - 1);
  if (size > 8) lengths.insert(size - 8);
  all.push_back({"no bytes", {}, true});
  for (const size_t length : lengths)
    if (length > 0 && length < size)
      all.push_back({"the first " + std::to_string(length) + of,
                     {bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length)},
                     true});
  std::mt19937_64 random(seed * 0x9e3779b97f4a7c15u + size);
  const auto change = [&](size_t at, uint8_t value) {
    if (bytes[at] == value) return;
    char label[96];
    std::snprintf(label, sizeof label, "byte %zu of %zu is 0x%02x instead of 0x%02x", at, size, value, bytes[at]);
    all.push_back({label, bytes, false});
    all.back().bytes[at] = value;
  };
  // One bit, or the values at which arithmetic with lengths goes wrong.
  const auto change_any = [&](size_t at) {
    const auto kind = random() % 4;
    const auto bit = static_cast<uint8_t>(1u << (random() % 8));
    change(at, kind == 0 ? uint8_t{0xff} : kind == 1 ? uint8_t{0x80} : static_cast<uint8_t>(bytes[at] ^ bit));
  };
  for (size_t i = 0; i < kChangesInHead && size > 0; ++i) change_any(random() % std::min(size, kHead));
  for (size_t i = 0; i < kChangesElsewhere && size > kHead; ++i) change_any(kHead + random() % (size - kHead));
  Damage longer{"64 bytes behind the " + std::to_string(size), bytes, false};
  longer.bytes.resize(size + 64, 0);
  all.push_back(std::move(longer));
  return all;
}

}  // namespace deputy::conformance
