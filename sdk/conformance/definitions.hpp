// An operator in the SDK's list: its definitions and their element types, so that cases cover each type and have the
// definition number that a host shows to a plugin.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reference/node.hpp"

namespace deputy::conformance {

struct Definition {
  int32_t since = 0;
  bool changed = false;  // differs in semantics from the one before it
  std::vector<deputy_dtype> types;
};

struct AttributeFact {
  std::string_view name;
  int32_t since = 0, until = 0;
};

struct OperatorFacts {
  std::string_view name, domain;        // the name is that of the list: Node::name
  std::vector<Definition> definitions;  // oldest first
  std::vector<AttributeFact> attributes;
  std::vector<std::string> inputs;  // names of the newest definition's; "..." for any number more
  size_t least_inputs = 0, most_inputs = 0, most_outputs = 0;
};

// NULL for an operator that is not on the list.
const OperatorFacts* FactsOf(std::string_view name);
const std::vector<OperatorFacts>& AllOperators();

// The newest definition of any operator of the domain; 0 for a domain that is not on the list.
int32_t NewestDefinition(std::string_view domain);

// Element types of the newest definition, without strings.
std::vector<deputy_dtype> TypesOf(std::string_view name);

// An old definition with the same semantics for a node of the newest one; `inputs` as in Case. May be newer than
// necessary.
int32_t OldestDefinition(const reference::Node& node, const reference::Inputs& inputs);

// What the node has that its definition does not: an attribute of another one, an input that was an attribute then, too
// many operands, a definition number that there is not. "" for a node as it may be in a model.
std::string NotInDefinition(const reference::Node& node, const reference::Inputs& inputs);

}  // namespace deputy::conformance
