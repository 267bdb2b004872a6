// Einsum: the equation is read into one label per dimension; every output element is a sum over the labels that the
// output does not name.
#include <algorithm>

#include "reference/node.hpp"

namespace deputy::conformance::reference {
namespace {

// Dimensions under "..." get the labels '0', '1', ... counted from the last one, so that they align at the end.
std::string Spelled(const std::string& term, size_t under_dots) {
  std::string labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] != '.') {
      labels += term[i];
      continue;
    }
    for (size_t d = under_dots; d-- > 0;) labels += static_cast<char>('0' + d);
    i += 2;
  }
  return labels;
}

size_t LettersIn(const std::string& term) {
  return static_cast<size_t>(std::count_if(term.begin(), term.end(), [](char c) { return c != '.'; }));
}

struct Equation {
  std::vector<std::string> inputs;  // labels, one per dimension
  std::string output, summed;
  std::map<char, int64_t> extents;

  Dims ExtentsOf(const std::string& labels) const {
    Dims dims;
    for (const char label : labels) dims.push_back(extents.at(label));
    return dims;
  }
};

// Without "->" the output has the dots' dimensions, then, in alphabetical order, the labels that occur once.
std::string Implied(const std::vector<std::string>& terms) {
  std::map<char, int> times;
  std::string output;
  for (const std::string& term : terms) {
    if (term.find('.') != std::string::npos) output = "...";
    for (const char label : term)
      if (label != '.') ++times[label];
  }
  for (const auto& [label, count] : times)
    if (count == 1) output += label;
  return output;
}

Equation Read(std::string text, const Inputs& in) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t arrow = text.find("->");
  std::vector<std::string> terms(1);
  for (const char letter : text.substr(0, arrow))
    if (letter == ',')
      terms.emplace_back();
    else
      terms.back() += letter;
  const std::string output = arrow == std::string::npos ? Implied(terms) : text.substr(arrow + 2);
  Equation equation;
  size_t widest = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const size_t under_dots = in[i]->rank() - LettersIn(terms[i]);
    widest = std::max(widest, under_dots);
    equation.inputs.push_back(Spelled(terms[i], under_dots));
    for (size_t d = 0; d < in[i]->rank(); ++d) {
      int64_t& extent = equation.extents.emplace(equation.inputs[i][d], 1).first->second;
      if (in[i]->dims[d] != 1) extent = in[i]->dims[d];
    }
  }
  equation.output = Spelled(output, widest);
  for (const auto& label : equation.extents)
    if (equation.output.find(label.first) == std::string::npos) equation.summed += label.first;
  return equation;
}

std::vector<Tensor> Einsum(const Node& node, const Inputs& in) {
  const Equation equation = Read(node.String("equation", ""), in);
  const Dims dims = equation.ExtentsOf(equation.output), summed = equation.ExtentsOf(equation.summed);
  Tensor y(in[0]->dtype, dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    std::map<char, int64_t> at;
    const Dims index = IndexOf(dims, i);
    for (size_t d = 0; d < index.size(); ++d) at[equation.output[d]] = index[d];
    double real = 0;
    uint64_t whole = 0;
    for (int64_t s = 0; s < CountOf(summed); ++s) {
      const Dims inner = IndexOf(summed, s);
      for (size_t d = 0; d < inner.size(); ++d) at[equation.summed[d]] = inner[d];
      double real_term = 1;
      uint64_t whole_term = 1;
      for (size_t operand = 0; operand < in.size(); ++operand) {
        Dims from;
        for (size_t d = 0; d < in[operand]->rank(); ++d)
          from.push_back(in[operand]->dims[d] == 1 ? 0 : at[equation.inputs[operand][d]]);
        const int64_t flat = Flat(in[operand]->dims, from);
        real_term *= in[operand]->Get(flat);
        if (!IsReal(y.dtype)) whole_term *= static_cast<uint64_t>(in[operand]->whole[static_cast<size_t>(flat)]);
      }
      real += real_term;
      whole += whole_term;
    }
    if (IsReal(y.dtype))
      y.Put(i, real);
    else
      y.Put(i, static_cast<int64_t>(whole));
  }
  return {y};
}

}  // namespace

KernelRows EinsumKernels() { return {{"Einsum", Einsum}}; }

}  // namespace deputy::conformance::reference
