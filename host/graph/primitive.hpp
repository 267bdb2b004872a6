// The computation of a node: operator, definition, attributes. The bytes are the FlatBuffer of
// sdk/schema/primitive.fbs, so that a plugin reads the same table as the host.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.hpp"
#include "deputy/tensor.hpp"
#include "graph/operator.hpp"

namespace deputy::schema {
struct Primitive;
struct Attribute;
}  // namespace deputy::schema

namespace deputy::host {

// Immutable; copies share the bytes. Attribute getters return the fallback when the attribute is absent or of another
// kind (the importer and FromBytes have refused wrong kinds of known attributes before). [any-thread]
class Primitive {
 public:
  Primitive() = default;

  // Verifies the buffer; `keep` owns the bytes.
  static Result<Primitive> FromBytes(std::span<const uint8_t> bytes, std::shared_ptr<const void> keep);

  OpKind kind() const { return kind_; }
  std::string_view domain() const;
  std::string_view op_type() const;
  int32_t since_version() const;
  std::span<const uint8_t> bytes() const { return bytes_; }

  bool Has(std::string_view name) const;
  int64_t GetInt(std::string_view name, int64_t fallback) const;
  float GetFloat(std::string_view name, float fallback) const;
  std::string_view GetString(std::string_view name, std::string_view fallback) const;
  // Empty when absent. Valid as long as any copy of this primitive lives.
  std::span<const int64_t> GetInts(std::string_view name) const;
  std::span<const float> GetFloats(std::string_view name) const;
  std::vector<std::string_view> GetStrings(std::string_view name) const;
  // Shares the primitive's bytes.
  std::optional<Tensor> GetTensor(std::string_view name) const;
  std::vector<std::string_view> AttributeNames() const;

  const schema::Primitive* table() const { return table_; }

 private:
  const schema::Attribute* Find(std::string_view name) const;

  OpKind kind_ = OpKind::kOther;
  const schema::Primitive* table_ = nullptr;
  std::span<const uint8_t> bytes_;
  std::shared_ptr<const void> keep_;
};

// Collects an operator's attributes and makes a Primitive of them. Setting a name again replaces its value.
class PrimitiveBuilder {
 public:
  PrimitiveBuilder(std::string_view domain, std::string_view op_type, int32_t since_version)
      : domain_(domain == "ai.onnx" ? "" : domain), op_type_(op_type), since_version_(since_version) {}
  // Starts from an existing primitive, with its attributes.
  explicit PrimitiveBuilder(const Primitive& primitive);

  using Attribute = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                                 std::vector<std::string>, Tensor>;
  PrimitiveBuilder& Set(std::string_view name, Attribute value);
  PrimitiveBuilder& Remove(std::string_view name);
  PrimitiveBuilder& SetVersion(int32_t since_version);
  Primitive Finish() const;

  const std::map<std::string, Attribute, std::less<>>& attributes() const { return attributes_; }

 private:
  std::string domain_, op_type_;
  int32_t since_version_;
  std::map<std::string, Attribute, std::less<>> attributes_;
};

}  // namespace deputy::host
