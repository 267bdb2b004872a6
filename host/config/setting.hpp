// The building blocks of Config: a value with its origin, a list of values, a value under a name that the writer chose.
// Comparison ignores origins: two configurations are equal when they mean the same, wherever they were written.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "config/origin.hpp"

namespace deputy::host {

template <class T>
struct Setting {
  T value{};
  Origin origin{};

  const T& operator*() const { return value; }
  const T* operator->() const { return &value; }
  friend bool operator==(const Setting& a, const Setting& b) { return a.value == b.value; }
};

template <class T>
struct List {
  std::vector<T> items{};
  Origin origin{};  // of the list; an empty one has no other

  auto begin() const { return items.begin(); }
  auto end() const { return items.end(); }
  size_t size() const { return items.size(); }
  bool empty() const { return items.empty(); }
  const T& operator[](size_t index) const { return items[index]; }
  friend bool operator==(const List& a, const List& b) { return a.items == b.items; }
};

template <class T>
struct Named {
  std::string name;
  Setting<T> setting;

  const T& operator*() const { return setting.value; }
  const T* operator->() const { return &setting.value; }
  const Origin& origin() const { return setting.origin; }
  friend bool operator==(const Named& a, const Named& b) { return a.name == b.name && a.setting == b.setting; }
};

}  // namespace deputy::host
