// Elements counted otherwise, moved or joined: views as far as strides can say it.
#include <algorithm>
#include <cstring>

#include "lowering/lowering.hpp"

namespace onednn {
namespace {

// A part of what is in a slot.
Slot PartOf(const Slot& whole, const memory::dims& dims, const memory::dims& offsets) {
  Slot part = whole;
  part.desc = whole.desc.submemory_desc(dims, offsets);
  part.offset += static_cast<size_t>(part.desc.data.offset0) * memory::data_type_size(part.desc.data_type());
  part.desc.data.offset0 = 0;
  return part;
}

}  // namespace

void LowerReshape(const Operation& operation, Lowering& lowering) {
  const memory::dims dims = lowering.program().dims(operation.output);
  Slot slot = lowering.Native(operation.inputs[0]);
  if (const auto desc = Reshaped(slot.desc, dims)) {
    slot.desc = *desc;
    return lowering.Alias(operation.output, slot);
  }
  Slot copy = lowering.Result(operation.output, Plain(dims, slot.desc.data_type()));
  copy.desc = Plain(slot.desc.dims(), slot.desc.data_type());
  lowering.Copy(slot, copy);
}

void LowerTranspose(const Operation& operation, const Transpose& parameters, Lowering& lowering) {
  Slot slot = lowering.Native(operation.inputs[0]);
  if (!IsStrided(slot.desc)) slot = lowering.PlainOf(operation.inputs[0]);
  slot.desc = Permuted(slot.desc, parameters.order);
  lowering.Alias(operation.output, slot);
}

void LowerSlice(const Operation& operation, const Slice& parameters, Lowering& lowering) {
  Slot slot = lowering.Native(operation.inputs[0]);
  if (!IsStrided(slot.desc)) slot = lowering.PlainOf(operation.inputs[0]);
  lowering.Alias(operation.output, PartOf(slot, lowering.program().dims(operation.output), parameters.offsets));
}

void LowerPad(const Operation& operation, const Pad& parameters, Lowering& lowering) {
  const Slot source = lowering.Native(operation.inputs[0]);
  const memory::dims y = lowering.program().dims(operation.output);
  const memory::desc layout = PlainLike(source.desc, y).value_or(Plain(y, source.desc.data_type()));
  const Slot result = lowering.Result(operation.output, layout);
  const size_t count = static_cast<size_t>(CountOf(y));
  lowering.EmitFunction({result}, [count, value = parameters.value](const std::vector<char*>& data) {
    std::fill_n(reinterpret_cast<float*>(data[0]), count, value);
  });
  lowering.Copy(source, PartOf(result, source.desc.dims(), parameters.before));
}

void LowerConcat(const Operation& operation, const Concat& parameters, Lowering& lowering) {
  const Program& program = lowering.program();
  const memory::dims y = program.dims(operation.output);
  // The largest operand says in which order dimensions lie.
  const auto largest = std::max_element(operation.inputs.begin(), operation.inputs.end(), [&](Value a, Value b) {
    return CountOf(program.dims(a)) < CountOf(program.dims(b));
  });
  const memory::desc leader = lowering.Dense(*largest).desc;
  std::vector<memory::desc> sources;
  Lowering::Arguments arguments;
  for (size_t i = 0; i < operation.inputs.size(); ++i) {
    const Slot given = lowering.Native(operation.inputs[i]);
    const auto like = PlainLike(leader, given.desc.dims());
    const Slot source = like ? lowering.As(operation.inputs[i], *like) : given;
    sources.push_back(source.desc);
    arguments.emplace_back(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), source);
  }
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto like = PlainLike(leader, y);
  const dnnl::concat::primitive_desc chosen =
      like ? dnnl::concat::primitive_desc(*like, parameters.axis, sources, lowering.engine(), attributes)
           : dnnl::concat::primitive_desc(parameters.axis, sources, lowering.engine(), attributes);
  arguments.emplace_back(DNNL_ARG_DST, lowering.Result(operation.output, chosen.dst_desc()));
  lowering.Emit(chosen, dnnl::concat(chosen), std::move(arguments));
}

}  // namespace onednn
