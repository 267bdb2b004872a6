#include "reference/broadcast.hpp"

#include <algorithm>

namespace deputy::conformance::reference {

Dims BroadcastDims(const Dims& a, const Dims& b) {
  Dims result(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < result.size(); ++i) {
    const size_t from_back = result.size() - i;
    const int64_t x = from_back <= a.size() ? a[a.size() - from_back] : 1;
    const int64_t y = from_back <= b.size() ? b[b.size() - from_back] : 1;
    result[i] = x == 1 ? y : x;
  }
  return result;
}

int64_t BroadcastFlat(const Dims& shape, const Dims& index) {
  int64_t flat = 0;
  const size_t skip = index.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) flat = flat * shape[i] + (shape[i] == 1 ? 0 : index[skip + i]);
  return flat;
}

}  // namespace deputy::conformance::reference
