// The check of a node against the definitions of its operator in the one list (sdk/schema/operators.inc): what a plugin
// is shown has passed it. Types and extents that are not known yet break no rule.
#pragma once

#include <optional>
#include <span>

#include "base/status.hpp"
#include "graph/graph.hpp"

namespace deputy::host {

// Attributes: their kinds, those that are required, the lengths of lists by the ranks of the inputs, ranges, words. One
// type per input of the node, without an element type where the input is omitted. Errors are kModel and name the
// attribute and the rule; callers add the place. An operator that is not listed has no rules. [any-thread]
Status CheckAttributes(const Primitive& primitive, std::span<const ValueType> inputs);

// Only those that are required: upgrading a node replaces a former attribute, and could not tell that it was missing.
// [any-thread]
Status CheckRequiredAttributes(const Primitive& primitive);

// The primitive without the attributes whose text is empty and which have a default: exporters write an empty text for
// it. Nothing where there is none. [any-thread]
std::optional<Primitive> WithoutEmptyWords(const Primitive& primitive);

// Element types: those that the definitions list, the same for all operands of one type variable. `outputs` may be
// fewer than the node has, so that inputs can be checked before outputs are inferred. [any-thread]
Status CheckElementTypes(const Primitive& primitive, std::span<const ValueType> inputs,
                         std::span<const ValueType> outputs);

}  // namespace deputy::host
