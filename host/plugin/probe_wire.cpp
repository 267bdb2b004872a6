#include "plugin/probe_wire.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "plugin/table_check.hpp"
#include "plugin/text.hpp"

namespace deputy::host {
namespace {

constexpr uint32_t kStageFrame = 1, kReplyFrame = 2;
constexpr uint32_t kMaxListed = 256;

uint32_t Checksum(std::span<const uint8_t> bytes) {
  uint32_t hash = 2166136261u;
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 16777619u;
  return hash;
}

class Writer {
 public:
  template <class T>
  void Number(T value) {
    static_assert(std::is_arithmetic_v<T>);
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    for (size_t i = 0; i < sizeof value; ++i) bytes_.push_back(bytes[i]);
  }
  void Text(const std::string& text) {
    Number(static_cast<uint32_t>(text.size()));
    bytes_.insert(bytes_.end(), text.begin(), text.end());
  }
  template <class Items, class WriteItem>
  void List(const Items& items, WriteItem write) {
    Number(static_cast<uint32_t>(items.size()));
    for (const auto& item : items) write(item);
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

// Reads after a failure give zeros; ok() tells at the end.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  template <class T>
  T Number() {
    T value{};
    if (!Have(sizeof value)) return T{};
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
    return value;
  }
  std::string Text() {
    const auto size = Number<uint32_t>();
    if (!Have(size)) return {};
    std::string text(reinterpret_cast<const char*>(bytes_.data()), size);
    bytes_ = bytes_.subspan(size);
    Require(IsUtf8(text));
    return text;
  }
  uint32_t Count(uint32_t limit) {
    const auto count = Number<uint32_t>();
    Require(count <= limit);
    return ok_ ? count : 0;
  }
  void Require(bool condition) { ok_ = ok_ && condition; }
  bool ok() const { return ok_; }
  bool done() const { return ok_ && bytes_.empty(); }

 private:
  bool Have(size_t count) {
    Require(count <= bytes_.size());
    return ok_;
  }
  std::span<const uint8_t> bytes_;
  bool ok_ = true;
};

void Write(Writer& out, const OptionSchema& option) {
  out.Text(option.name);
  out.Number(option.type);
  out.Text(option.help);
  out.Text(option.unit);
  out.Text(option.default_value);
  out.List(option.choices, [&](const std::string& choice) { out.Text(choice); });
  out.Number(option.minimum);
  out.Number(option.maximum);
}

OptionSchema ReadOption(Reader& in) {
  OptionSchema option;
  option.name = in.Text();
  in.Require(IsPluginName(option.name));
  option.type = in.Number<uint32_t>();
  in.Require(option.type >= DEPUTY_OPTION_BOOL && option.type <= DEPUTY_OPTION_FREQUENCY);
  option.help = in.Text();
  option.unit = in.Text();
  option.default_value = in.Text();
  for (uint32_t left = in.Count(kMaxListed); left != 0 && in.ok(); --left) option.choices.push_back(in.Text());
  option.minimum = in.Number<double>();
  option.maximum = in.Number<double>();
  in.Require(!std::isnan(option.minimum) && !std::isnan(option.maximum));
  return option;
}

void Write(Writer& out, const CapabilityRow& row) {
  out.Text(row.domain);
  out.Text(row.op_type);
  out.Text(row.note);
  for (const uint32_t number : {row.min_version, row.max_version, row.min_rank, row.max_rank, row.layouts})
    out.Number(number);
  out.List(row.dtypes, [&](int32_t dtype) { out.Number(dtype); });
}

CapabilityRow ReadCapability(Reader& in) {
  CapabilityRow row;
  row.domain = in.Text();
  row.op_type = in.Text();
  in.Require(!row.op_type.empty());
  row.note = in.Text();
  for (uint32_t* number : {&row.min_version, &row.max_version, &row.min_rank, &row.max_rank, &row.layouts})
    *number = in.Number<uint32_t>();
  for (uint32_t left = in.Count(kMaxListed); left != 0 && in.ok(); --left) row.dtypes.push_back(in.Number<int32_t>());
  return row;
}

void Write(Writer& out, const DeviceEntry& device) {
  out.Text(device.name);
  out.Text(device.driver);
  out.Number(device.kind);
  out.Number(device.memory_bytes);
  out.Number(device.frequency_hz);
}

DeviceEntry ReadDevice(Reader& in) {
  DeviceEntry device;
  device.name = in.Text();
  in.Require(!device.name.empty());
  device.driver = in.Text();
  device.kind = in.Number<uint32_t>();
  device.memory_bytes = in.Number<uint64_t>();
  device.frequency_hz = in.Number<uint64_t>();
  return device;
}

void Write(Writer& out, const DelegateDescription& delegate) {
  out.Text(delegate.id);
  out.Text(delegate.description);
  out.Number(delegate.flags);
  out.Number(static_cast<uint8_t>(delegate.available));
  out.Text(delegate.unavailable);
  out.List(delegate.options, [&](const OptionSchema& option) { Write(out, option); });
  out.List(delegate.extensions, [&](const std::string& extension) { out.Text(extension); });
  out.List(delegate.capabilities, [&](const CapabilityRow& row) { Write(out, row); });
  out.Number(static_cast<uint8_t>(delegate.enumerates));
  out.List(delegate.devices, [&](const DeviceEntry& device) { Write(out, device); });
}

DelegateDescription ReadDelegate(Reader& in) {
  DelegateDescription delegate;
  delegate.id = in.Text();
  in.Require(IsPluginName(delegate.id));
  delegate.description = in.Text();
  delegate.flags = in.Number<uint32_t>();
  const auto available = in.Number<uint8_t>();
  in.Require(available <= 1);
  delegate.available = available != 0;
  delegate.unavailable = in.Text();
  for (uint32_t left = in.Count(kMaxListed); left != 0 && in.ok(); --left) delegate.options.push_back(ReadOption(in));
  for (uint32_t left = in.Count(kMaxListed); left != 0 && in.ok(); --left) delegate.extensions.push_back(in.Text());
  for (uint32_t left = in.Count(kMaxCapabilities); left != 0 && in.ok(); --left)
    delegate.capabilities.push_back(ReadCapability(in));
  const auto enumerates = in.Number<uint8_t>();
  in.Require(enumerates <= 1);
  delegate.enumerates = enumerates != 0;
  for (uint32_t left = in.Count(kMaxDevices); left != 0 && in.ok(); --left) delegate.devices.push_back(ReadDevice(in));
  return delegate;
}

void Write(Writer& out, const PluginDescription& plugin) {
  out.Text(plugin.id);
  out.Text(plugin.vendor);
  out.Text(plugin.version);
  out.Number(plugin.abi_version);
  out.List(plugin.delegates, [&](const DelegateDescription& delegate) { Write(out, delegate); });
}

PluginDescription ReadPlugin(Reader& in) {
  PluginDescription plugin;
  plugin.id = in.Text();
  in.Require(IsPluginName(plugin.id));
  plugin.vendor = in.Text();
  plugin.version = in.Text();
  plugin.abi_version = in.Number<uint32_t>();
  for (uint32_t left = in.Count(kMaxDelegates); left != 0 && in.ok(); --left)
    plugin.delegates.push_back(ReadDelegate(in));
  in.Require(!plugin.delegates.empty());
  return plugin;
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
  }
  return "at an unknown stage";
}

std::vector<uint8_t> EncodeStage(uint64_t nonce, ProbeStage stage) {
  Writer payload;
  payload.Number(static_cast<uint32_t>(stage));
  return Frame(nonce, kStageFrame, payload.bytes());
}

std::vector<uint8_t> EncodeReply(uint64_t nonce, const Checked<PluginDescription>& reply) {
  Writer payload;
  if (const Rejection* rejection = RejectionOf(reply)) {
    payload.Number(uint8_t{0});
    payload.Number(static_cast<uint32_t>(rejection->reason));
    payload.Text(rejection->text);
  } else {
    payload.Number(uint8_t{1});
    Write(payload, std::get<PluginDescription>(reply));
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
      return Fail(fmt::format("a frame says that it has {} bytes; {} are allowed", length, kMaxProbePayload));
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
    if (!in.done() || stage > static_cast<uint32_t>(ProbeStage::kDescribe)) return Fail("an unknown stage");
    stage_ = static_cast<ProbeStage>(stage);
    return true;
  }
  if (kind != kReplyFrame) return Fail(fmt::format("a frame of the unknown kind {}", kind));
  if (in.Number<uint8_t>() == 1) {
    PluginDescription plugin = ReadPlugin(in);
    if (!in.done()) return Fail("its description cannot be read");
    reply_ = std::move(plugin);
  } else {
    Rejection rejection;
    const auto reason = in.Number<uint32_t>();
    rejection.reason = static_cast<RejectReason>(reason);
    rejection.text = CleanText(in.Text(), 4096);
    if (!in.done() || reason > static_cast<uint32_t>(RejectReason::kChanged)) return Fail("its refusal cannot be read");
    reply_ = std::move(rejection);
  }
  return true;
}

}  // namespace deputy::host
