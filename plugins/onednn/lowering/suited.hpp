// The choice of an operand's layout where the primitive does not choose it.
#pragma once

#include <vector>

#include "lowering/post_ops.hpp"

namespace onednn {

// The operand in the first of these layouts for which oneDNN has an optimized implementation; in the first layout if
// there is none.
template <class Describe>
Slot Suited(Lowering& lowering, Value value, const std::vector<memory::desc>& layouts, const Describe& describe) {
  for (const memory::desc& desc : layouts) {
    try {
      if (!IsReference(describe(desc, OwnScratchpad()).impl_info_str())) return lowering.As(value, desc);
    } catch (const dnnl::error&) {  // then in another one
    }
  }
  return lowering.As(value, layouts.front());
}

// As it is, row-major, with channels last.
template <class Describe>
Slot Suited(Lowering& lowering, Value value, const Describe& describe) {
  const memory::desc native = lowering.Dense(value).desc;
  return Suited(lowering, value, {native, Plain(native.dims()), ChannelsLast(native.dims())}, describe);
}

// For row-major tensors, which oneDNN processes channel by channel, other kernels are faster.
inline void NoteRowMajor(Lowering& lowering, Value value) {
  if (IsPlain(lowering.Native(value).desc)) lowering.NoteSlow();
}

}  // namespace onednn
