// Class labels that are texts in the model: strings are no values of a run, so that a classifier makes their numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"

namespace deputy::host::onnx_import {

// Appends a note for each output of the graph that has such numbers. kNotSupported for a node that would compute with
// them, or with values that repeat them.
Status NoteTextLabels(const Graph& graph, std::vector<std::string>& notes);

// "0: 'setosa', 1: 'virginica'", with the first of many.
std::string Numbered(const std::vector<std::string>& texts);
std::string QuotedLabel(std::string_view label);

}  // namespace deputy::host::onnx_import
