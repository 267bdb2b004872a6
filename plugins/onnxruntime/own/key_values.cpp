#include "own/key_values.hpp"

#include <utility>

#include "own/tables.hpp"

namespace ort {

void KeyValuePairs::Add(std::string key, std::string value) {
  entries_.insert_or_assign(std::move(key), std::move(value));
  List();
}

void KeyValuePairs::Remove(std::string_view key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  entries_.erase(found);
  List();
}

const std::string* KeyValuePairs::Find(std::string_view key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second;
}

void KeyValuePairs::List() {
  keys_.clear();
  values_.clear();
  for (const auto& [key, value] : entries_) {
    keys_.push_back(key.c_str());
    values_.push_back(value.c_str());
  }
}

namespace own {
namespace {

void CreateKeyValuePairs(KeyValuePairs** out) { *out = new KeyValuePairs; }
void AddKeyValuePair(KeyValuePairs* pairs, const char* key, const char* value) {
  if (pairs != nullptr && key != nullptr && *key != '\0') pairs->Add(key, value == nullptr ? "" : value);
}
const char* GetKeyValue(const KeyValuePairs* pairs, const char* key) {
  if (pairs == nullptr || key == nullptr) return nullptr;
  const std::string* found = pairs->Find(key);
  return found == nullptr ? nullptr : found->c_str();
}
void GetKeyValuePairs(const KeyValuePairs* pairs, const char* const** keys, const char* const** values, size_t* count) {
  *keys = pairs == nullptr ? nullptr : pairs->keys().data();
  *values = pairs == nullptr ? nullptr : pairs->values().data();
  *count = pairs == nullptr ? 0 : pairs->keys().size();
}
void RemoveKeyValuePair(KeyValuePairs* pairs, const char* key) {
  if (pairs != nullptr && key != nullptr) pairs->Remove(key);
}
void ReleaseKeyValuePairs(KeyValuePairs* pairs) { delete pairs; }

}  // namespace

void SetKeyValueFunctions(Tables& tables) {
  tables.Set(Slot::CreateKeyValuePairs, CreateKeyValuePairs);
  tables.Set(Slot::AddKeyValuePair, AddKeyValuePair);
  tables.Set(Slot::GetKeyValue, GetKeyValue);
  tables.Set(Slot::GetKeyValuePairs, GetKeyValuePairs);
  tables.Set(Slot::RemoveKeyValuePair, RemoveKeyValuePair);
  tables.Set(Slot::ReleaseKeyValuePairs, ReleaseKeyValuePairs);
}

}  // namespace own
}  // namespace ort
