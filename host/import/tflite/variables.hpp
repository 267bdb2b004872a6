// The variables of a model: resource variables, named by VAR_HANDLE, and variable tensors, which belong to one
// operator. Their values are kept between runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "deputy/tensor.hpp"

namespace deputy::host::tflite_import {

using VariableId = size_t;

struct Variable {
  std::string name;
  Tensor initial;  // before the first run; empty: not assigned by then
};

// [one-thread]
class Variables {
 public:
  // The same variable for the same names in any place.
  VariableId Resource(const std::string& container, const std::string& name) {
    return Find(resources_, {container, name}, name);
  }
  // A tensor of a subgraph that is marked as variable.
  VariableId OfTensor(uint32_t subgraph, int32_t tensor, const std::string& name) {
    return Find(tensors_, {subgraph, tensor}, name);
  }

  Variable& operator[](VariableId id) { return list_[id]; }

 private:
  template <class Map>
  VariableId Find(Map& map, const typename Map::key_type& key, const std::string& name) {
    const auto [found, added] = map.try_emplace(key, list_.size());
    if (added) list_.push_back({name, Tensor()});
    return found->second;
  }

  std::vector<Variable> list_;
  std::map<std::pair<std::string, std::string>, VariableId> resources_;
  std::map<std::pair<uint32_t, int32_t>, VariableId> tensors_;
};

}  // namespace deputy::host::tflite_import
