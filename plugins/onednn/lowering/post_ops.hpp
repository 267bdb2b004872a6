// Puts the post-ops of an operation into its primitive, as many as the implementation takes; the rest follows as
// primitives of their own. A residual sum is done in place where the other operand dies here.
#pragma once

#include <string_view>

#include "lowering/lowering.hpp"

namespace onednn {

// Slow, written for reference?
inline bool IsSlow(const char* implementation) {
  return std::string_view(implementation).find("ref") != std::string_view::npos;
}

class PostOps {
 public:
  // `result`: what the primitive makes, in its own extents; layout `any` if the primitive is to choose. With `rows` the
  // primitive sees all but the last dimension as one.
  PostOps(const Operation& operation, Lowering& lowering, memory::desc result, bool rows = false);

  // make(attributes) creates a primitive descriptor. Returns the one with most post-ops that is not slow.
  template <class Make>
  auto Fit(const Make& make) {
    using Descriptor = decltype(make(Attributes(0)));
    Descriptor slow;
    size_t slow_count = kNoValue;
    for (size_t count = MostAtOnce();; --count) {
      try {
        Descriptor chosen = make(Attributes(count));
        attached_ = count;
        if (!IsSlow(chosen.impl_info_str())) return chosen;
        if (slow_count == kNoValue) {
          slow = chosen;
          slow_count = count;
        }
      } catch (const dnnl::error&) {
        if (count == 0 && slow_count == kNoValue) throw;
      }
      if (count == 0) break;
    }
    attached_ = slow_count;
    return slow;
  }

  // Emits the primitive and what did not fit into it; `layout` is that of the result as the program sees it,
  // `as_made` the same memory as the primitive sees it. `over`: an operand that may hold the result.
  template <class Descriptor>
  void Emit(const Descriptor& chosen, dnnl::primitive primitive, Lowering::Arguments arguments,
            const memory::desc& layout, const memory::desc& as_made, const Slot* over = nullptr) {
    const Slot result = Place(layout, over);
    arguments.emplace_back(DNNL_ARG_DST, Slot{result.buffer, as_made, result.offset});
    AddArguments(arguments, as_made, layout);
    lowering_.Emit(chosen, std::move(primitive), std::move(arguments));
    EmitRest(result);
  }

 private:
  size_t MostAtOnce() const;
  dnnl::primitive_attr Attributes(size_t count) const;
  memory::dims InPrimitive(const memory::dims& dims) const;
  bool IsFull(const PostOp& post_op) const;
  Slot Place(const memory::desc& layout, const Slot* over);
  void AddArguments(Lowering::Arguments& arguments, const memory::desc& as_made, const memory::desc& layout);
  void EmitRest(const Slot& result);

  const Operation& operation_;
  Lowering& lowering_;
  memory::desc result_;
  bool rows_;
  size_t sum_ = kNoValue;  // the post-op that is done in place
  size_t attached_ = 0;
};

}  // namespace onednn
