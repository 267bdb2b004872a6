// Attributes of a node by name, read in place from its primitive. A reader returns its `fallback` if the node does not
// have the attribute, or has it with another kind.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "deputy/sdk/dtype.hpp"
#include "deputy/sdk/schema.hpp"
#include "deputy/sdk/span.hpp"

namespace deputy::sdk {

// A small dense tensor inside an attribute; its bytes live as long as the model.
struct TensorAttribute {
  DType dtype = DType::kUndefined;  // kUndefined: there is no tensor
  std::vector<int64_t> dims;
  Span<const uint8_t> bytes;
  bool exists() const { return dtype != DType::kUndefined; }
};

// A scan: nodes have a handful of attributes, and LookupByKey makes g++ warn in sanitizer builds.
inline const schema::Attribute* FindAttribute(const schema::Primitive* primitive, std::string_view name) {
  if (primitive == nullptr || primitive->attributes() == nullptr) return nullptr;
  for (const schema::Attribute* attribute : *primitive->attributes()) {
    const flatbuffers::String* text = attribute->name();
    if (text != nullptr && std::string_view(text->c_str(), text->size()) == name) return attribute;
  }
  return nullptr;
}

inline const schema::Attribute* FindAttribute(const schema::Primitive* primitive, std::string_view name,
                                              schema::AttributeType type) {
  const schema::Attribute* found = FindAttribute(primitive, name);
  return found != nullptr && found->type() == type ? found : nullptr;
}

// Empty for null. Element by element: libstdc++'s debug mode asks more of iterators than FlatBuffers' have.
template <class T>
std::vector<T> ToVector(const flatbuffers::Vector<T>* elements) {
  std::vector<T> values;
  if (elements == nullptr) return values;
  values.reserve(elements->size());
  for (const T element : *elements) values.push_back(element);
  return values;
}

inline bool HasAttribute(const schema::Primitive* primitive, const char* name) {
  return FindAttribute(primitive, name) != nullptr;
}

inline int64_t ReadInt(const schema::Primitive* primitive, const char* name, int64_t fallback) {
  const schema::Attribute* found = FindAttribute(primitive, name, schema::AttributeType_Int);
  return found == nullptr ? fallback : found->i();
}

inline float ReadFloat(const schema::Primitive* primitive, const char* name, float fallback) {
  const schema::Attribute* found = FindAttribute(primitive, name, schema::AttributeType_Float);
  return found == nullptr ? fallback : found->f();
}

inline std::string_view ReadString(const schema::Primitive* primitive, const char* name, std::string_view fallback) {
  const schema::Attribute* found = FindAttribute(primitive, name, schema::AttributeType_String);
  if (found == nullptr) return fallback;
  return found->s() == nullptr ? std::string_view() : std::string_view(found->s()->c_str(), found->s()->size());
}

inline std::vector<int64_t> ReadInts(const schema::Primitive* primitive, const char* name,
                                     std::vector<int64_t> fallback) {
  const schema::Attribute* found = FindAttribute(primitive, name, schema::AttributeType_Ints);
  if (found == nullptr) return fallback;
  return ToVector(found->ints());
}

inline std::vector<float> ReadFloats(const schema::Primitive* primitive, const char* name,
                                     std::vector<float> fallback) {
  const schema::Attribute* found = FindAttribute(primitive, name, schema::AttributeType_Floats);
  if (found == nullptr) return fallback;
  return ToVector(found->floats());
}

inline std::vector<std::string_view> ReadStrings(const schema::Primitive* primitive, const char* name,
                                                 std::vector<std::string_view> fallback) {
  const schema::Attribute* found = FindAttribute(primitive, name, schema::AttributeType_Strings);
  if (found == nullptr) return fallback;
  std::vector<std::string_view> values;
  if (found->strings() == nullptr) return values;
  for (const schema::Text* text : *found->strings()) {
    const flatbuffers::String* value = text->value();
    values.push_back(value == nullptr ? std::string_view() : std::string_view(value->c_str(), value->size()));
  }
  return values;
}

inline TensorAttribute ReadTensor(const schema::Primitive* primitive, const char* name) {
  const schema::Attribute* found = FindAttribute(primitive, name, schema::AttributeType_Tensor);
  TensorAttribute read;
  if (found == nullptr || found->tensor() == nullptr) return read;
  read.dtype = static_cast<DType>(found->tensor()->dtype());
  read.dims = ToVector(found->tensor()->dims());
  if (const auto* data = found->tensor()->data()) read.bytes = Span<const uint8_t>(data->data(), data->size());
  return read;
}

}  // namespace deputy::sdk
