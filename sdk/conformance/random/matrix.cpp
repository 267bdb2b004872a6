// Products of matrices, with each way to broadcast their batches.
#include <algorithm>

#include "random/families.hpp"

namespace deputy::conformance {
namespace {

// Two shapes that have a product: matrices, stacks of them that broadcast, lists at either side.
std::pair<Dims, Dims> Factors(Draft& d, bool lists) {
  const bool large = d.Once(10);
  const auto extent = [&] { return d.Once(30) ? 0 : d.Between(1, large ? 40 : 6); };
  const int64_t rows = extent(), depth = extent(), columns = extent();
  if (lists && d.Once(8)) return {{depth}, {depth}};
  const Dims batch = large ? Dims{} : d.Shape(0, 5);
  Dims first = batch, second = batch;
  if (!batch.empty()) {
    first = d.BroadcastableTo(batch);
    second = d.BroadcastableTo(batch);
  }
  const bool first_is_list = lists && d.Once(8), second_is_list = lists && !first_is_list && d.Once(8);
  first.insert(first.end(), {rows, depth});
  second.insert(second.end(), {depth, columns});
  return {first_is_list ? Dims{depth} : first, second_is_list ? Dims{depth} : second};
}

void WriteMatMul(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const auto [first, second] = Factors(d, true);
  d.In(d.Values(dtype, first)).In(d.Values(dtype, second));
}

void WriteGemm(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const auto extent = [&] { return d.Once(10) ? d.Between(0, 40) : d.Between(1, 8); };
  const int64_t rows = extent(), depth = extent(), columns = extent();
  const bool turn_first = d.Half(), turn_second = d.Half();
  d.In(d.Values(dtype, turn_first ? Dims{depth, rows} : Dims{rows, depth}));
  d.In(d.Values(dtype, turn_second ? Dims{columns, depth} : Dims{depth, columns}));
  if (turn_first) d.Set("transA", Int(1));
  if (turn_second) d.Set("transB", Int(1));
  if (d.since() < 11 || d.Half()) {
    const Dims c = d.since() < 7 && d.Half() ? Dims{rows, columns} : d.BroadcastableTo({rows, columns});
    d.In(d.Values(dtype, c));
    if (d.since() < 7 && c != Dims{rows, columns}) d.Set("broadcast", Int(1));
  }
  // Parts of one are undefined in the integer types.
  if (reference::IsReal(dtype))
    d.Maybe("alpha", Number(d, -2, 2)).Maybe("beta", Number(d, -2, 2));
  else
    d.Maybe("alpha", Number(d, 2, 2)).Maybe("beta", Float(3));
}

// Terms over a few letters; the output names some of them.
void WriteEinsum(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const std::string letters = d.Half() ? "ijkl" : "bZaC";
  const auto extent = [&] { return d.Once(30) ? 0 : d.Between(1, 4); };
  const Dims extents = {extent(), extent(), extent(), extent()};
  const bool dots = d.Once(3);
  const Dims batch = dots ? d.FullShape(0, 2) : Dims{};
  const int64_t count = d.Between(1, 3);
  std::string equation, used;
  for (int64_t i = 0; i < count; ++i) {
    Dims dims;
    std::string term;
    if (dots && (i == 0 || d.Half())) {
      dims = d.BroadcastableTo(batch);
      for (int64_t& one : dims) one = std::min<int64_t>(one, 3);
      for (size_t k = 0; k < dims.size(); ++k)
        if (dims[k] != 1) dims[k] = std::min<int64_t>(batch[batch.size() - dims.size() + k], 3);
      term = "...";
    }
    const int64_t named = d.Between(term.empty() ? 1 : 0, 3);
    for (int64_t k = 0; k < named; ++k) {
      const auto letter = static_cast<size_t>(d.Next() % letters.size());
      term += letters[letter];
      dims.push_back(extents[letter]);
      if (used.find(letters[letter]) == std::string::npos) used += letters[letter];
    }
    d.In(d.Values(dtype, dims, -1, 1));
    equation += (i == 0 ? "" : ",") + term;
  }
  if (d.Half()) {
    std::string output = dots ? "..." : "";
    std::vector<char> order(used.begin(), used.end());
    d.Shuffle(order);
    for (const char letter : order)
      if (d.Half()) output += letter;
    equation += "->" + output;
  }
  d.Set("equation", Text(equation));
}

void WriteMatMulInteger(Draft& d) {
  const deputy_dtype first = d.Type(), second = d.Type();
  const auto [a, b] = Factors(d, false);
  d.In(Bytes(d, first, a)).In(Bytes(d, second, b));
  const int64_t given = d.Between(0, 2);
  if (given == 1) d.In(ZeroPoint(d, first, {}));
  if (given == 2) {
    const bool one = d.Half();
    if (d.Half())
      d.In(ZeroPoint(d, first, {}));
    else
      d.None();
    d.In(ZeroPoint(d, second, one ? Dims{} : Dims{b.back()}));
  }
}

void WriteQLinearMatMul(Draft& d) {
  const deputy_dtype first = d.Type(), second = d.Type(), to = d.Type();
  const deputy_dtype scale = d.since() >= 21 ? d.Pick<deputy_dtype>({kF32, kF32, kF16, kBF16}) : kF32;
  const auto [a, b] = Factors(d, false);
  d.In(Bytes(d, first, a)).In(Scale(d, scale, {})).In(ZeroPoint(d, first, {}));
  const Dims columns = d.Half() ? Dims{} : Dims{b.back()};
  d.In(Bytes(d, second, b)).In(Scale(d, scale, columns)).In(ZeroPoint(d, second, columns));
  d.In(RealScalar(8, scale)).In(ZeroPoint(d, to, {}));
}

void WriteDet(Draft& d) {
  Dims dims = d.Shape(0, 3);
  const int64_t extent = d.Between(1, 5);
  dims.insert(dims.end(), 2, extent);
  d.In(d.Values(d.Type(), dims));
}

}  // namespace

DraftRows MatrixDrafts() {
  return {{"Det", WriteDet},
          {"Einsum", WriteEinsum},
          {"Gemm", WriteGemm},
          {"MatMul", WriteMatMul},
          {"MatMulInteger", WriteMatMulInteger},
          {"QLinearMatMul", WriteQLinearMatMul}};
}

}  // namespace deputy::conformance
