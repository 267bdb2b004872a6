// Attention and MultiHeadAttention of com.microsoft on the CPU: projections and layouts around the kernel of ONNX's
// Attention.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/aligned.hpp"
#include "cpu/ops/microsoft_mask.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "kernels/matrix_product.hpp"

namespace deputy::host {
namespace {

struct HeadAttributes {
  int64_t heads;
  std::array<int64_t, 3> hidden;  // of queries, keys and values; zeros if the weights determine them
  double scale;                   // zero: default
  float filter;                   // added to the score of a masked key
  bool causal;
};

double ScaleOf(double given, int64_t size) { return given != 0 ? given : 1 / std::sqrt(static_cast<double>(size)); }

// Past rows, if any, and fresh ones as [batch, heads, keys, size] at `to`.
template <class T>
HeadRows<const T> JoinRows(const AttentionShape& shape, int64_t size, const T* past, HeadRows<const T> fresh, T* to,
                           ThreadPool& pool) {
  pool.ParallelFor(shape.batch * shape.key_heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T* rows = to + i * shape.keys * size;
      if (past != nullptr) std::copy_n(past + i * shape.past * size, shape.past * size, rows);
      const T* from = fresh.At(i / shape.key_heads, i % shape.key_heads);
      for (int64_t row = 0; row < shape.keys - shape.past; ++row)
        std::copy_n(from + row * fresh.row_step, size, rows + (shape.past + row) * size);
    }
  });
  return {to, shape.key_heads * shape.keys * size, shape.keys * size, size};
}

// One product computes queries, keys and values side by side.
template <class T>
class ProjectedAttention {
 public:
  static constexpr uint32_t kTypedInputs = 0b0110111, kTypedOutputs = 0b11;
  struct Plan {
    AttentionShape shape;
    linalg::GemmArgs<T> projection;
    ScoreBias<T> bias;
    size_t projected = 0, masked = 0, joined = 0, product = 0, attention = 0;  // offsets
    size_t workspace_bytes = 0;
  };

  explicit ProjectedAttention(HeadAttributes attributes) : attributes_(attributes) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView x = args.input(0), weights = args.input(1), bias = args.input(2), past = args.input(4);
    if (x.rank() != 3 || weights.rank() != 2 || weights.dim(0) != x.dim(2))
      return Error(StatusCode::kInvalidArgument, "shapes of input {} and weights {} do not match",
                   ShapeToString(x.dims()), ShapeToString(weights.dims()));
    const int64_t columns = weights.dim(1), heads = attributes_.heads;
    const std::array<int64_t, 3> hidden = HiddenOf(columns);
    const auto within = [columns](int64_t size) { return size >= 0 && size <= columns; };
    const bool fits = std::all_of(hidden.begin(), hidden.end(), within) && hidden[0] == hidden[1] &&
                      hidden[0] + hidden[1] + hidden[2] == columns && hidden[0] > 0 && hidden[0] % heads == 0 &&
                      hidden[2] % heads == 0;
    if (!fits)
      return Error(StatusCode::kInvalidArgument, "{} columns of weights do not match sizes {}, {}, {} of {} heads",
                   columns, hidden[0], hidden[1], hidden[2], heads);
    if (bias.present() && (bias.rank() != 1 || bias.dim(0) != columns))
      return Error(StatusCode::kInvalidArgument, "bias has shape {}, expected [{}]", ShapeToString(bias.dims()),
                   columns);
    Plan plan;
    AttentionShape& shape = plan.shape;
    shape.batch = x.dim(0);
    shape.heads = shape.key_heads = heads;
    shape.queries = shape.keys = x.dim(1);
    shape.size = hidden[0] / heads;
    shape.value_size = hidden[2] / heads;
    if (past.present()) {
      if (past.rank() != 5) return Error(StatusCode::kInvalidArgument, "past has rank {}, expected 5", past.rank());
      shape.past = past.dim(3);
      const int64_t wanted[] = {2, shape.batch, heads, shape.past, shape.size};
      DEPUTY_RETURN_IF_ERROR(CheckDims(past.dims(), wanted, "past"));
      shape.keys += shape.past;
    }
    const bool present = args.output(1).present();
    if ((past.present() || present) && shape.size != shape.value_size)
      return Error(StatusCode::kInvalidArgument, "past and present require equal head sizes, got {} and {}", shape.size,
                   shape.value_size);
    if (present) {
      const int64_t wanted[] = {2, shape.batch, heads, shape.keys, shape.size};
      DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(1).dims(), wanted, "present"));
    }
    const int64_t wanted[] = {shape.batch, shape.queries, hidden[2]};
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), wanted, "the output"));
    DEPUTY_RETURN_IF_ERROR(plan.bias.Plan(args.input(3), args.input(5), shape));
    linalg::GemmArgs<T>& projection = plan.projection;
    projection.m = shape.batch * shape.queries;
    projection.k = projection.lda = x.dim(2);
    projection.n = projection.ldb = projection.ldc = columns;
    projection.beta = bias.present() ? T(1) : T(0);
    DEPUTY_RETURN_IF_ERROR(CheckAttention(shape));
    Arena arena;
    plan.projected = arena.Reserve<T>(projection.m * columns);
    plan.masked = arena.Reserve<T>(plan.bias.count(shape));
    const int64_t kept = 2 * shape.batch * heads * shape.keys * shape.size;
    plan.joined = arena.Reserve<T>(past.present() && !present ? kept : 0);
    plan.product = arena.bytes();
    plan.attention = AlignUp(plan.product + ProductWorkspace(projection, args.pool));
    plan.workspace_bytes = plan.attention + AttentionMemory<T>(shape, args.pool);
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    const AttentionShape& shape = plan.shape;
    char* const memory = static_cast<char*>(workspace);
    T* const projected = reinterpret_cast<T*>(memory + plan.projected);
    linalg::GemmArgs<T> projection = plan.projection;
    projection.a = args.input(0).data<T>();
    projection.b = args.input(1).data<T>();
    projection.c = projected;
    if (args.input(2).present())
      for (int64_t row = 0; row < projection.m; ++row)
        std::copy_n(args.input(2).data<T>(), projection.n, projected + row * projection.n);
    MultiplyMatrices(projection, memory + plan.product, args.pool);

    const int64_t columns = projection.n, hidden = shape.heads * shape.size;
    AttentionArgs<T> attention;
    attention.shape = shape;
    attention.query = {projected, shape.queries * columns, shape.size, columns};
    attention.key = {projected + hidden, shape.queries * columns, shape.size, columns};
    attention.value = {projected + 2 * hidden, shape.queries * columns, shape.value_size, columns};
    const ConstView past = args.input(4);
    if (past.present() || args.output(1).present()) {
      T* const joined =
          args.output(1).present() ? args.output(1).data<T>() : reinterpret_cast<T*>(memory + plan.joined);
      const T* const old = past.present() ? past.data<T>() : nullptr;
      const int64_t rows = shape.batch * shape.heads * shape.size;
      attention.key = JoinRows(shape, shape.size, old, attention.key, joined, args.pool);
      attention.value = JoinRows(shape, shape.size, old == nullptr ? old : old + rows * shape.past, attention.value,
                                 joined + rows * shape.keys, args.pool);
    }
    const int64_t width = shape.heads * shape.value_size;
    attention.target = {args.output(0).data<T>(), shape.queries * width, shape.value_size, width};
    attention.mask = plan.bias.Fill(args.input(3), args.input(5), shape, static_cast<T>(attributes_.filter),
                                    reinterpret_cast<T*>(memory + plan.masked));
    attention.causal = attributes_.causal;
    attention.scale = ScaleOf(attributes_.scale, shape.size);
    Attend(attention, memory + plan.attention, args.pool);
    return {};
  }

 private:
  std::array<int64_t, 3> HiddenOf(int64_t columns) const {
    if (attributes_.hidden[0] != 0) return attributes_.hidden;
    return {columns / 3, columns / 3, columns / 3};
  }

  HeadAttributes attributes_;
};

// Queries, keys and values separate or packed; the bias of their projections is added here.
template <class T>
class MultiHead {
 public:
  static constexpr uint32_t kTypedInputs = 0b11101111, kTypedOutputs = 0b0111;
  // The location of an operand: rows of heads in a tensor, and its part of the bias.
  struct Operand {
    size_t input = 0;
    int64_t offset = 0, batch_step = 0, head_step = 0, row_step = 0, rows = 0, size = 0;
    int64_t bias = -1;
  };
  struct Plan {
    AttentionShape shape;
    Operand operands[3];
    ScoreBias<T> bias;
    size_t places[3] = {}, masked = 0, attention = 0;  // offsets
    size_t workspace_bytes = 0;
  };

  explicit MultiHead(HeadAttributes attributes) : attributes_(attributes) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    Plan plan;
    DEPUTY_RETURN_IF_ERROR(Place(args, plan.operands));
    const auto& [q, k, v] = plan.operands;
    AttentionShape& shape = plan.shape;
    shape.batch = args.input(0).dim(0);
    shape.heads = shape.key_heads = attributes_.heads;
    shape.queries = q.rows;
    shape.size = q.size;
    shape.value_size = v.size;
    shape.keys = k.rows;
    if (k.size != q.size || v.rows != k.rows)
      return Error(StatusCode::kInvalidArgument, "{} keys of size {} and {} values do not match queries of size {}",
                   k.rows, k.size, v.rows, q.size);
    for (size_t i = 1; i < 3; ++i)
      if (args.input(i).present() && args.input(i).dim(0) != shape.batch)
        return Error(StatusCode::kInvalidArgument, "batch size is {}, expected {}", args.input(i).dim(0), shape.batch);
    const int64_t width = shape.heads * (2 * shape.size + shape.value_size);
    const ConstView bias = args.input(3);
    if (bias.present() && (bias.rank() != 1 || bias.dim(0) != width))
      return Error(StatusCode::kInvalidArgument, "bias has shape {}, expected [{}]", ShapeToString(bias.dims()), width);
    const ConstView past_key = args.input(6), past_value = args.input(7);
    if (past_key.present() != past_value.present())
      return Error(StatusCode::kInvalidArgument, "past_key and past_value must be given together");
    if (past_key.present()) {
      if (past_key.rank() != 4)
        return Error(StatusCode::kInvalidArgument, "past_key has rank {}, expected 4", past_key.rank());
      shape.past = past_key.dim(2);
      shape.keys += shape.past;
      const int64_t keys[] = {shape.batch, shape.heads, shape.past, shape.size};
      const int64_t values[] = {shape.batch, shape.heads, shape.past, shape.value_size};
      DEPUTY_RETURN_IF_ERROR(CheckDims(past_key.dims(), keys, "past_key"));
      DEPUTY_RETURN_IF_ERROR(CheckDims(past_value.dims(), values, "past_value"));
    }
    const int64_t y[] = {shape.batch, shape.queries, shape.heads * shape.value_size};
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), y, "the output"));
    for (size_t i = 1; i < 3; ++i) {
      const int64_t wanted[] = {shape.batch, shape.heads, shape.keys, plan.operands[i].size};
      if (args.output(i).present()) DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(i).dims(), wanted, "an output"));
    }
    DEPUTY_RETURN_IF_ERROR(plan.bias.Plan(args.input(4), args.input(5), shape));
    DEPUTY_RETURN_IF_ERROR(CheckAttention(shape));
    Arena arena;
    for (size_t i = 0; i < 3; ++i) {
      const int64_t rows = i == 0 ? shape.queries : shape.keys;
      const bool own = Moves(args, plan, i) && !(i > 0 && args.output(i).present());
      plan.places[i] = arena.Reserve<T>(own ? shape.batch * shape.heads * rows * plan.operands[i].size : 0);
    }
    plan.masked = arena.Reserve<T>(plan.bias.count(shape));
    plan.attention = arena.bytes();
    plan.workspace_bytes = plan.attention + AttentionMemory<T>(shape, args.pool);
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    const AttentionShape& shape = plan.shape;
    char* const memory = static_cast<char*>(workspace);
    HeadRows<const T> rows[3];
    for (size_t i = 0; i < 3; ++i) {
      const Operand& operand = plan.operands[i];
      const T* const data = args.input(operand.input).template data<T>();
      rows[i] = {data + operand.offset, operand.batch_step, operand.head_step, operand.row_step};
      if (!Moves(args, plan, i)) continue;
      T* const to =
          i > 0 && args.output(i).present() ? args.output(i).data<T>() : reinterpret_cast<T*>(memory + plan.places[i]);
      const T* const old = i > 0 && args.input(i + 5).present() ? args.input(i + 5).data<T>() : nullptr;
      AttentionShape moved = shape;
      if (i == 0) {
        moved.keys = shape.queries;
        moved.past = 0;
      }
      rows[i] = JoinRows(moved, operand.size, old, rows[i], to, args.pool);
      if (operand.bias >= 0 && args.input(3).present())
        AddBias(moved, operand.size, args.input(3).data<T>() + operand.bias, to, args.pool);
    }
    AttentionArgs<T> attention;
    attention.shape = shape;
    attention.query = rows[0];
    attention.key = rows[1];
    attention.value = rows[2];
    const int64_t width = shape.heads * shape.value_size;
    attention.target = {args.output(0).data<T>(), shape.queries * width, shape.value_size, width};
    attention.mask = plan.bias.Fill(args.input(4), args.input(5), shape, static_cast<T>(attributes_.filter),
                                    reinterpret_cast<T*>(memory + plan.masked));
    attention.causal = attributes_.causal;
    attention.scale = ScaleOf(attributes_.scale, shape.size);
    Attend(attention, memory + plan.attention, args.pool);
    return {};
  }

 private:
  // Whether operand `i` must be copied before it is read.
  static bool Moves(const KernelArgs& args, const Plan& plan, size_t i) {
    const bool biased = args.input(3).present() && plan.operands[i].bias >= 0;
    return biased || (i > 0 && (args.input(6).present() || args.output(i).present()));
  }

  // Part `part` of [batch, rows, heads, parts, size]; flat tensors have one part.
  Operand Packed(size_t input, int64_t rows, int64_t size, int64_t parts, int64_t part) const {
    const int64_t row_step = attributes_.heads * parts * size;
    return {input, part * size, rows * row_step, parts * size, row_step, rows, size, -1};
  }

  Status Place(const KernelArgs& args, Operand (&operands)[3]) const {
    const ConstView q = args.input(0), k = args.input(1), v = args.input(2);
    const int64_t heads = attributes_.heads;
    const auto is_packed = [&](const ConstView& x, int64_t parts) {
      return x.rank() == 5 && x.dim(2) == heads && x.dim(3) == parts;
    };
    const auto is_flat = [&](const ConstView& x) {
      return x.present() && x.rank() == 3 && x.dim(2) >= heads && x.dim(2) % heads == 0;
    };
    const auto wrong = [&](const ConstView& x) {
      return Error(StatusCode::kInvalidArgument, "input {} does not match {} heads", ShapeToString(x.dims()), heads);
    };
    if (!k.present()) {
      if (v.present() || !is_packed(q, 3)) return wrong(q);
      for (int64_t i = 0; i < 3; ++i) operands[i] = Packed(0, q.dim(1), q.dim(4), 3, i);
    } else {
      if (!is_flat(q)) return wrong(q);
      operands[0] = Packed(0, q.dim(1), q.dim(2) / heads, 1, 0);
      if (!v.present()) {
        if (!is_packed(k, 2)) return wrong(k);
        for (int64_t i = 1; i < 3; ++i) operands[i] = Packed(1, k.dim(1), k.dim(4), 2, i - 1);
      } else if (k.rank() == 4 && v.rank() == 4) {
        if (args.input(6).present()) return wrong(k);
        for (size_t i = 1; i < 3; ++i) {
          const ConstView x = args.input(i);
          if (x.dim(1) != heads) return wrong(x);
          const int64_t matrix = x.dim(2) * x.dim(3);
          operands[i] = {i, 0, heads * matrix, matrix, x.dim(3), x.dim(2), x.dim(3), -1};
        }
      } else {
        if (!is_flat(k)) return wrong(k);
        if (!is_flat(v)) return wrong(v);
        operands[1] = Packed(1, k.dim(1), k.dim(2) / heads, 1, 0);
        operands[2] = Packed(2, v.dim(1), v.dim(2) / heads, 1, 0);
      }
    }
    // Keys and values with the heads first come from an earlier run, which added their part of the bias.
    const bool earlier = k.present() && k.rank() == 4;
    operands[0].bias = 0;
    operands[1].bias = earlier ? -1 : heads * operands[0].size;
    operands[2].bias = earlier ? -1 : 2 * (heads * operands[0].size);
    return {};
  }

  // Adds the bias to the rows after the past ones.
  static void AddBias(const AttentionShape& shape, int64_t size, const T* bias, T* to, ThreadPool& pool) {
    pool.ParallelFor(shape.batch * shape.heads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (int64_t row = shape.past; row < shape.keys; ++row) {
          T* const at = to + (i * shape.keys + row) * size;
          const T* const from = bias + i % shape.heads * size;
          for (int64_t d = 0; d < size; ++d) at[d] += from[d];
        }
    });
  }

  HeadAttributes attributes_;
};

Result<HeadAttributes> ReadHeads(const KernelSpec& spec) {
  const Primitive& primitive = spec.primitive();
  HeadAttributes attributes{primitive.GetInt("num_heads", 0),
                            {},
                            static_cast<double>(primitive.GetFloat("scale", 0)),
                            primitive.GetFloat("mask_filter_value", -10000.0f),
                            primitive.GetInt("unidirectional", 0) != 0};
  if (attributes.heads < 1) return Error(StatusCode::kModel, "num_heads must be at least 1, got {}", attributes.heads);
  const std::span<const int64_t> hidden = primitive.GetInts("qkv_hidden_sizes");
  if (hidden.empty()) return attributes;
  if (hidden.size() != 3 || *std::min_element(hidden.begin(), hidden.end()) < 1)
    return Error(StatusCode::kModel, "qkv_hidden_sizes must have three positive values");
  std::copy(hidden.begin(), hidden.end(), attributes.hidden.begin());
  return attributes;
}

}  // namespace

KernelResult MakeMicrosoft_Attention(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(RefuseUnless(spec, "do_rotary", 0));
  DEPUTY_RETURN_IF_ERROR(RefuseUnless(spec, "past_present_share_buffer", 0));
  DEPUTY_RETURN_IF_ERROR(RefuseInput(spec, 6, "past_sequence_length"));
  DEPUTY_ASSIGN_OR_RETURN(const HeadAttributes attributes, ReadHeads(spec));
  return MakeFloatKernel<ProjectedAttention>(spec, attributes);
}

KernelResult MakeMicrosoft_MultiHeadAttention(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(RefuseInput(spec, 8, "past_sequence_length"));
  DEPUTY_RETURN_IF_ERROR(RefuseInput(spec, 9, "cache_indirection"));
  DEPUTY_RETURN_IF_ERROR(RefuseOutput(spec, 3, "qk"));
  DEPUTY_ASSIGN_OR_RETURN(const HeadAttributes attributes, ReadHeads(spec));
  return MakeFloatKernel<MultiHead>(spec, attributes);
}

}  // namespace deputy::host
