// A graph as a plugin may be shown it, valid or not: what no importer lets through as well. Written as lines of text:
//
//   value NAME DTYPE DIMS input|inner|output
//   value NAME DTYPE DIMS constant [bytes=N|null] [NUMBER...]   the numbers repeat; without any, small ones
//   node OP[@DOMAIN] VERSION INPUTS OUTPUTS                     names with commas, - where one is left out
//   int|ints|float|floats|string NAME [WORD...]                 an attribute of the node before
//
// DTYPE is the ABI's number; DIMS are numbers with commas, . for a scalar, ? for an unknown rank.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fuzz/bytes.hpp"
#include "fuzz/random.hpp"

namespace deputy::fuzz {

struct PluginGraph {
  static constexpr size_t kNone = static_cast<size_t>(-1);  // in place of a value: left out

  enum class Role { kInput, kConstant, kInner, kOutput };
  struct Value {
    std::string name;
    int32_t dtype = 1;
    bool ranked = true;
    std::vector<int64_t> dims;
    Role role = Role::kInner;
    bool null = false;              // a constant without a pointer
    std::optional<uint64_t> bytes;  // of a constant; none: as many as its extents need
    std::vector<double> numbers;
  };
  enum class Kind { kInt, kInts, kFloat, kFloats, kString };
  struct Attribute {
    std::string name;
    Kind kind = Kind::kInt;
    std::vector<int64_t> ints;
    std::vector<float> floats;
    std::string text;
  };
  struct Node {
    std::string op, domain;
    int32_t version = 1;
    std::vector<size_t> inputs, outputs;  // values, or kNone
    std::vector<Attribute> attributes;
  };

  std::vector<Value> values;
  std::vector<Node> nodes;
};

// Lines that mean nothing are left out.
PluginGraph ReadPluginGraph(std::span<const uint8_t> text);
Bytes WritePluginGraph(const PluginGraph& graph);

// One change: of an attribute, a value's type, extents or elements, a node's operands, or one that keeps a valid graph
// valid.
void ChangePluginGraph(PluginGraph& graph, Random& random);

}  // namespace deputy::fuzz
