#include "graph/inference/einsum.hpp"

#include <algorithm>

#include "graph/inference/functions.hpp"

namespace deputy::host {
namespace {

constexpr size_t kMostEllipsisAxes = kEinsumLabels - kEinsumLetters;

// Upper case first, as in ASCII.
Result<int64_t> LetterOf(char letter, std::string_view equation) {
  if (letter >= 'A' && letter <= 'Z') return int64_t{letter - 'A'};
  if (letter >= 'a' && letter <= 'z') return int64_t{26 + letter - 'a'};
  return Error(StatusCode::kModel, "equation '{}' has the invalid character '{}'", equation, letter);
}

Result<EinsumTerm> ParseTerm(std::string_view text, std::string_view equation) {
  EinsumTerm term;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text[i] != '.') {
      DEPUTY_ASSIGN_OR_RETURN(const int64_t letter, LetterOf(text[i], equation));
      term.letters.push_back(letter);
      continue;
    }
    if (text.substr(i, 3) != "..." || term.ellipsis >= 0)
      return Error(StatusCode::kModel, "equation '{}' may have dots only as one '...' per term", equation);
    term.ellipsis = static_cast<int64_t>(term.letters.size());
    i += 2;
  }
  return term;
}

void AddLabels(const EinsumTerm& term, size_t before, size_t ellipsis, size_t first, SmallDims& labels) {
  for (size_t i = 0; i < before; ++i) labels.push_back(term.letters[i]);
  for (size_t i = 0; i < ellipsis; ++i) labels.push_back(static_cast<int64_t>(kEinsumLetters + first + i));
  for (size_t i = before; i < term.letters.size(); ++i) labels.push_back(term.letters[i]);
}

}  // namespace

Result<EinsumEquation> ParseEinsum(std::string_view equation) {
  EinsumEquation parsed;
  const size_t arrow = equation.find("->");
  std::string_view left = equation.substr(0, arrow);
  for (;;) {
    const size_t comma = left.find(',');
    DEPUTY_ASSIGN_OR_RETURN(EinsumTerm term, ParseTerm(left.substr(0, comma), equation));
    parsed.operands.push_back(std::move(term));
    if (comma == std::string_view::npos) break;
    left = left.substr(comma + 1);
  }
  std::array<int, kEinsumLetters> uses{};
  bool ellipsis = false;
  for (const EinsumTerm& term : parsed.operands) {
    for (const int64_t letter : term.letters) ++uses[static_cast<size_t>(letter)];
    ellipsis = ellipsis || term.ellipsis >= 0;
  }
  if (arrow != std::string_view::npos) {
    DEPUTY_ASSIGN_OR_RETURN(parsed.result, ParseTerm(equation.substr(arrow + 2), equation));
    LabelSet seen = 0;
    for (const int64_t letter : parsed.result.letters) {
      if (uses[static_cast<size_t>(letter)] == 0 || (seen & Label(letter)) != 0)
        return Error(StatusCode::kModel, "equation '{}': each output label must be distinct and appear in an input",
                     equation);
      seen |= Label(letter);
    }
    return parsed;
  }
  if (ellipsis) parsed.result.ellipsis = 0;
  for (size_t letter = 0; letter < kEinsumLetters; ++letter)
    if (uses[letter] == 1) parsed.result.letters.push_back(static_cast<int64_t>(letter));
  return parsed;
}

Result<EinsumLabels> LabelEinsum(const EinsumEquation& equation, std::span<const size_t> ranks) {
  if (ranks.size() != equation.operands.size())
    return Error(StatusCode::kModel, "the equation has {} operands, the node has {} inputs", equation.operands.size(),
                 ranks.size());
  if (ranks.size() > kEinsumOperands)
    return Error(StatusCode::kNotSupported, "an Einsum of {} operands is not supported, at most {} are", ranks.size(),
                 kEinsumOperands);
  EinsumLabels labels;
  size_t widest = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const EinsumTerm& term = equation.operands[i];
    const size_t letters = term.letters.size();
    if (ranks[i] < letters || (term.ellipsis < 0 && ranks[i] != letters))
      return Error(StatusCode::kModel, "operand {} has rank {}, but its equation term has {} labels", i, ranks[i],
                   letters);
    widest = std::max(widest, ranks[i] - letters);
  }
  if (widest > kMostEllipsisAxes)
    return Error(StatusCode::kNotSupported, "'...' covers {} axes, at most {} are supported", widest,
                 kMostEllipsisAxes);
  for (size_t i = 0; i < ranks.size(); ++i) {
    const EinsumTerm& term = equation.operands[i];
    const size_t ellipsis = ranks[i] - term.letters.size();  // aligned at the end
    AddLabels(term, static_cast<size_t>(std::max<int64_t>(term.ellipsis, 0)), ellipsis, widest - ellipsis,
              labels.operands[i]);
  }
  const size_t before = static_cast<size_t>(std::max<int64_t>(equation.result.ellipsis, 0));
  AddLabels(equation.result, before, equation.result.ellipsis < 0 ? 0 : widest, 0, labels.result);
  return labels;
}

Status InferEinsum(InferenceContext& context) {
  const DType dtype = context.input(0).dtype;
  DEPUTY_ASSIGN_OR_RETURN(const EinsumEquation equation, ParseEinsum(context.primitive().GetString("equation", "")));
  std::vector<size_t> ranks;
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (!context.has_input(i)) return Error(StatusCode::kModel, "input {} is missing", i);
    if (!context.input(i).ranked) return context.OutputUnranked(dtype);
    ranks.push_back(context.input(i).dims.size());
  }
  DEPUTY_ASSIGN_OR_RETURN(const EinsumLabels labels, LabelEinsum(equation, ranks));
  std::array<int64_t, kEinsumLabels> extents;
  extents.fill(1);
  for (size_t i = 0; i < ranks.size(); ++i)
    for (size_t axis = 0; axis < labels.operands[i].size(); ++axis) {
      int64_t& extent = extents[static_cast<size_t>(labels.operands[i][axis])];
      const int64_t own = context.input(i).dims[axis];
      if (extent >= 0 && own >= 0 && extent != own && extent != 1 && own != 1)
        return Error(StatusCode::kModel, "axes with the same label have different extents: {} and {}", extent, own);
      // A number over 1 wins: the unknown extent is that number, or 1 and broadcast.
      if (extent == 1 || own > 1 || (extent < 0 && own == 0)) extent = own;
    }
  std::vector<int64_t> dims;
  for (const int64_t label : labels.result) dims.push_back(extents[static_cast<size_t>(label)]);
  return context.Output(dtype, std::move(dims));
}

}  // namespace deputy::host
