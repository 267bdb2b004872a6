#include "graph/primitive.hpp"

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "primitive_generated.h"

namespace deputy::host {
namespace {

std::string_view View(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : std::string_view(text->c_str(), text->size());
}

template <class T>
std::span<const T> Span(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? std::span<const T>() : std::span<const T>(vector->data(), vector->size());
}

// The FlatBuffers verifier checks bounds but neither the order of the keys nor the alignment of elements nor whether a
// tensor's bytes fit its shape.
Status CheckAttributes(const schema::Primitive& table) {
  if (table.attributes() == nullptr) return {};
  std::string_view previous;
  for (const schema::Attribute* attribute : *table.attributes()) {
    const std::string_view name = View(attribute->name());
    if (name.empty() || (!previous.empty() && name <= previous))
      return Error(StatusCode::kModel, "attributes of {} are not sorted by name", View(table.op_type()));
    previous = name;
    // FlatBuffers do not align a vector without elements, and it is never read.
    const auto aligned = [](const auto& vector) {
      return vector.size() == 0 || reinterpret_cast<uintptr_t>(vector.Data()) % 8 == 0;
    };
    if (attribute->ints() != nullptr && !aligned(*attribute->ints()))
      return Error(StatusCode::kModel, "attribute '{}' is not aligned", name);
    if (attribute->tensor() == nullptr) continue;
    const auto dtype = static_cast<DType>(attribute->tensor()->dtype());
    if (attribute->tensor()->dims() != nullptr && !aligned(*attribute->tensor()->dims()))
      return Error(StatusCode::kModel, "attribute '{}' is not aligned", name);
    Result<size_t> bytes = ByteSize(dtype, Span(attribute->tensor()->dims()));
    if (!bytes.ok()) return std::move(bytes).status();
    const auto* data = attribute->tensor()->data();
    if ((data == nullptr ? 0 : data->size()) != *bytes || (data != nullptr && !aligned(*data)))
      return Error(StatusCode::kModel, "the byte size of the tensor in attribute '{}' does not match its shape", name);
  }
  return {};
}

}  // namespace

Result<Primitive> Primitive::FromBytes(std::span<const uint8_t> bytes, std::shared_ptr<const void> keep) {
  // Each text of a list is a table, to which an offset of 4 bytes leads; the bound also counts tables that are shared.
  const auto most_tables = static_cast<flatbuffers::uoffset_t>(
      std::min<size_t>(std::max<size_t>(100'000, bytes.size() / sizeof(flatbuffers::uoffset_t)), UINT32_MAX));
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), /*max_depth=*/8, most_tables);
  if (reinterpret_cast<uintptr_t>(bytes.data()) % 8 != 0 || !schema::VerifyPrimitiveBuffer(verifier))
    return Error(StatusCode::kModel, "the serialized attributes of a node are corrupt");
  Primitive primitive;
  primitive.table_ = schema::GetPrimitive(bytes.data());
  DEPUTY_RETURN_IF_ERROR(CheckAttributes(*primitive.table_));
  primitive.kind_ = FindOperator(primitive.domain(), primitive.op_type());
  primitive.bytes_ = bytes;
  primitive.keep_ = std::move(keep);
  return primitive;
}

std::string_view Primitive::domain() const { return View(table_->domain()); }
std::string_view Primitive::op_type() const { return View(table_->op_type()); }
int32_t Primitive::since_version() const { return table_->since_version(); }

const schema::Attribute* Primitive::Find(std::string_view name) const {
  if (table_ == nullptr || table_->attributes() == nullptr) return nullptr;
  // Few attributes: a scan beats the binary search, and needs no NUL at the end of `name`.
  for (const schema::Attribute* attribute : *table_->attributes())
    if (View(attribute->name()) == name) return attribute;
  return nullptr;
}

bool Primitive::Has(std::string_view name) const { return Find(name) != nullptr; }

int64_t Primitive::GetInt(std::string_view name, int64_t fallback) const {
  const schema::Attribute* found = Find(name);
  return found != nullptr && found->type() == schema::AttributeType_Int ? found->i() : fallback;
}

float Primitive::GetFloat(std::string_view name, float fallback) const {
  const schema::Attribute* found = Find(name);
  return found != nullptr && found->type() == schema::AttributeType_Float ? found->f() : fallback;
}

std::string_view Primitive::GetString(std::string_view name, std::string_view fallback) const {
  const schema::Attribute* found = Find(name);
  return found != nullptr && found->type() == schema::AttributeType_String ? View(found->s()) : fallback;
}

std::span<const int64_t> Primitive::GetInts(std::string_view name) const {
  const schema::Attribute* found = Find(name);
  return found != nullptr ? Span(found->ints()) : std::span<const int64_t>();
}

std::span<const float> Primitive::GetFloats(std::string_view name) const {
  const schema::Attribute* found = Find(name);
  return found != nullptr ? Span(found->floats()) : std::span<const float>();
}

std::vector<std::string_view> Primitive::GetStrings(std::string_view name) const {
  std::vector<std::string_view> strings;
  const schema::Attribute* found = Find(name);
  if (found != nullptr && found->strings() != nullptr)
    for (const schema::Text* text : *found->strings()) strings.push_back(View(text->value()));
  return strings;
}

std::optional<Tensor> Primitive::GetTensor(std::string_view name) const {
  const schema::Attribute* found = Find(name);
  if (found == nullptr || found->tensor() == nullptr) return std::nullopt;
  const schema::TensorData& tensor = *found->tensor();
  const std::span<const int64_t> dims = Span(tensor.dims());
  const std::span<const uint8_t> data = Span(tensor.data());
  Result<Tensor> made = Tensor::Wrap(static_cast<DType>(tensor.dtype()), Shape(dims.begin(), dims.end()),
                                     const_cast<uint8_t*>(data.data()), data.size(), keep_);
  if (!made.ok()) return std::nullopt;
  return std::move(made).value();
}

std::vector<std::string_view> Primitive::AttributeNames() const {
  std::vector<std::string_view> names;
  if (table_ != nullptr && table_->attributes() != nullptr)
    for (const schema::Attribute* attribute : *table_->attributes()) names.push_back(View(attribute->name()));
  return names;
}

PrimitiveBuilder::PrimitiveBuilder(const Primitive& primitive)
    : PrimitiveBuilder(primitive.domain(), primitive.op_type(), primitive.since_version()) {
  if (primitive.table()->attributes() == nullptr) return;
  for (const schema::Attribute* attribute : *primitive.table()->attributes()) {
    const std::string_view name = View(attribute->name());
    switch (attribute->type()) {
      case schema::AttributeType_Int: Set(name, attribute->i()); break;
      case schema::AttributeType_Float: Set(name, attribute->f()); break;
      case schema::AttributeType_String: Set(name, std::string(View(attribute->s()))); break;
      case schema::AttributeType_Ints: {
        const std::span<const int64_t> ints = Span(attribute->ints());
        Set(name, std::vector<int64_t>(ints.begin(), ints.end()));
        break;
      }
      case schema::AttributeType_Floats: {
        const std::span<const float> floats = Span(attribute->floats());
        Set(name, std::vector<float>(floats.begin(), floats.end()));
        break;
      }
      case schema::AttributeType_Strings: {
        const std::vector<std::string_view> strings = primitive.GetStrings(name);
        Set(name, std::vector<std::string>(strings.begin(), strings.end()));
        break;
      }
      case schema::AttributeType_Tensor:
        if (std::optional<Tensor> tensor = primitive.GetTensor(name)) Set(name, *tensor);
        break;
      case schema::AttributeType_None: break;
    }
  }
}

PrimitiveBuilder& PrimitiveBuilder::Set(std::string_view name, Attribute value) {
  attributes_.insert_or_assign(std::string(name), std::move(value));
  return *this;
}

PrimitiveBuilder& PrimitiveBuilder::Remove(std::string_view name) {
  const auto found = attributes_.find(name);
  if (found != attributes_.end()) attributes_.erase(found);
  return *this;
}

PrimitiveBuilder& PrimitiveBuilder::SetVersion(int32_t since_version) {
  since_version_ = since_version;
  return *this;
}

namespace {

// Makes the FlatBuffer table of one attribute; one overload per kind of value.
class AttributeWriter {
 public:
  AttributeWriter(flatbuffers::FlatBufferBuilder& builder, std::string_view name)
      : builder_(builder), name_(builder.CreateString(name.data(), name.size())) {}

  flatbuffers::Offset<schema::Attribute> operator()(int64_t value) {
    return schema::CreateAttribute(builder_, name_, schema::AttributeType_Int, value);
  }
  flatbuffers::Offset<schema::Attribute> operator()(float value) {
    return schema::CreateAttribute(builder_, name_, schema::AttributeType_Float, 0, value);
  }
  flatbuffers::Offset<schema::Attribute> operator()(const std::string& value) {
    const auto text = builder_.CreateString(value);
    return schema::CreateAttribute(builder_, name_, schema::AttributeType_String, 0, 0, text);
  }
  flatbuffers::Offset<schema::Attribute> operator()(const std::vector<int64_t>& value) {
    const auto ints = builder_.CreateVector(value);
    return schema::CreateAttribute(builder_, name_, schema::AttributeType_Ints, 0, 0, 0, ints);
  }
  flatbuffers::Offset<schema::Attribute> operator()(const std::vector<float>& value) {
    const auto floats = builder_.CreateVector(value);
    return schema::CreateAttribute(builder_, name_, schema::AttributeType_Floats, 0, 0, 0, 0, floats);
  }
  flatbuffers::Offset<schema::Attribute> operator()(const std::vector<std::string>& value) {
    // An ensemble of trees has a word for each of its nodes: equal ones are written once.
    std::vector<flatbuffers::Offset<schema::Text>> texts;
    std::unordered_map<std::string_view, flatbuffers::Offset<schema::Text>> written;
    for (const std::string& text : value) {
      const auto [found, added] = written.try_emplace(text);
      if (added) found->second = schema::CreateText(builder_, builder_.CreateString(text));
      texts.push_back(found->second);
    }
    const auto strings = builder_.CreateVector(texts);
    return schema::CreateAttribute(builder_, name_, schema::AttributeType_Strings, 0, 0, 0, 0, 0, strings);
  }
  flatbuffers::Offset<schema::Attribute> operator()(const Tensor& value) {
    const auto dims = builder_.CreateVector(value.shape());
    builder_.ForceVectorAlignment(value.byte_size(), 1, 8);
    const auto data = builder_.CreateVector(static_cast<const uint8_t*>(value.data()), value.byte_size());
    const auto tensor = schema::CreateTensorData(builder_, static_cast<int32_t>(value.dtype()), dims, data);
    return schema::CreateAttribute(builder_, name_, schema::AttributeType_Tensor, 0, 0, 0, 0, 0, 0, tensor);
  }

 private:
  flatbuffers::FlatBufferBuilder& builder_;
  flatbuffers::Offset<flatbuffers::String> name_;
};

}  // namespace

Primitive PrimitiveBuilder::Finish() const {
  flatbuffers::FlatBufferBuilder builder(256);
  std::vector<flatbuffers::Offset<schema::Attribute>> attributes;
  for (const auto& [name, value] : attributes_) attributes.push_back(std::visit(AttributeWriter(builder, name), value));
  const auto list = attributes.empty() ? 0 : builder.CreateVector(attributes);
  const auto domain = builder.CreateString(domain_);
  const auto op_type = builder.CreateString(op_type_);
  schema::FinishPrimitiveBuffer(builder, schema::CreatePrimitive(builder, domain, op_type, since_version_, list));
  // Copied into memory aligned to 8, which the builder's buffer guarantees only from its end.
  const size_t size = builder.GetSize();
  const std::shared_ptr<uint64_t[]> owned(new uint64_t[(size + 7) / 8]);
  std::memcpy(owned.get(), builder.GetBufferPointer(), size);
  Result<Primitive> made =
      Primitive::FromBytes({reinterpret_cast<const uint8_t*>(owned.get()), size}, std::shared_ptr<const void>(owned));
  return made.ok() ? std::move(made).value() : Primitive();
}

}  // namespace deputy::host
