// Attention and RotaryEmbedding on the CPU.
#include "kernels/attention.hpp"

#include <algorithm>
#include <cmath>

#include "base/aligned.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "kernels/copy.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

struct AttentionAttributes {
  int64_t heads, key_heads;  // of inputs of rank 3
  double scale, cap;         // zero: default, none
  bool causal;
  bool pads_mask;       // a mask of one key hides the others (since version 24); otherwise it is broadcast
  int64_t left, right;  // windows, -1 for none
  AttentionScores scores;
};

template <class T>
class AttentionOperation {
 public:
  static constexpr uint32_t kTypedInputs = 0b000111, kTypedOutputs = 0b1111;
  struct Plan {
    AttentionShape shape;
    int64_t fresh = 0;  // keys that are not past
    AttentionMask mask;
    bool join = false;  // past and fresh keys are concatenated
    size_t key_bytes = 0, value_bytes = 0;
    size_t workspace_bytes = 0;
  };

  explicit AttentionOperation(AttentionAttributes attributes) : attributes_(attributes) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView q = args.input(0), k = args.input(1), v = args.input(2);
    const ConstView past_key = args.input(4), past_value = args.input(5);
    Plan plan;
    AttentionShape& shape = plan.shape;
    const bool flat = q.rank() == 3;
    if ((q.rank() != 3 && q.rank() != 4) || k.rank() != q.rank() || v.rank() != q.rank()) return DoNotFit(args);
    shape.batch = q.dim(0);
    shape.heads = flat ? attributes_.heads : q.dim(1);
    shape.key_heads = flat ? attributes_.key_heads : k.dim(1);
    if (shape.heads < 1 || shape.key_heads < 1 || shape.heads % shape.key_heads != 0)
      return Error(StatusCode::kInvalidArgument, "q_num_heads ({}) must be a positive multiple of kv_num_heads ({})",
                   shape.heads, shape.key_heads);
    if (flat && (q.dim(2) % shape.heads != 0 || k.dim(2) % shape.key_heads != 0 || v.dim(2) % shape.key_heads != 0))
      return DoNotFit(args);
    shape.queries = q.dim(flat ? 1 : 2);
    plan.fresh = k.dim(flat ? 1 : 2);
    shape.size = flat ? q.dim(2) / shape.heads : q.dim(3);
    shape.value_size = flat ? v.dim(2) / shape.key_heads : v.dim(3);
    const bool fits = k.dim(0) == shape.batch && v.dim(0) == shape.batch && v.dim(flat ? 1 : 2) == plan.fresh &&
                      (flat ? k.dim(2) / shape.key_heads : k.dim(3)) == shape.size &&
                      (flat || v.dim(1) == shape.key_heads);
    if (!fits || past_key.present() != past_value.present()) return DoNotFit(args);
    if (past_key.present()) {
      if (past_key.rank() != 4) return DoNotFit(args);
      shape.past = past_key.dim(2);
      const int64_t keys[] = {shape.batch, shape.key_heads, shape.past, shape.size};
      const int64_t values[] = {shape.batch, shape.key_heads, shape.past, shape.value_size};
      DEPUTY_RETURN_IF_ERROR(CheckDims(past_key.dims(), keys, "past_key"));
      DEPUTY_RETURN_IF_ERROR(CheckDims(past_value.dims(), values, "past_value"));
      for (const ConstView& past : {past_key, past_value})
        if (past.dtype() != k.dtype())
          return Error(StatusCode::kInvalidArgument, "past_key or past_value has dtype {}, expected that of K, {}",
                       NameOf(past.dtype()), NameOf(k.dtype()));
    }
    shape.keys = shape.past + plan.fresh;
    DEPUTY_RETURN_IF_ERROR(CheckAttention(shape));
    DEPUTY_RETURN_IF_ERROR(CheckLengths(args, shape));
    DEPUTY_RETURN_IF_ERROR(CheckOutputs(args, shape, flat));
    DEPUTY_RETURN_IF_ERROR(ReadMask(args, plan));
    plan.join = past_key.present() || args.output(1).present() || args.output(2).present();
    if (plan.join) {
      const int64_t rows = shape.batch * shape.key_heads * shape.keys;
      plan.key_bytes = args.output(1).present() ? 0 : Padded(rows * shape.size);
      plan.value_bytes = args.output(2).present() ? 0 : Padded(rows * shape.value_size);
    }
    plan.workspace_bytes = plan.key_bytes + plan.value_bytes + AttentionMemory<T>(shape, args.pool);
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    const AttentionShape& shape = plan.shape;
    char* memory = static_cast<char*>(workspace);
    AttentionArgs<T> attention;
    attention.shape = shape;
    attention.query = RowsOf(args.input(0), shape.heads, shape.size);
    attention.key = RowsOf(args.input(1), shape.key_heads, shape.size);
    attention.value = RowsOf(args.input(2), shape.key_heads, shape.value_size);
    if (plan.join) {
      attention.key = Join(args, plan, 1, shape.size, attention.key, memory);
      attention.value = Join(args, plan, 2, shape.value_size, attention.value, memory + plan.key_bytes);
    }
    const MutableView y = args.output(0);
    attention.target.data = y.data<T>();
    SetSteps(attention.target, y.dims(), shape.heads, shape.value_size);
    attention.mask = plan.mask;
    attention.causal = attributes_.causal;
    attention.left = attributes_.left;
    attention.right = attributes_.right;
    if (args.input(6).present()) attention.lengths = args.input(6).data<int64_t>();
    attention.scale = attributes_.scale != 0 ? attributes_.scale : 1 / std::sqrt(static_cast<double>(shape.size));
    attention.cap = attributes_.cap;
    attention.which = attributes_.scores;
    attention.scores = args.output(3).present() ? args.output(3).data<T>() : nullptr;
    if (plan.mask.data != nullptr) attention.mask.data = args.input(3).data<void>();  // after widening
    Attend(attention, memory + plan.key_bytes + plan.value_bytes, args.pool);
    return Status();
  }

 private:
  static size_t Padded(int64_t count) { return AlignUp(static_cast<size_t>(count) * sizeof(T)); }

  static Status DoNotFit(const KernelArgs& args) {
    return Error(StatusCode::kInvalidArgument, "shapes of Q {}, K {}, V {} and the past do not match",
                 ShapeToString(args.input(0).dims()), ShapeToString(args.input(1).dims()),
                 ShapeToString(args.input(2).dims()));
  }

  static Status CheckOutputs(const KernelArgs& args, const AttentionShape& shape, bool flat) {
    SmallDims y;
    for (const int64_t extent : {shape.batch, flat ? shape.queries : shape.heads}) y.push_back(extent);
    if (!flat) y.push_back(shape.queries);
    y.push_back(flat ? shape.heads * shape.value_size : shape.value_size);
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), y, "the output"));
    const int64_t rest[3][4] = {{shape.batch, shape.key_heads, shape.keys, shape.size},
                                {shape.batch, shape.key_heads, shape.keys, shape.value_size},
                                {shape.batch, shape.heads, shape.queries, shape.keys}};
    for (size_t i = 1; i <= 3; ++i)
      if (args.output(i).present()) DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(i).dims(), rest[i - 1], "an output"));
    return {};
  }

  // The numbers of keys that are no padding.
  static Status CheckLengths(const KernelArgs& args, const AttentionShape& shape) {
    const ConstView lengths = args.input(6);
    if (!lengths.present()) return {};
    DEPUTY_RETURN_IF_ERROR(CheckTyped(lengths, DType::kInt64));
    DEPUTY_RETURN_IF_ERROR(CheckDims(lengths.dims(), {&shape.batch, 1}, "nonpad_kv_seqlen"));
    if (args.input(4).present())
      return Error(StatusCode::kInvalidArgument, "nonpad_kv_seqlen cannot be combined with past_key and past_value");
    for (const int64_t length : lengths.values<int64_t>())
      if (length < 0 || length > shape.keys)
        return Error(StatusCode::kInvalidArgument, "nonpad_kv_seqlen has the value {}, expected 0 to {}", length,
                     shape.keys);
    return {};
  }

  Status ReadMask(const KernelArgs& args, Plan& plan) const {
    const ConstView mask = args.input(3);
    if (!mask.present()) return {};
    const AttentionShape& shape = plan.shape;
    plan.mask.is_bool = mask.dtype() == DType::kBool;
    if (!plan.mask.is_bool && mask.dtype() != args.input(0).dtype())
      return Error(StatusCode::kNotSupported, "attn_mask of dtype {} is not supported, expected bool or {}",
                   NameOf(mask.dtype()), NameOf(args.input(0).dtype()));
    const int64_t wanted[4] = {shape.batch, shape.heads, shape.queries, shape.keys};
    int64_t step = 1;
    if (mask.rank() < 1 || mask.rank() > 4)
      return Error(StatusCode::kInvalidArgument, "attn_mask has rank {}, expected 1 to 4", mask.rank());
    plan.mask.keys = shape.keys;
    for (size_t i = 0; i < mask.rank(); ++i) {
      const size_t axis = 3 - i;
      const int64_t own = mask.dim(mask.rank() - 1 - i);
      const bool short_keys = axis == 3 && own < wanted[3] && (own != 1 || attributes_.pads_mask);
      if (own != 1 && own != wanted[axis] && !short_keys)
        return Error(StatusCode::kInvalidArgument, "attn_mask of shape {} does not broadcast to {} queries and {} keys",
                     ShapeToString(mask.dims()), shape.queries, shape.keys);
      if (short_keys) plan.mask.keys = own;
      plan.mask.steps[axis] = own == 1 ? 0 : step;
      step *= own;
    }
    plan.mask.data = mask.data<void>();
    return {};
  }

  template <class U>
  static void SetSteps(HeadRows<U>& rows, std::span<const int64_t> dims, int64_t heads, int64_t size) {
    const bool flat = dims.size() == 3;
    const int64_t count = dims[flat ? 1 : 2];
    rows.batch_step = heads * count * size;
    rows.head_step = flat ? size : count * size;
    rows.row_step = flat ? heads * size : size;
  }

  static HeadRows<const T> RowsOf(const ConstView& tensor, int64_t heads, int64_t size) {
    HeadRows<const T> rows;
    rows.data = tensor.data<T>();
    SetSteps(rows, tensor.dims(), heads, size);
    return rows;
  }

  // Past rows and fresh ones, in the output for them if there is one, otherwise in `memory`.
  HeadRows<const T> Join(const KernelArgs& args, const Plan& plan, size_t which, int64_t size, HeadRows<const T> fresh,
                         void* memory) const {
    const AttentionShape& shape = plan.shape;
    const ConstView past = args.input(which + 3);
    T* const to = args.output(which).present() ? args.output(which).data<T>() : static_cast<T*>(memory);
    HeadRows<const T> joined{to, shape.key_heads * shape.keys * size, shape.keys * size, size};
    args.pool.ParallelFor(shape.batch * shape.key_heads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T* rows = to + i * shape.keys * size;
        if (past.present()) std::copy_n(past.data<T>() + i * shape.past * size, shape.past * size, rows);
        const T* from = fresh.At(i / shape.key_heads, i % shape.key_heads);
        for (int64_t row = 0; row < plan.fresh; ++row)
          std::copy_n(from + row * fresh.row_step, size, rows + (shape.past + row) * size);
      }
    });
    return joined;
  }

  AttentionAttributes attributes_;
};

struct RotaryAttributes {
  int64_t heads, size;  // of inputs of rank 3; of the rotated part, 0 for all
  bool interleaved;
};

// Rotates pairs of numbers by an angle that depends on the position.
template <class T>
class Rotary {
 public:
  static constexpr uint32_t kTypedInputs = 0b111, kTypedOutputs = 0b1;
  struct Plan {
    int64_t batch = 0, heads = 0, count = 0, size = 0, half = 0;
    bool flat = false;
    size_t workspace_bytes = 0;
  };

  explicit Rotary(RotaryAttributes attributes) : attributes_(attributes) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView x = args.input(0), cosines = args.input(1), positions = args.input(3);
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), x.dims(), "the output"));
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.input(2).dims(), cosines.dims(), "sin_cache"));
    if (x.rank() != 3 && x.rank() != 4)
      return Error(StatusCode::kInvalidArgument, "X has rank {}, expected 3 or 4", x.rank());
    Plan plan;
    plan.flat = x.rank() == 3;
    plan.batch = x.dim(0);
    plan.heads = plan.flat ? attributes_.heads : x.dim(1);
    plan.count = x.dim(plan.flat ? 1 : 2);
    if (plan.heads < 1 || (plan.flat && x.dim(2) % plan.heads != 0))
      return Error(StatusCode::kInvalidArgument, "X of shape {} cannot be divided into {} heads",
                   ShapeToString(x.dims()), plan.heads);
    plan.size = plan.flat ? x.dim(2) / plan.heads : x.dim(3);
    plan.half = (attributes_.size == 0 ? plan.size : attributes_.size) / 2;
    const size_t rank = positions.present() ? 2 : 3;
    bool fits = plan.half * 2 <= plan.size && cosines.rank() == rank && cosines.dim(rank - 1) == plan.half;
    if (positions.present()) {
      const int64_t dims[] = {plan.batch, plan.count};
      DEPUTY_RETURN_IF_ERROR(CheckDims(positions.dims(), dims, "position_ids"));
      if (positions.dtype() != DType::kInt64)
        return Error(StatusCode::kInvalidArgument, "position_ids is {}, expected int64", NameOf(positions.dtype()));
      for (const int64_t position : positions.values<int64_t>()) {
        if (!fits || (position >= 0 && position < cosines.dim(0))) continue;
        return Error(StatusCode::kInvalidArgument, "position {} is outside [0, {}]", position, cosines.dim(0) - 1);
      }
    } else {
      fits = fits && cosines.dim(0) == plan.batch && cosines.dim(1) == plan.count;
    }
    if (!fits)
      return Error(StatusCode::kInvalidArgument, "cos_cache of shape {} does not match X of shape {}",
                   ShapeToString(cosines.dims()), ShapeToString(x.dims()));
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void*) const {
    const int64_t* positions = args.input(3).present() ? args.input(3).data<int64_t>() : nullptr;
    const T *cosines = args.input(1).data<T>(), *sines = args.input(2).data<T>();
    args.pool.ParallelFor(plan.batch * plan.heads * plan.count, 64, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        // Rows are [batch, count, heads] or as [batch, heads, count].
        const int64_t inner = plan.flat ? plan.heads : plan.count;
        const int64_t batch = row / (plan.heads * plan.count);
        const int64_t item = batch * plan.count + (plan.flat ? row / inner % plan.count : row % inner);
        const int64_t angle = (positions == nullptr ? item : positions[item]) * plan.half;
        Turn(plan, args.input(0).data<T>() + row * plan.size, cosines + angle, sines + angle,
             args.output(0).data<T>() + row * plan.size);
      }
    });
    return Status();
  }

 private:
  void Turn(const Plan& plan, const T* x, const T* cosines, const T* sines, T* y) const {
    const int64_t step = attributes_.interleaved ? 2 : 1, other = attributes_.interleaved ? 1 : plan.half;
    for (int64_t i = 0; i < plan.half; ++i) {
      const T a = x[i * step], b = x[i * step + other];
      y[i * step] = cosines[i] * a - sines[i] * b;
      y[i * step + other] = sines[i] * a + cosines[i] * b;
    }
    std::copy(x + 2 * plan.half, x + plan.size, y + 2 * plan.half);
  }

  RotaryAttributes attributes_;
};

}  // namespace

KernelResult MakeAttention(const KernelSpec& spec) {
  const Primitive& primitive = spec.primitive();
  const int64_t mode = primitive.GetInt("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) return Error(StatusCode::kModel, "qk_matmul_output_mode must be 0 to 3, got {}", mode);
  const int64_t left = primitive.GetInt("left_window_size", -1), right = primitive.GetInt("right_window_size", -1);
  if (left < -1 || right < -1)
    return Error(StatusCode::kModel, "left_window_size ({}) and right_window_size ({}) must be -1 or more", left,
                 right);
  return MakeFloatKernel<AttentionOperation>(
      spec,
      AttentionAttributes{primitive.GetInt("q_num_heads", 0), primitive.GetInt("kv_num_heads", 0),
                          static_cast<double>(primitive.GetFloat("scale", 0)),
                          static_cast<double>(primitive.GetFloat("softcap", 0)), primitive.GetInt("is_causal", 0) != 0,
                          primitive.since_version() >= 24, left, right, static_cast<AttentionScores>(mode)});
}

KernelResult MakeRotaryEmbedding(const KernelSpec& spec) {
  const Primitive& primitive = spec.primitive();
  return MakeFloatKernel<Rotary>(
      spec, RotaryAttributes{primitive.GetInt("num_heads", 0), primitive.GetInt("rotary_embedding_dim", 0),
                             primitive.GetInt("interleaved", 0) != 0});
}

}  // namespace deputy::host
