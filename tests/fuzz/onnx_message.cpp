#include "fuzz/onnx_message.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "graph/operator.hpp"

namespace deputy::fuzz {
namespace {

using host::onnx_import::Encoding;
using host::onnx_import::Field;
using host::onnx_import::FieldsOf;
using host::onnx_import::Message;

constexpr uint8_t kVarint = 0, kFixed64 = 1, kChunk = 2, kFixed32 = 5;
constexpr size_t kMostDepth = 40;

std::optional<uint64_t> TakeVarint(std::span<const uint8_t>& bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size() && i < 10; ++i) {
    value |= uint64_t{bytes[i] & 0x7fu} << (7 * i);
    if (bytes[i] < 0x80) {
      bytes = bytes.subspan(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

void PutVarint(Bytes& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<uint8_t>(value | 0x80));
  bytes.push_back(static_cast<uint8_t>(value));
}

const Field* SchemaOf(Message message, uint32_t number) {
  if (message == Message::kCount) return nullptr;
  const std::span<const Field> known = FieldsOf(message);
  const auto found =
      std::find_if(known.begin(), known.end(), [&](const Field& field) { return field.number == number; });
  return found == known.end() ? nullptr : &*found;
}

std::optional<std::vector<WireField>> Parse(std::span<const uint8_t> bytes, Message message, size_t depth) {
  std::vector<WireField> fields;
  while (!bytes.empty()) {
    const std::optional<uint64_t> tag = TakeVarint(bytes);
    if (!tag || *tag >> 32 != 0) return std::nullopt;
    WireField field;
    field.number = static_cast<uint32_t>(*tag >> 3);
    field.wire_type = static_cast<uint8_t>(*tag & 7);
    const size_t fixed = field.wire_type == kFixed64 ? 8 : 4;
    if (field.wire_type == kVarint) {
      const std::optional<uint64_t> value = TakeVarint(bytes);
      if (!value) return std::nullopt;
      field.value = *value;
    } else if (field.wire_type == kFixed32 || field.wire_type == kFixed64) {
      if (bytes.size() < fixed) return std::nullopt;
      std::memcpy(&field.value, bytes.data(), fixed);
      bytes = bytes.subspan(fixed);
    } else if (field.wire_type == kChunk) {
      const std::optional<uint64_t> size = TakeVarint(bytes);
      if (!size || *size > bytes.size()) return std::nullopt;
      const std::span<const uint8_t> data = bytes.first(static_cast<size_t>(*size));
      bytes = bytes.subspan(data.size());
      const Field* schema = SchemaOf(message, field.number);
      std::optional<std::vector<WireField>> inner;
      if (schema != nullptr && schema->encoding == Encoding::kMessage && depth < kMostDepth)
        inner = Parse(data, schema->message, depth + 1);
      if (inner) {
        field.message = schema->message;
        field.fields = std::move(*inner);
      } else {
        field.data.assign(data.begin(), data.end());
      }
    } else {
      return std::nullopt;
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

void Write(const WireField& field, Bytes& out) {
  PutVarint(out, uint64_t{field.number} << 3 | field.wire_type);
  switch (field.wire_type) {
    case kVarint: PutVarint(out, field.value); break;
    case kFixed32:
    case kFixed64:
      for (size_t i = 0; i < (field.wire_type == kFixed64 ? 8u : 4u); ++i)
        out.push_back(static_cast<uint8_t>(field.value >> (8 * i)));
      break;
    default: {
      const Bytes inner = field.message == Message::kCount ? field.data : WriteFields(field.fields);
      PutVarint(out, inner.size());
      out.insert(out.end(), inner.begin(), inner.end());
    }
  }
  if (field.cut) out.pop_back();
}

// All messages of the tree: their kinds and fields; and all fields.
struct Listing {
  std::vector<std::pair<Message, std::vector<WireField>*>> messages;
  std::vector<WireField*> fields;

  void Add(Message message, std::vector<WireField>& of) {
    messages.emplace_back(message, &of);
    for (WireField& field : of) {
      fields.push_back(&field);
      if (field.message != Message::kCount) Add(field.message, field.fields);
    }
  }
};

constexpr uint32_t kNodeOperator = 4, kNodeAttribute = 5, kAttributeName = 1;

WireField* Find(std::vector<WireField>& fields, uint32_t number) {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const WireField& field) { return field.number == number; });
  return found == fields.end() ? nullptr : &*found;
}

// Another operator for a node, or a name that its operator has for one of the attributes.
void ChangeNode(std::vector<WireField>& node, Random& random) {
  WireField* op = Find(node, kNodeOperator);
  if (op == nullptr) return;
  const auto all = host::AllOperators();
  if (random.OneIn(2)) {
    op->data = BytesOf(random.Of(all).name);
    return;
  }
  const host::OperatorInfo* info = host::InfoOf(host::FindOperator("", TextOf(op->data)));
  if (info == nullptr || info->attributes.empty()) return;
  const Bytes name = BytesOf(random.Of(info->attributes).name);
  WireField* attribute = Find(node, kNodeAttribute);
  if (attribute == nullptr || attribute->message != Message::kAttribute) {
    WireField added{.number = kNodeAttribute, .wire_type = kChunk, .message = Message::kAttribute};
    added.fields.push_back({.number = kAttributeName, .wire_type = kChunk, .data = name});
    added.fields.push_back({.number = 3, .wire_type = kVarint, .value = random.Below(4)});
    added.fields.push_back({.number = 20, .wire_type = kVarint, .value = 2});
    node.push_back(std::move(added));
  } else if (WireField* old = Find(attribute->fields, kAttributeName); old != nullptr) {
    old->data = name;
  }
}

void AddField(Message message, std::vector<WireField>& fields, Random& random) {
  if (message == Message::kCount) return;
  const std::span<const Field> known = FieldsOf(message);
  const Field& schema = random.Of(known);
  WireField added{.number = schema.number};
  switch (schema.encoding) {
    case Encoding::kMessage:
      added.wire_type = kChunk;
      added.message = schema.message;
      break;
    case Encoding::kVarint: added.wire_type = kVarint; break;
    case Encoding::kFixed32: added.wire_type = kFixed32; break;
    case Encoding::kFixed64: added.wire_type = kFixed64; break;
    default: added.wire_type = kChunk;
  }
  added.value = ChangedNumber(random.Below(8), random);
  fields.insert(fields.begin() + static_cast<std::ptrdiff_t>(random.Below(fields.size() + 1)), std::move(added));
}

void ChangeValue(WireField& field, const Listing& all, Random& random) {
  if (field.wire_type != kChunk) {
    field.value =
        random.OneIn(3) ? all.fields[random.Below(all.fields.size())]->value : ChangedNumber(field.value, random);
    return;
  }
  if (field.message != Message::kCount) return;
  // The text of another field: a name leads elsewhere.
  const WireField& other = *all.fields[random.Below(all.fields.size())];
  if (!random.OneIn(3) && other.wire_type == kChunk && other.message == Message::kCount && other.data.size() < 64)
    field.data = Bytes(other.data);
  else
    ChangeBytes(field.data, random, field.data.size() + 64);
}

}  // namespace

std::optional<std::vector<WireField>> ParseFields(std::span<const uint8_t> bytes, Message message) {
  return Parse(bytes, message, 0);
}

Bytes WriteFields(const std::vector<WireField>& fields) {
  Bytes out;
  for (const WireField& field : fields) Write(field, out);
  return out;
}

void ChangeFields(std::vector<WireField>& fields, Message root, Random& random) {
  Listing all;
  all.Add(root, fields);
  if (all.fields.empty()) return AddField(root, fields, random);
  const auto& [message, chosen] = random.Of(all.messages);
  std::vector<WireField>& list = *chosen;
  const size_t at = random.Below(list.size());
  const auto place = list.begin() + static_cast<std::ptrdiff_t>(at);
  switch (random.Below(12)) {
    case 0:
      if (!list.empty()) list.erase(place);
      return;
    case 1:
      if (!list.empty() && list.size() < 4096) {
        WireField copy = *place;
        list.insert(place, std::move(copy));
      }
      return;
    case 2:
      if (!list.empty()) std::swap(*place, list[random.Below(list.size())]);
      return;
    case 3: return AddField(message, list, random);
    case 4: {  // the contents of another message of the kind; of a copy, since one may be within the other
      std::vector<std::vector<WireField>*> same;
      for (const auto& [kind, other] : all.messages)
        if (kind == message) same.push_back(other);
      std::vector<WireField> copy = *random.Of(same);
      list = std::move(copy);
      return;
    }
    case 5:
    case 6: {
      std::vector<std::vector<WireField>*> nodes;
      for (const auto& [kind, other] : all.messages)
        if (kind == Message::kNode) nodes.push_back(other);
      if (!nodes.empty()) ChangeNode(*random.Of(nodes), random);
      return;
    }
    case 7:
      if (!list.empty() && random.OneIn(8)) place->cut = true;
      return;
    default: return ChangeValue(*random.Of(all.fields), all, random);
  }
}

void MutateMessage(Bytes& input, Message root, Random& random, size_t limit) {
  std::optional<std::vector<WireField>> fields = ParseFields(input, root);
  if (!fields || random.OneIn(16)) return ChangeBytes(input, random, limit);
  ChangeFields(*fields, root, random);
  Bytes changed = WriteFields(*fields);
  if (changed.size() <= limit) input = std::move(changed);
}

}  // namespace deputy::fuzz
