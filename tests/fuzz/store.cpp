// Files of the store of entries that are kept between runs, of every kind, and the readers of what they hold. Mutants
// have the name of their kind and key and, in most cases, a right checksum and right sizes.
#include "store/store.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/digest.hpp"
#include "base/log.hpp"
#include "fuzz/target.hpp"
#include "fuzz/temporary_file.hpp"
#include "measure/decision.hpp"
#include "partition/cost_table.hpp"
#include "plugin/discovery/probe_wire.hpp"
#include "runtime/plugin_records.hpp"

namespace deputy::fuzz {
namespace {

using host::Digest;
using host::EntryKind;

// Of the format, host/docs/store.md.
constexpr size_t kKindAt = 12, kTextSizeAt = 16, kSizeAt = 24, kKeyAt = 32, kChecksumAt = 64, kHeaderSize = 96;
constexpr size_t kMostBytes = 16 * 1024, kAlignment = 64;
constexpr uint64_t kLimit = 1 << 20;

size_t OffsetOfBytes(const Bytes& input) {
  const uint64_t text = std::min<uint64_t>(Load<uint64_t>(input, kTextSizeAt), input.size());
  return std::min<size_t>((kHeaderSize + text + kAlignment - 1) / kAlignment * kAlignment, input.size());
}

// The length and the FNV-1a of the one frame that a plugin's description is in.
void MakeFrame(std::span<uint8_t> frame) {
  constexpr size_t kNonceAt = 8, kLengthAt = 16, kSumAt = 20;
  if (frame.size() < host::kProbeHeaderSize) return;
  uint32_t sum = 2166136261u;
  for (const uint8_t byte : frame.subspan(host::kProbeHeaderSize)) sum = (sum ^ byte) * 16777619u;
  Store(frame, 0, host::kProbeMagic);
  Store(frame, kNonceAt, uint64_t{0});
  Store(frame, kLengthAt, static_cast<uint32_t>(frame.size() - host::kProbeHeaderSize));
  Store(frame, kSumAt, sum);
}

void MakeConsistent(Bytes& input, Random& random) {
  if (Load<uint32_t>(input, kKindAt) == static_cast<uint32_t>(EntryKind::kProbe) && !random.OneIn(8))
    MakeFrame(std::span(input).subspan(OffsetOfBytes(input)));
  if (!random.OneIn(8)) Store(input, kKindAt, Load<uint32_t>(input, kKindAt) % uint32_t{std::size(host::kEntryKinds)});
  if (!random.OneIn(8)) Store<uint64_t>(input, kSizeAt, input.size() - OffsetOfBytes(input));
  Store(input, kChecksumAt, Digest{});
  Store(input, kChecksumAt, host::Digester().Add(input).Finish());
}

// Frames and numbers of the entry's bytes, and lines of text.
void ChangeContent(Bytes& input, Random& random) {
  const size_t begin = OffsetOfBytes(input);
  if (random.OneIn(2)) return ChangeAlignedNumber(input, begin, random);
  constexpr std::string_view kWords[] = {"reason=",
                                         "text=",
                                         "since=9223372036854775807",
                                         "since=-9223372036854775808",
                                         "file=/",
                                         "content=",
                                         "\n",
                                         "=",
                                         "0",
                                         "-1",
                                         "nan",
                                         "1e999",
                                         " ",
                                         "\t",
                                         "right"};
  Bytes content(input.begin() + static_cast<std::ptrdiff_t>(begin), input.end());
  if (random.OneIn(2)) {
    const std::string_view word = random.Of(kWords);
    content.insert(content.begin() + static_cast<std::ptrdiff_t>(random.Below(content.size() + 1)), word.begin(),
                   word.end());
  } else {
    ChangeBytes(content, random, kMostBytes);
  }
  input.resize(begin);
  input.insert(input.end(), content.begin(), content.end());
}

void CheckContent(EntryKind kind, const host::StoredEntry& entry) {
  switch (kind) {
    case EntryKind::kProbe: {
      host::ProbeStream stream(0);
      if (!stream.Feed(entry.bytes)) {
        Require(!stream.fault().empty(), "a frame that is refused has a reason");
        return;
      }
      if (!stream.reply() || host::RejectionOf(*stream.reply()) != nullptr) return;
      const auto& description = std::get<host::PluginDescription>(*stream.reply());
      host::ProbeStream again(0);
      Require(again.Feed(host::EncodeReply(0, description)) && again.reply().has_value(),
              "a description that was read can be written");
      Require(std::get<host::PluginDescription>(*again.reply()) == description,
              "a description is read as it was written");
      return;
    }
    case EntryKind::kPlacement: {
      const auto decision = host::ParseDecision(entry.bytes, 2, 100);
      if (!decision) return;
      const auto again = host::ParseDecision(host::BytesOf(*decision), 2, 100);
      Require(again && *again == *decision, "a decision is read as it was written");
      return;
    }
    case EntryKind::kCosts: {
      const Result<host::CostTable> table = host::CostTable::Parse(TextOf(entry.bytes));
      if (!table.ok()) return Require(!table.status().message().empty(), "an error has a message");
      const std::string text = table->ToText();
      const Result<host::CostTable> again = host::CostTable::Parse(text);
      Require(again.ok() && again->ToText() == text, "costs are read as they were written", text);
      return;
    }
    default: return;
  }
}

}  // namespace

void MutateInput(Bytes& input, Random& random) {
  if (input.size() < kHeaderSize) return ChangeBytes(input, random, kMostBytes);
  switch (random.Below(12)) {
    case 0: ChangeBytes(input, random, kMostBytes); break;
    case 1: ChangeAlignedNumber(std::span(input).first(kKeyAt), 8, random); break;
    case 2: ChangeAlignedNumber(input, kHeaderSize, random); break;
    default: ChangeContent(input, random); break;
  }
  if (input.size() >= kHeaderSize && !random.OneIn(16)) MakeConsistent(input, random);
}

void CheckInput(std::span<const uint8_t> input) {
  host::SetLogLevel(host::LogLevel::kOff);
  EntryKind kind = EntryKind::kBlob;
  Digest key{};
  if (input.size() >= kHeaderSize) {
    kind = host::kEntryKinds[Load<uint32_t>(input, kKindAt) % std::size(host::kEntryKinds)];
    key = Load<Digest>(input, kKeyAt);
  }
  static const std::filesystem::path folder = [] {
    const std::filesystem::path made = TemporaryFolder() / "store";
    std::filesystem::create_directory(made);
    std::filesystem::permissions(made, std::filesystem::perms::owner_all);
    return made;
  }();
  const std::filesystem::path file = folder / host::EntryFileName(kind, key);
  WriteFile(file, input);
  std::filesystem::permissions(file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);

  const auto store = std::make_shared<host::Store>(host::StoreOptions{folder, kLimit});
  const Result<std::vector<host::EntryInfo>> listed = store->List(true);
  Require(listed.ok() && listed->size() == 1, "a file that is named like an entry is listed");
  const host::EntryInfo& info = listed->front();
  Require((info.state == host::EntryState::kIntact) == info.problem.empty(), "all but intact entries have a problem",
          info.problem);
  if (kind == EntryKind::kQuarantine) {
    const auto records = host::PluginRecords(store, true, {}, true).List();
    Require(records.ok(), "a damaged record is no error");
  }
  const std::optional<host::StoredEntry> entry = store->Find(kind, key);
  Require(entry.has_value() == (info.state == host::EntryState::kIntact), "an intact entry is found, and no other",
          info.problem);
  if (entry) {
    Require(entry->text == info.text, "the text is the one that is listed", entry->text);
    CheckContent(kind, *entry);
  }
  unlink(file.c_str());
}

}  // namespace deputy::fuzz
