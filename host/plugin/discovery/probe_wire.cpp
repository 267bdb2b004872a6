#include "plugin/discovery/probe_wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "plugin/checks/text.hpp"
#include "plugin/discovery/table_check.hpp"

namespace deputy::host {
namespace {

constexpr uint32_t kStageFrame = 1, kReplyFrame = 2, kMappedFrame = 3;
constexpr uint32_t kMaxListedItems = 256;
constexpr size_t kMaxPath = 4096;

uint32_t Checksum(std::span<const uint8_t> bytes) {
  uint32_t hash = 2166136261u;
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 16777619u;
  return hash;
}

// Writer and Reader have the same functions, so that one list of fields serves both.
class Writer {
 public:
  template <class T>
  void Number(T value) {
    static_assert(std::is_arithmetic_v<T>);
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
  }
  void Flag(bool value) { Number(static_cast<uint8_t>(value)); }
  void Text(const std::string& text) { Bytes(text); }
  template <class Container>
  void Bytes(const Container& bytes) {
    Number(static_cast<uint32_t>(bytes.size()));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void Path(const std::filesystem::path& path) { Bytes(path.native()); }
  template <class Item, class Each>
  void List(const std::vector<Item>& items, uint32_t /*limit*/, Each each) {
    Number(static_cast<uint32_t>(items.size()));
    for (const Item& item : items) each(item);
  }
  void Require(bool) {}
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

// Reads after a failure give zeros; ok() tells at the end.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  template <class T>
  void Number(T& value) {
    value = {};
    if (!Have(sizeof value)) return;
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
  }
  template <class T>
  T Number() {
    T value;
    Number(value);
    return value;
  }
  void Flag(bool& value) {
    const auto number = Number<uint8_t>();
    Require(number <= 1);
    value = number != 0;
  }
  void Text(std::string& text) {
    Bytes(text);
    Require(IsUtf8(text));
  }
  template <class Container>
  void Bytes(Container& bytes) {
    const auto size = Number<uint32_t>();
    if (!Have(size)) return;
    bytes.assign(bytes_.begin(), bytes_.begin() + size);
    bytes_ = bytes_.subspan(size);
  }
  // Of a file of this machine, which may have any bytes.
  void Path(std::filesystem::path& path) {
    std::string bytes;
    Bytes(bytes);
    Require(bytes.size() < kMaxPath && bytes.find('\0') == std::string::npos && bytes.substr(0, 1) == "/");
    path = bytes;
  }
  template <class Item, class Each>
  void List(std::vector<Item>& items, uint32_t limit, Each each) {
    const auto count = Number<uint32_t>();
    Require(count <= limit);
    for (uint32_t i = 0; i < count && ok_; ++i) each(items.emplace_back());
  }
  void Require(bool condition) { ok_ = ok_ && condition; }
  bool done() const { return ok_ && bytes_.empty(); }

 private:
  bool Have(size_t count) {
    Require(count <= bytes_.size());
    return ok_;
  }
  std::span<const uint8_t> bytes_;
  bool ok_ = true;
};

// `option` and the others below are const for a Writer.
template <class Wire, class Option>
void PassOption(Wire& wire, Option& option) {
  wire.Text(option.name);
  wire.Require(IsPluginName(option.name));
  wire.Number(option.type);
  wire.Require(option.type >= DEPUTY_OPTION_BOOL && option.type <= DEPUTY_OPTION_FREQUENCY);
  for (auto* text : {&option.help, &option.unit, &option.default_value}) wire.Text(*text);
  wire.List(option.choices, kMaxListedItems, [&](auto& choice) { wire.Text(choice); });
  wire.Number(option.int_minimum);
  wire.Number(option.int_maximum);
  wire.Flag(option.settable);
  wire.Number(option.minimum);
  wire.Number(option.maximum);
  wire.Require(!std::isnan(option.minimum) && !std::isnan(option.maximum));
}

template <class Wire, class Row>
void PassCapability(Wire& wire, Row& row) {
  for (auto* text : {&row.domain, &row.op_type, &row.note}) wire.Text(*text);
  wire.Require(!row.op_type.empty());
  for (auto* number : {&row.min_version, &row.max_version, &row.min_rank, &row.max_rank, &row.layouts})
    wire.Number(*number);
  wire.List(row.dtypes, kMaxListedItems, [&](auto& dtype) { wire.Number(dtype); });
}

template <class Wire, class Device>
void PassDevice(Wire& wire, Device& device) {
  wire.Text(device.id);
  wire.Require(!device.id.empty());
  wire.Text(device.name);
  wire.Require(!device.name.empty());
  wire.Text(device.driver);
  wire.Number(device.kind);
  wire.Number(device.memory_bytes);
  wire.Number(device.frequency_hz);
}

template <class Wire, class Delegate>
void PassDelegate(Wire& wire, Delegate& delegate) {
  wire.Text(delegate.id);
  wire.Require(IsPluginName(delegate.id));
  wire.Text(delegate.description);
  wire.Number(delegate.flags);
  wire.Flag(delegate.available);
  wire.Text(delegate.unavailable);
  wire.List(delegate.options, kMaxListedItems, [&](auto& option) { PassOption(wire, option); });
  wire.List(delegate.extensions, kMaxListedItems, [&](auto& extension) { wire.Text(extension); });
  wire.List(delegate.capabilities, kMaxCapabilities, [&](auto& row) { PassCapability(wire, row); });
  wire.Flag(delegate.enumerates);
  wire.List(delegate.devices, kMaxDevices, [&](auto& device) { PassDevice(wire, device); });
}

template <class Wire, class Part>
void PassPart(Wire& wire, Part& part) {
  wire.Path(part.path);
  for (auto* number : {&part.identity.device, &part.identity.inode, &part.identity.size}) wire.Number(*number);
  wire.Number(part.identity.modified_ns);
  wire.Number(part.identity.changed_ns);
  wire.Bytes(part.build_id);
  wire.Flag(part.at_load);
}

template <class Wire, class Plugin>
void PassPlugin(Wire& wire, Plugin& plugin) {
  wire.Text(plugin.id);
  wire.Require(IsPluginName(plugin.id));
  wire.Text(plugin.vendor);
  wire.Text(plugin.version);
  wire.Number(plugin.abi_version);
  wire.List(plugin.delegates, kMaxDelegates, [&](auto& delegate) { PassDelegate(wire, delegate); });
  wire.List(plugin.mapped, kMaxListedItems, [&](auto& part) { PassPart(wire, part); });
  wire.List(plugin.refused_calls, kMaxListedItems, [&](auto& call) { wire.Text(call); });
  wire.Require(!plugin.delegates.empty());
}

std::vector<uint8_t> Frame(uint64_t nonce, uint32_t kind, const std::vector<uint8_t>& payload) {
  Writer head;
  head.Number(kProbeMagic);
  head.Number(kind);
  head.Number(nonce);
  head.Number(static_cast<uint32_t>(payload.size()));
  head.Number(Checksum(payload));
  std::vector<uint8_t> frame = head.bytes();
  frame.insert(frame.end(), payload.begin(), payload.end());
  return frame;
}

}  // namespace

const char* TextOf(ProbeStage stage) {
  switch (stage) {
    case ProbeStage::kStart: return "before it was loaded";
    case ProbeStage::kLoad: return "while it was loaded";
    case ProbeStage::kQuery: return "in its entry function";
    case ProbeStage::kInit: return "in init";
    case ProbeStage::kDescribe: return "while it described its delegates";
    case ProbeStage::kOpen: return "while a delegate was opened";
    case ProbeStage::kCompile: return "while a delegate compiled one node";
    case ProbeStage::kClose: return "while a delegate was closed";
  }
  return "at an unknown stage";
}

std::vector<uint8_t> EncodeStage(uint64_t nonce, ProbeStage stage) {
  Writer payload;
  payload.Number(static_cast<uint32_t>(stage));
  return Frame(nonce, kStageFrame, payload.bytes());
}

std::vector<uint8_t> EncodeMapped(uint64_t nonce, const std::vector<PluginPart>& parts) {
  Writer payload;
  const size_t count = std::min<size_t>(parts.size(), kMaxListedItems);
  payload.List(std::vector<PluginPart>(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(count)), kMaxListedItems,
               [&](const PluginPart& part) { PassPart(payload, part); });
  return Frame(nonce, kMappedFrame, payload.bytes());
}

std::vector<uint8_t> EncodeReply(uint64_t nonce, const Checked<PluginDescription>& reply) {
  Writer payload;
  if (const Rejection* rejection = RejectionOf(reply)) {
    payload.Number(uint8_t{0});
    payload.Number(static_cast<uint32_t>(rejection->reason));
    payload.Text(rejection->text);
  } else {
    payload.Number(uint8_t{1});
    PassPlugin(payload, std::get<PluginDescription>(reply));
  }
  return Frame(nonce, kReplyFrame, payload.bytes());
}

bool ProbeStream::Fail(std::string fault) {
  fault_ = std::move(fault);
  buffer_.clear();
  return false;
}

bool ProbeStream::Feed(std::span<const uint8_t> bytes) {
  if (!fault_.empty()) return false;
  if (reply_) return true;  // bytes after the answer are ignored
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  size_t at = 0;
  while (!reply_ && buffer_.size() - at >= kProbeHeaderSize) {
    Reader head(std::span<const uint8_t>(buffer_).subspan(at, kProbeHeaderSize));
    if (head.Number<uint32_t>() != kProbeMagic) return Fail("a frame does not begin with its magic number");
    const auto kind = head.Number<uint32_t>();
    if (head.Number<uint64_t>() != nonce_) return Fail("a frame belongs to another probe");
    const auto length = head.Number<uint32_t>();
    const auto checksum = head.Number<uint32_t>();
    if (length > kMaxProbePayload)
      return Fail(fmt::format("a frame declares {} bytes, the maximum is {}", length, kMaxProbePayload));
    if (buffer_.size() - at - kProbeHeaderSize < length) break;
    const std::span<const uint8_t> payload = std::span<const uint8_t>(buffer_).subspan(at + kProbeHeaderSize, length);
    if (Checksum(payload) != checksum) return Fail("a frame has a wrong checksum");
    if (!TakeFrame(kind, payload)) return false;
    at += kProbeHeaderSize + length;
  }
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(at));
  return true;
}

bool ProbeStream::TakeFrame(uint32_t kind, std::span<const uint8_t> payload) {
  Reader in(payload);
  if (kind == kStageFrame) {
    const auto stage = in.Number<uint32_t>();
    if (!in.done() || stage > static_cast<uint32_t>(ProbeStage::kClose)) return Fail("an unknown stage");
    stage_ = static_cast<ProbeStage>(stage);
    return true;
  }
  if (kind == kMappedFrame) {
    mapped_.clear();
    in.List(mapped_, kMaxListedItems, [&](PluginPart& part) { PassPart(in, part); });
    return in.done() || Fail("its libraries cannot be read");
  }
  if (kind != kReplyFrame) return Fail(fmt::format("a frame of the unknown kind {}", kind));
  if (in.Number<uint8_t>() == 1) {
    PluginDescription plugin;
    PassPlugin(in, plugin);
    if (!in.done()) return Fail("its description cannot be read");
    reply_ = std::move(plugin);
  } else {
    Rejection rejection;
    const auto reason = in.Number<uint32_t>();
    rejection.reason = static_cast<RejectReason>(reason);
    in.Text(rejection.text);
    rejection.text = CleanText(rejection.text, 4096);
    if (!in.done() || reason > static_cast<uint32_t>(RejectReason::kChanged))
      return Fail("its rejection cannot be read");
    reply_ = std::move(rejection);
  }
  return true;
}

}  // namespace deputy::host
