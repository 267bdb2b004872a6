// Operators with another result each time: neither folded into constants nor merged with equal nodes.
#pragma once

#include "graph/operator.hpp"

namespace deputy::host {

constexpr bool DrawsNumbers(OpKind kind) {
  switch (kind) {
    case OpKind::kBernoulli:
    case OpKind::kMultinomial:
    case OpKind::kRandomNormal:
    case OpKind::kRandomNormalLike:
    case OpKind::kRandomUniform:
    case OpKind::kRandomUniformLike: return true;
    default: return false;
  }
}

}  // namespace deputy::host
