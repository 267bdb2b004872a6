// Pairs of texts, as EPs read and write them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/types.hpp"

namespace ort {

struct KeyValuePairs {
 public:
  // Replaces the value of a key that is there.
  void Add(std::string key, std::string value);
  void Remove(std::string_view key);
  // NULL: there is none.
  const std::string* Find(std::string_view key) const;

  const std::map<std::string, std::string, std::less<>>& entries() const { return entries_; }
  // One array of the keys and one of the values, in one order; valid until the next change.
  const std::vector<const char*>& keys() const { return keys_; }
  const std::vector<const char*>& values() const { return values_; }

  KeyValuePairs() = default;
  KeyValuePairs(const KeyValuePairs& other) : entries_(other.entries_) { List(); }
  KeyValuePairs& operator=(const KeyValuePairs& other) {
    entries_ = other.entries_;
    List();
    return *this;
  }

 private:
  void List();

  std::map<std::string, std::string, std::less<>> entries_;
  std::vector<const char*> keys_, values_;
};

}  // namespace ort
