#include "capi/field_writer.hpp"

#include <memory>

namespace deputy::host::capi {

void Write(const std::string& text, DeputyField& field) {
  field.kind = kDeputyText;
  field.text = text;
}

void Write(const Tensor& tensor, DeputyField& field) {
  if (tensor.empty()) return;
  field.kind = kDeputyArray;
  field.tensor = std::make_unique<const Tensor>(tensor);
}

void WriteInteger(int64_t integer, bool is_unsigned, DeputyField& field) {
  field.kind = kDeputyInteger;
  field.integer = integer;
  field.is_unsigned = is_unsigned;
}

void WriteNumber(double number, DeputyField& field) {
  field.kind = kDeputyNumber;
  field.number = number;
}

void WriteBool(bool value, DeputyField& field) {
  field.kind = kDeputyBool;
  field.integer = value ? 1 : 0;
}

DeputyField& AddItem(DeputyField& field, const std::string& name) {
  DeputyField& item = field.items.emplace_back();
  item.name = name;
  return item;
}

void Write(const std::vector<std::pair<std::string, AttributeValue>>& attributes, DeputyField& field) {
  static constexpr const char* kTypes[] = {"int", "float", "text", "ints", "floats", "texts", "tensor"};
  field.kind = kDeputyList;
  for (const auto& [name, value] : attributes) {
    DeputyField& item = field.items.emplace_back();
    item.kind = kDeputyMap;
    Write(name, AddItem(item, "name"));
    Write(std::string(kTypes[value.index()]), AddItem(item, "type"));
    std::visit([&item](const auto& held) { Write(held, AddItem(item, "value")); }, value);
  }
}

}  // namespace deputy::host::capi
