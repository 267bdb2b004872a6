#include "import/onnx/condense.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <optional>

#include "base/printable.hpp"
#include "import/onnx/source.hpp"

namespace deputy::host::onnx_import {
namespace {

// Types and sequences of types may be nested without graphs; real ones are two or three deep.
constexpr uint32_t kMostMessageDepth = 128;

enum WireType : uint32_t { kVarintType = 0, kFixed64Type = 1, kBytesType = 2, kFixed32Type = 5 };

constexpr WireType WireTypeOf(Encoding encoding) {
  switch (encoding) {
    case Encoding::kVarint: return kVarintType;
    case Encoding::kFixed64: return kFixed64Type;
    case Encoding::kFixed32: return kFixed32Type;
    case Encoding::kMessage:
    case Encoding::kText:
    case Encoding::kWeights: return kBytesType;
  }
  return kBytesType;
}

// Fields of a node that are not among those of wire_schema.cpp.
constexpr uint64_t kNodeText = 6, kNodeProperty = 9;
static_assert(kLongestSource < 0x80, "its length is a varint of one byte");

class Condenser {
 public:
  enum class Unknown : bool { kSkip, kRefuse };  // fields
  Condenser(std::span<const uint8_t> bytes, const Budgets& budgets, Unknown unknown)
      : bytes_(bytes), budgets_(budgets), refuses_unknown_(unknown == Unknown::kRefuse) {}

  Result<std::string> Run(Message root) {
    DEPUTY_RETURN_IF_ERROR(Walk(root, bytes_.size(), 0, 0));
    if (copy_.size() > INT_MAX)
      return Error(StatusCode::kResourceExhausted, "exceeds the protobuf limit of 2 GiB even without weights");
    return std::move(copy_);
  }

 private:
  Status Damaged(const char* subject) const {
    return Error(StatusCode::kModel, "is not a valid ONNX file: {} at byte {}", subject, at_);
  }

  std::optional<uint64_t> Varint(size_t end) {
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 70 && at_ < end; shift += 7) {
      const uint8_t byte = bytes_[at_++];
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  void CopyFrom(size_t begin) { copy_.append(reinterpret_cast<const char*>(bytes_.data()) + begin, at_ - begin); }

  // A length that is known only afterwards: always five bytes.
  size_t BeginLength() {
    copy_.append(5, '\0');
    return copy_.size();
  }
  void EndLength(size_t begin) {
    size_t length = copy_.size() - begin;
    for (size_t i = 5; i > 0; --i, length >>= 7)
      copy_[begin - i] = static_cast<char>((length & 0x7f) | (i > 1 ? 0x80 : 0));
  }

  Status Spend(uint64_t& used, uint64_t budget, const char* subject) {
    if (++used <= budget) return {};
    return Error(StatusCode::kResourceExhausted, "has more than {} {}", budget, subject);
  }

  Status SpendMessage(Message message, uint32_t graph_depth) {
    if (message == Message::kNode) return Spend(nodes_, budgets_.nodes, "nodes");
    if (message == Message::kTensor) return Spend(tensors_, budgets_.tensors, "tensors");
    if (message == Message::kGraph && graph_depth > budgets_.graph_depth)
      return Error(StatusCode::kResourceExhausted, "graphs are nested deeper than {} at node '{}'",
                   budgets_.graph_depth, Printable(node_name_));
    return Spend(messages_, budgets_.messages, "attributes, values and dimensions");
  }

  // One message: the bytes from at_ to `end`.
  Status Walk(Message message, size_t end, uint32_t depth, uint32_t graph_depth) {
    if (depth > kMostMessageDepth) return Damaged("messages are nested too deeply");
    if (message == Message::kGraph) ++graph_depth;
    DEPUTY_RETURN_IF_ERROR(SpendMessage(message, graph_depth));
    const std::span<const Field> fields = FieldsOf(message);
    uint32_t seen = 0;
    while (at_ < end) {
      const size_t begin = at_;
      const std::optional<uint64_t> tag = Varint(end);
      if (!tag || *tag >> 3 == 0 || *tag >> 3 > 0x1fffffff) return Damaged("invalid field number");
      const auto wire_type = static_cast<uint32_t>(*tag & 7);
      const auto field =
          std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.number == *tag >> 3; });
      if (field == fields.end()) {
        DEPUTY_RETURN_IF_ERROR(SkipField(message, *tag >> 3, wire_type, end));
        continue;
      }
      if (!field->repeated && field->encoding == Encoding::kMessage) {
        const uint32_t bit = 1u << (field - fields.begin());
        if ((seen & bit) != 0) return Damaged("a non-repeated field occurs twice");
        seen |= bit;
      }
      const bool packed = field->repeated && wire_type == kBytesType;
      if (wire_type != WireTypeOf(field->encoding) && !packed) return Damaged("a field has the wrong wire type");
      if (field->encoding != Encoding::kMessage && field->encoding != Encoding::kWeights) {
        DEPUTY_RETURN_IF_ERROR(Skip(wire_type, end));
        CopyFrom(begin);
        if (field->encoding != Encoding::kText) continue;
        if (field->repeated) DEPUTY_RETURN_IF_ERROR(Spend(strings_, budgets_.strings, "strings"));
        if (message == Message::kNode && field->number == 3) node_name_ = Payload(begin);
        continue;
      }
      DEPUTY_ASSIGN_OR_RETURN(const size_t length, Length(end));
      copy_.append(1, static_cast<char>(*tag & 0xff));
      if (*tag >= 0x80) {  // field numbers of two bytes; there are no longer ones
        copy_.back() = static_cast<char>(*tag | 0x80);
        copy_.append(1, static_cast<char>(*tag >> 7));
      }
      if (field->encoding == Encoding::kWeights) {
        const WeightReference reference{at_, length};
        copy_.append(1, static_cast<char>(sizeof(reference)));
        copy_.append(reinterpret_cast<const char*>(&reference), sizeof(reference));
        at_ += length;
        continue;
      }
      const size_t inner = BeginLength();
      DEPUTY_RETURN_IF_ERROR(Walk(field->message, at_ + length, depth + 1, graph_depth));
      EndLength(inner);
    }
    return {};
  }

  Result<size_t> Length(size_t end) {
    const std::optional<uint64_t> length = Varint(end);
    if (!length || *length > end - at_)
      return Error(StatusCode::kModel, "unexpected end of file at byte {}; the file is probably truncated", at_);
    return static_cast<size_t>(*length);
  }

  Status Skip(uint32_t wire_type, size_t end) {
    size_t length = 0;
    switch (wire_type) {
      case kVarintType: return Varint(end) ? Status() : Damaged("unterminated varint");
      case kFixed64Type: length = 8; break;
      case kFixed32Type: length = 4; break;
      case kBytesType: {
        DEPUTY_ASSIGN_OR_RETURN(length, Length(end));
        break;
      }
      default: return Damaged("unknown wire type");  // groups too: ONNX has none
    }
    if (length > end - at_) return Damaged("the file is truncated");
    at_ += length;
    return {};
  }

  // A field that is not read. Of a node's documentation and metadata the line of the program is kept.
  Status SkipField(Message message, uint64_t number, uint32_t wire_type, size_t end) {
    if (refuses_unknown_ && !IsIgnored(message, number))
      return Error(StatusCode::kNotSupported, "field {} of {} is not known{}", number, NameOf(message),
                   node_name_.empty() ? std::string() : " (at node '" + Printable(node_name_) + "')");
    if (message != Message::kNode) return Skip(wire_type, end);
    const size_t begin = at_;
    DEPUTY_RETURN_IF_ERROR(Skip(wire_type, end));
    if (wire_type != kBytesType || (number != kNodeText && number != kNodeProperty)) return {};
    std::string_view text = LastBytes(begin);
    if (number == kNodeProperty) text = StackTraceOf(text);
    const std::string source = SourceOf(text);
    if (source.empty()) return {};
    copy_ += static_cast<char>(kNodeText << 3 | kBytesType);
    copy_ += static_cast<char>(source.size());
    copy_ += source;
    return {};
  }

  // The text of the field that begins at `begin`, with its tag, and ends here.
  std::string_view Payload(size_t begin) {
    const size_t end = at_;
    at_ = begin;
    (void)Varint(end);
    begin = at_;
    at_ = end;
    return LastBytes(begin);
  }

  // The same behind the tag, where the length begins.
  std::string_view LastBytes(size_t begin) {
    const size_t end = at_;
    at_ = begin;
    const std::optional<uint64_t> length = Varint(end);
    at_ = end;
    return {reinterpret_cast<const char*>(bytes_.data()) + (end - *length), static_cast<size_t>(*length)};
  }

  const std::span<const uint8_t> bytes_;
  const Budgets& budgets_;
  const bool refuses_unknown_;
  size_t at_ = 0;
  std::string copy_;
  std::string_view node_name_;  // the last one read
  uint64_t nodes_ = 0, tensors_ = 0, messages_ = 0, strings_ = 0;
};

}  // namespace

Result<std::string> Condense(std::span<const uint8_t> bytes, Message root, const Budgets& budgets) {
  if (bytes.size() > INT_MAX)
    return Error(StatusCode::kResourceExhausted, "has {} bytes, but ONNX files are limited to 2 GiB", bytes.size())
        .Advise("keep the weights as external data");
  return Condenser(bytes, budgets, Condenser::Unknown::kSkip).Run(root);
}

Status CheckFieldsKnown(std::span<const uint8_t> bytes, Message root) {
  return Condenser(bytes, {}, Condenser::Unknown::kRefuse).Run(root).status();
}

}  // namespace deputy::host::onnx_import
