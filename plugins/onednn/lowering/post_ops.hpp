// Puts the post-ops of an operation into its primitive, as many as the implementation takes; the rest follows as
// primitives of their own. A residual sum is computed in place where the other operand is not read later.
#pragma once

#include <algorithm>

#include "lowering/faults.hpp"
#include "lowering/lowering.hpp"

namespace onednn {

// The scratchpad of a primitive lies in the memory of its context.
inline dnnl::primitive_attr OwnScratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

// Dense slots of the same layout.
void EmitTanh(const Slot& source, const Slot& result, Lowering& lowering);

class PostOps {
 public:
  // `result`: the primitive's result in the primitive's own extents; layout `any` if the primitive chooses it. With
  // `rows` the primitive treats all dimensions but the last as one.
  PostOps(const Operation& operation, Lowering& lowering, memory::desc result, bool rows = false);

  // Scales and zero points of an operation on integers; dimension `outputs` of the result has a scale for each index.
  void UseIntegers(const IntegerForm& form, size_t outputs) {
    form_ = &form;
    outputs_ = outputs;
  }

  // make(attributes) creates a primitive descriptor. Returns the one with most post-ops that is not a reference
  // implementation; if all are, the one without any. A result in integers takes no separate primitives afterwards: then
  // all post-ops fit, or this throws dnnl::error.
  template <class Make>
  auto Fit(const Make& make) {
    attached_ = std::min(FirstMisreadPostOp(operation_, lowering_.program(), result_), FirstSlow());
    if (form_ != nullptr && form_->result) return make(Attributes(attached_));
    for (; attached_ > 0; --attached_) {
      try {
        auto chosen = make(Attributes(attached_));
        if (!IsReference(chosen.impl_info_str())) return chosen;
      } catch (const dnnl::error&) {  // then with fewer
      }
    }
    return make(Attributes(0));
  }

  // Emits the primitive and the post-ops that it does not take; `layout` is that of the result as the program sees it,
  // `as_made` the same memory as the primitive sees it. `over`: an operand that the result may overwrite.
  template <class Primitive>
  void Emit(const typename Primitive::primitive_desc& chosen, Lowering::Arguments arguments, const memory::desc& layout,
            const memory::desc& as_made, const Slot* over = nullptr) {
    const Slot result = Place(layout, over);
    arguments.emplace_back(DNNL_ARG_DST, Slot{result.buffer, as_made, result.offset});
    AddArguments(arguments, as_made, layout);
    lowering_.Emit<Primitive>(chosen, std::move(arguments));
    EmitRest(result);
  }

  // The post-ops that no primitive took as primitives of their own; without Fit these are all.
  void EmitRest(const Slot& result) { EmitRestFrom(attached_, result); }
  void EmitRestFrom(size_t first, const Slot& result);

 private:
  // The first post-op that is faster as a step of its own; their number if there is none.
  size_t FirstSlow() const;
  dnnl::primitive_attr Attributes(size_t count) const;
  void SetScales(dnnl::primitive_attr& attributes) const;
  memory::dims InPrimitive(const memory::dims& dims) const;
  bool IsFull(const PostOp& post_op) const;
  Slot Place(const memory::desc& layout, const Slot* over);
  void AddArguments(Lowering::Arguments& arguments, const memory::desc& as_made, const memory::desc& layout);

  const Operation& operation_;
  Lowering& lowering_;
  memory::desc result_;
  bool rows_;
  const IntegerForm* form_ = nullptr;
  size_t outputs_ = 0;     // the dimension of outputs
  size_t sum_ = kNoValue;  // the post-op that is computed in place
  size_t attached_ = 0;
};

}  // namespace onednn
