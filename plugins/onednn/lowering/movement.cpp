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

// Copies pieces side by side: `rows` times one piece of each operand. oneDNN's concatenation takes three times as long
// in blocked layouts, ten times where pieces are short.
struct Joiner {
  struct Piece {
    size_t bytes, at;  // in a row of the result
  };
  int64_t rows = 1;
  std::vector<Piece> pieces = {};
  size_t total = 0;

  void operator()(const std::vector<char*>& data) const {
    char* const target = data.back();
    const int64_t bytes = rows * static_cast<int64_t>(total), count = static_cast<int64_t>(pieces.size());
#pragma omp parallel for collapse(2) if (bytes > (1 << 18))
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < count; ++i) {
        const size_t at = static_cast<size_t>(row), part = static_cast<size_t>(i);
        const Piece piece = pieces[part];
        Copy(target + at * total + piece.at, data[part] + at * piece.bytes, piece.bytes);
      }
  }

  static void Copy(char* to, const char* from, size_t bytes) {
    if (bytes >= 256) {
      std::memcpy(to, from, bytes);
    } else {
      size_t at = 0;
      for (; at + 16 <= bytes; at += 16) std::memcpy(to + at, from + at, 16);
      for (; at + 4 <= bytes; at += 4) std::memcpy(to + at, from + at, 4);
      for (; at < bytes; ++at) to[at] = from[at];
    }
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
  const auto layout = LaidOutLike(leader, y);
  std::vector<memory::desc> parts;
  for (const Value input : operation.inputs)
    if (const auto part = LaidOutLike(leader, program.dims(input))) parts.push_back(*part);
  if (!layout || parts.size() != operation.inputs.size())
    return LowerBlockedConcat(operation, parameters.axis, lowering);

  std::vector<Slot> slots;
  Joiner joiner;
  const auto& strides = layout->data.format_desc.blocking.strides;
  const memory::dims extents = OuterExtents(*layout);
  // Dimensions with larger strides than the axis give the number of rows; unit extents do not count.
  for (int i = 0; i < layout->data.ndims; ++i)
    if (i != parameters.axis && strides[i] > strides[parameters.axis]) joiner.rows *= extents[static_cast<size_t>(i)];
  for (size_t i = 0; i < parts.size(); ++i) slots.push_back(lowering.As(operation.inputs[i], parts[i]));
  const Slot result = lowering.Result(operation.output, *layout);
  std::vector<Slot> copied;
  for (const Slot& slot : slots) {
    const Joiner::Piece piece{slot.desc.get_size() / static_cast<size_t>(joiner.rows), joiner.total};
    joiner.total += piece.bytes;
    // A single row is written where it belongs by the operation that makes it.
    if (joiner.rows == 1 && lowering.PlaceInside(slot, result, piece.at)) continue;
    joiner.pieces.push_back(piece);
    copied.push_back(slot);
  }
  if (copied.empty()) return;
  copied.push_back(result);
  lowering.EmitFunction("concat", std::move(copied), joiner);
}

}  // namespace onednn
