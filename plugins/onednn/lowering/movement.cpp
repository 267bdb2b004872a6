// Operations that reshape, move or join elements: views as far as strides can express them.
#include <algorithm>
#include <cstring>

#include "lowering/lowering.hpp"

namespace onednn {
namespace {

// A part of a slot's elements.
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
  lowering.EmitFunction("fill", {result}, [count, value = parameters.value](const std::vector<char*>& data) {
    std::fill_n(reinterpret_cast<float*>(data[0]), count, value);
  });
  lowering.Copy(source, PartOf(result, source.desc.dims(), parameters.before));
}

namespace {

// Copies pieces side by side: `rows` times one piece of each operand. oneDNN's concatenation takes ten times as long
// where pieces are short.
struct Joiner {
  int64_t rows;
  std::vector<size_t> pieces;  // bytes
  size_t total;

  void operator()(const std::vector<char*>& data) const {
    char* const target = data.back();
    const int64_t bytes = rows * static_cast<int64_t>(total);
#pragma omp parallel for if (bytes > (1 << 18))
    for (int64_t row = 0; row < rows; ++row) {
      const size_t at = static_cast<size_t>(row);
      char* to = target + at * total;
      for (size_t i = 0; i < pieces.size(); ++i) to = Copy(to, data[i] + at * pieces[i], pieces[i]);
    }
  }

  static char* Copy(char* to, const char* from, size_t bytes) {
    if (bytes >= 256) {
      std::memcpy(to, from, bytes);
    } else {
      size_t at = 0;
      for (; at + 16 <= bytes; at += 16) std::memcpy(to + at, from + at, 16);
      for (; at + 4 <= bytes; at += 4) std::memcpy(to + at, from + at, 4);
      for (; at < bytes; ++at) to[at] = from[at];
    }
    return to + bytes;
  }
};

void LowerBlockedConcat(const Operation& operation, int axis, Lowering& lowering) {
  std::vector<memory::desc> sources;
  Lowering::Arguments arguments;
  for (size_t i = 0; i < operation.inputs.size(); ++i) {
    const Slot source = lowering.Native(operation.inputs[i]);
    sources.push_back(source.desc);
    arguments.emplace_back(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), source);
  }
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::concat::primitive_desc chosen(axis, sources, lowering.engine(), attributes);
  arguments.emplace_back(DNNL_ARG_DST, lowering.Result(operation.output, chosen.dst_desc()));
  lowering.Emit<dnnl::concat>(chosen, std::move(arguments));
}

}  // namespace

void LowerConcat(const Operation& operation, const Concat& parameters, Lowering& lowering) {
  const Program& program = lowering.program();
  const memory::dims y = program.dims(operation.output);
  // The largest operand determines the order of dimensions.
  const auto largest = std::max_element(operation.inputs.begin(), operation.inputs.end(), [&](Value a, Value b) {
    return CountOf(program.dims(a)) < CountOf(program.dims(b));
  });
  const memory::desc leader = lowering.Dense(*largest).desc;
  const auto layout = PlainLike(leader, y);
  if (!layout) return LowerBlockedConcat(operation, parameters.axis, lowering);

  std::vector<Slot> slots;
  Joiner joiner{1, {}, 0};
  const auto& strides = layout->data.format_desc.blocking.strides;
  // Dimensions with larger strides than the axis give the number of rows; unit extents do not count.
  for (int i = 0; i < layout->data.ndims; ++i)
    if (i != parameters.axis && strides[i] > strides[parameters.axis]) joiner.rows *= y[static_cast<size_t>(i)];
  for (const Value input : operation.inputs) {
    slots.push_back(lowering.As(input, *PlainLike(leader, program.dims(input))));
    joiner.pieces.push_back(slots.back().desc.get_size() / static_cast<size_t>(joiner.rows));
    joiner.total += joiner.pieces.back();
  }
  slots.push_back(lowering.Result(operation.output, *layout));
  lowering.EmitFunction("concat", std::move(slots), joiner);
}

}  // namespace onednn
