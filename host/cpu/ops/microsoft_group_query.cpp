// GroupQueryAttention and RotaryEmbedding of com.microsoft on the CPU. Sequences of a batch may differ in length, so
// each is a separate attention.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cpu/ops/planned_kernel.hpp"
#include "kernels/attention.hpp"
#include "kernels/parts.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

// Cosines and sines are [positions, half]: the first 2 * half numbers of each row are
// rotated, the rest is unchanged.
template <class T>
struct Rotation {
  const T *cosines = nullptr, *sines = nullptr;
  int64_t positions = 0, half = 0;
  bool interleaved = false;

  void Turn(int64_t position, int64_t size, const T* x, T* y) const {
    const T *cosine = cosines + position * half, *sine = sines + position * half;
    const int64_t step = interleaved ? 2 : 1, other = interleaved ? 1 : half;
    for (int64_t i = 0; i < half; ++i) {
      const T a = x[i * step], b = x[i * step + other];
      y[i * step] = cosine[i] * a - sine[i] * b;
      y[i * step + other] = sine[i] * a + cosine[i] * b;
    }
    std::copy(x + 2 * half, x + size, y + 2 * half);
  }
};

// The tables of cosines and sines; `size` is that of a row, `turned` that of the rotated part, 0 to derive it from the
// tables.
template <class T>
Result<Rotation<T>> ReadRotation(const ConstView& cosines, const ConstView& sines, int64_t size, int64_t turned,
                                 bool interleaved) {
  const bool tables =
      cosines.rank() == 2 && sines.rank() == 2 && cosines.dim(0) == sines.dim(0) && cosines.dim(1) == sines.dim(1);
  if (!tables || cosines.dim(1) > size / 2 || (turned != 0 && cosines.dim(1) != turned / 2))
    return Error(StatusCode::kInvalidArgument, "cos_cache {} and sin_cache {} do not match head size {}",
                 ShapeToString(cosines.dims()), ShapeToString(sines.dims()), size);
  Rotation<T> rotation;
  rotation.positions = cosines.dim(0);
  rotation.half = cosines.dim(1);
  rotation.interleaved = interleaved;
  return rotation;
}

template <class T>
void Point(Rotation<T>& rotation, const ConstView& cosines, const ConstView& sines) {
  rotation.cosines = cosines.data<T>();
  rotation.sines = sines.data<T>();
}

Status CheckPosition(int64_t position, int64_t positions) {
  if (position >= 0 && position < positions) return {};
  return Error(StatusCode::kInvalidArgument, "position {} is outside a cos_cache of {} rows", position, positions);
}

struct GroupAttributes {
  int64_t heads, key_heads, window;
  double scale, cap;  // zero: default, none
  bool causal, rotates, interleaved, smooth;
};

template <class T>
class GroupQuery {
 public:
  static constexpr uint32_t kTypedInputs = 0b0000110110011111, kTypedOutputs = 0b0111;
  struct Plan {
    int64_t batch = 0, fresh = 0, room = 0, capacity = 0, size = 0;  // room, capacity: extents of past and present
    bool packed = false, prompt = false;
    Rotation<T> rotation;
    AttentionShape largest;
    size_t turned = 0, keys = 0, values = 0, sinks = 0, attention = 0;  // offsets
    size_t workspace_bytes = 0;
  };

  explicit GroupQuery(GroupAttributes attributes) : attributes_(attributes) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const int64_t heads = attributes_.heads, key_heads = attributes_.key_heads;
    const ConstView q = args.input(0), k = args.input(1), v = args.input(2), past = args.input(3);
    Plan plan;
    plan.packed = !k.present();
    const int64_t parts = plan.packed ? heads + 2 * key_heads : heads;
    if (q.rank() != 3 || k.present() != v.present() || q.dim(2) % parts != 0 || q.dim(2) == 0)
      return Error(StatusCode::kInvalidArgument, "query {} does not match {} heads, or key or value is missing",
                   ShapeToString(q.dims()), parts);
    plan.batch = q.dim(0);
    plan.fresh = q.dim(1);
    plan.size = q.dim(2) / parts;
    const int64_t flat[] = {plan.batch, plan.fresh, key_heads * plan.size};
    if (!plan.packed) {
      DEPUTY_RETURN_IF_ERROR(CheckDims(k.dims(), flat, "key"));
      DEPUTY_RETURN_IF_ERROR(CheckDims(v.dims(), flat, "value"));
    }
    if (past.present() != args.input(4).present())
      return Error(StatusCode::kInvalidArgument, "past_key and past_value must be given together");
    if (past.present()) {
      if (past.rank() != 4) return Error(StatusCode::kInvalidArgument, "past_key has rank {}, expected 4", past.rank());
      plan.room = past.dim(2);
      const int64_t wanted[] = {plan.batch, key_heads, plan.room, plan.size};
      DEPUTY_RETURN_IF_ERROR(CheckDims(past.dims(), wanted, "past_key"));
      DEPUTY_RETURN_IF_ERROR(CheckDims(args.input(4).dims(), wanted, "past_value"));
    }
    DEPUTY_RETURN_IF_ERROR(ReadLengths(args, plan));
    const int64_t y[] = {plan.batch, plan.fresh, heads * plan.size};
    const int64_t present[] = {plan.batch, key_heads, plan.capacity, plan.size};
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), y, "the output"));
    for (size_t i = 1; i < 3; ++i)
      if (args.output(i).present()) DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(i).dims(), present, "an output"));
    if (attributes_.rotates) {
      if (!args.input(7).present() || !args.input(8).present())
        return Error(StatusCode::kInvalidArgument, "do_rotary requires cos_cache and sin_cache");
      DEPUTY_ASSIGN_OR_RETURN(plan.rotation,
                              ReadRotation<T>(args.input(7), args.input(8), plan.size, 0, attributes_.interleaved));
      if (args.input(9).present() && plan.batch * plan.fresh != 0)
        DEPUTY_RETURN_IF_ERROR(CheckPosition(args.input(9).data<int64_t>()[0], plan.rotation.positions));
      for (int64_t i = 0; i < plan.batch * plan.fresh; ++i)
        DEPUTY_RETURN_IF_ERROR(
            CheckPosition(PositionOf(args, plan, i / plan.fresh, i % plan.fresh), plan.rotation.positions));
    }
    DEPUTY_RETURN_IF_ERROR(CheckBias(args, plan));
    plan.largest = {1, heads, key_heads, plan.fresh, plan.capacity, 0, plan.size, plan.size};
    Arena arena;
    DEPUTY_RETURN_IF_ERROR(CheckAttention(plan.largest));
    const int64_t kept = plan.batch * key_heads * plan.capacity * plan.size;
    plan.turned = arena.Reserve<T>(attributes_.rotates ? plan.batch * plan.fresh * heads * plan.size : 0);
    plan.keys = arena.Reserve<T>(args.output(1).present() ? 0 : kept);
    plan.values = arena.Reserve<T>(args.output(2).present() ? 0 : kept);
    plan.sinks = arena.Reserve<T>(heads);
    plan.attention = arena.bytes();
    plan.workspace_bytes = plan.attention + AttentionMemory<T>(plan.largest, args.pool);
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    const int64_t heads = attributes_.heads, key_heads = attributes_.key_heads, size = plan.size;
    char* const memory = static_cast<char*>(workspace);
    const auto at = [memory](size_t offset) { return reinterpret_cast<T*>(memory + offset); };
    Rotation<T> rotation = plan.rotation;
    if (attributes_.rotates) Point(rotation, args.input(7), args.input(8));
    const int64_t row = plan.packed ? (heads + 2 * key_heads) * size : heads * size;
    const T* q = args.input(0).data<T>();
    const T* const k = plan.packed ? q + heads * size : args.input(1).data<T>();
    const T* const v = plan.packed ? k + key_heads * size : args.input(2).data<T>();
    const int64_t key_row = plan.packed ? row : key_heads * size;
    HeadRows<const T> queries{q, plan.fresh * row, size, row};
    if (attributes_.rotates) {
      T* const turned = at(plan.turned);
      args.pool.ParallelFor(plan.batch * plan.fresh, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          for (int64_t head = 0; head < heads; ++head)
            rotation.Turn(PositionOf(args, plan, i / plan.fresh, i % plan.fresh), size, q + i * row + head * size,
                          turned + (i * heads + head) * size);
      });
      queries = {turned, plan.fresh * heads * size, size, heads * size};
    }
    T* const keys = args.output(1).present() ? args.output(1).data<T>() : at(plan.keys);
    T* const values = args.output(2).present() ? args.output(2).data<T>() : at(plan.values);
    Append(plan, args, args.input(3), {k, plan.fresh * key_row, size, key_row},
           attributes_.rotates ? &rotation : nullptr, keys);
    Append(plan, args, args.input(4), {v, plan.fresh * key_row, size, key_row}, nullptr, values);

    AttentionArgs<T> attention;
    attention.causal = attributes_.causal;
    if (attributes_.window > 0) attention.left = attributes_.window - 1;
    attention.cap = attributes_.cap;
    attention.scale = attributes_.scale != 0 ? attributes_.scale : 1 / std::sqrt(static_cast<double>(size));
    if (args.input(11).present()) attention.sinks = args.input(11).data<T>();
    if (attributes_.smooth && attention.sinks == nullptr) {
      std::fill_n(at(plan.sinks), heads, T(0));
      attention.sinks = at(plan.sinks);
    }
    const int64_t matrix = plan.capacity * size;
    constexpr int64_t kStepsOfCall = 1 << 14;  // of a short one that finds that the run has ended
    ForEachUntilEnd(0, plan.batch, kStepsOfCall, [&](int64_t batch) {
      AttentionShape& shape = attention.shape;
      shape = plan.largest;
      shape.keys = LengthOf(args, batch);
      shape.past = PastOf(args, plan, batch);
      attention.query = {queries.At(batch, 0), 0, queries.head_step, queries.row_step};
      attention.key = {keys + batch * key_heads * matrix, 0, matrix, size};
      attention.value = {values + batch * key_heads * matrix, 0, matrix, size};
      attention.target = {args.output(0).data<T>() + batch * plan.fresh * heads * size, 0, size, heads * size};
      attention.mask = MaskOf(args, plan, batch);
      Attend(attention, memory + plan.attention, args.pool);
    });
    return {};
  }

 private:
  static int64_t LengthOf(const KernelArgs& args, int64_t batch) {
    return int64_t{args.input(5).data<int32_t>()[batch]} + 1;
  }
  static int64_t PastOf(const KernelArgs& args, const Plan& plan, int64_t batch) {
    return plan.prompt ? 0 : LengthOf(args, batch) - plan.fresh;
  }
  // If positions are given, a first prompt uses only the first one.
  static int64_t PositionOf(const KernelArgs& args, const Plan& plan, int64_t batch, int64_t row) {
    const ConstView positions = args.input(9);
    if (!positions.present()) return PastOf(args, plan, batch) + row;
    return plan.prompt ? positions.data<int64_t>()[0] + row : positions.data<int64_t>()[batch * plan.fresh + row];
  }

  Status ReadLengths(const KernelArgs& args, Plan& plan) const {
    const ConstView lengths = args.input(5), total = args.input(6), positions = args.input(9);
    if (lengths.dtype() != DType::kInt32 || lengths.element_count() != plan.batch || total.dtype() != DType::kInt32 ||
        total.element_count() != 1)
      return Error(StatusCode::kInvalidArgument,
                   "seqlens_k (shape {}) and total_sequence_length (shape {}) must be int32 with {} and 1 elements",
                   ShapeToString(lengths.dims()), ShapeToString(total.dims()), plan.batch);
    const int64_t longest = total.data<int32_t>()[0];
    plan.capacity = std::max(plan.room, longest);
    plan.prompt = longest == plan.fresh;
    for (int64_t batch = 0; batch < plan.batch; ++batch) {
      const int64_t length = LengthOf(args, batch), past = PastOf(args, plan, batch);
      const bool fits = length >= 1 && length <= longest && past >= 0 && past <= plan.room;
      if (!fits || longest < plan.fresh)
        return Error(StatusCode::kInvalidArgument, "sequence length {} does not match {} new, {} past, {} total keys",
                     length, plan.fresh, plan.room, longest);
    }
    if (!positions.present()) return {};
    const int64_t wanted[] = {plan.batch, plan.fresh};
    if (positions.dtype() != DType::kInt64)
      return Error(StatusCode::kInvalidArgument, "position_ids is {}, expected int64", NameOf(positions.dtype()));
    return CheckDims(positions.dims(), wanted, "position_ids");
  }

  Status CheckBias(const KernelArgs& args, const Plan& plan) const {
    const ConstView bias = args.input(10), sinks = args.input(11);
    if (sinks.present() && sinks.element_count() != attributes_.heads)
      return Error(StatusCode::kInvalidArgument, "head_sink has shape {}, expected [{}]", ShapeToString(sinks.dims()),
                   attributes_.heads);
    if (!bias.present()) return {};
    const int64_t longest = args.input(6).data<int32_t>()[0];
    if (bias.rank() == 4 && (bias.dim(0) == 1 || bias.dim(0) == plan.batch) &&
        (bias.dim(1) == 1 || bias.dim(1) == attributes_.heads) && bias.dim(2) == plan.fresh && bias.dim(3) == longest)
      return {};
    return Error(StatusCode::kInvalidArgument, "attention_bias of shape {} does not match {} queries and {} keys",
                 ShapeToString(bias.dims()), plan.fresh, longest);
  }

  static AttentionMask MaskOf(const KernelArgs& args, const Plan& plan, int64_t batch) {
    AttentionMask mask;
    const ConstView bias = args.input(10);
    if (!bias.present()) return mask;
    const int64_t matrix = plan.fresh * bias.dim(3);
    mask.data = bias.data<T>() + (bias.dim(0) == 1 ? 0 : batch) * bias.dim(1) * matrix;
    mask.keys = bias.dim(3);
    mask.steps = {0, bias.dim(1) == 1 ? 0 : matrix, bias.dim(3), 1};
    return mask;
  }

  // Past rows, then fresh ones, then zeros.
  void Append(const Plan& plan, const KernelArgs& args, const ConstView& past, HeadRows<const T> fresh,
              const Rotation<T>* rotation, T* to) const {
    const int64_t size = plan.size, key_heads = attributes_.key_heads;
    args.pool.ParallelFor(plan.batch * key_heads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t batch = i / key_heads, old = PastOf(args, plan, batch);
        T* const rows = to + i * plan.capacity * size;
        if (past.present()) std::copy_n(past.data<T>() + i * plan.room * size, old * size, rows);
        const T* const from = fresh.At(batch, i % key_heads);
        for (int64_t row = 0; row < plan.fresh; ++row) {
          T* const place = rows + (old + row) * size;
          if (rotation == nullptr)
            std::copy_n(from + row * fresh.row_step, size, place);
          else
            rotation->Turn(PositionOf(args, plan, batch, row), size, from + row * fresh.row_step, place);
        }
        std::fill(rows + (old + plan.fresh) * size, rows + plan.capacity * size, T(0));
      }
    });
  }

  GroupAttributes attributes_;
};

struct GroupQueryRotary {
  int64_t heads, turned;  // zero: derived from shapes
  bool interleaved;
};

template <class T>
class MicrosoftRotary {
 public:
  static constexpr uint32_t kTypedInputs = 0b1101, kTypedOutputs = 0b1;
  struct Plan {
    int64_t batch = 0, count = 0, heads = 0, size = 0;
    bool in_front = false;  // the heads come first: [batch, heads, count, size]
    Rotation<T> rotation;
    size_t workspace_bytes = 0;
  };

  explicit MicrosoftRotary(GroupQueryRotary attributes) : attributes_(attributes) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView x = args.input(0), positions = args.input(1), cosines = args.input(2);
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), x.dims(), "the output"));
    if (x.rank() != 3 && x.rank() != 4)
      return Error(StatusCode::kInvalidArgument, "input has rank {}, expected 3 or 4", x.rank());
    Plan plan;
    plan.in_front = x.rank() == 4;
    plan.batch = x.dim(0);
    plan.count = x.dim(plan.in_front ? 2 : 1);
    if (plan.in_front) {
      plan.heads = x.dim(1);
      plan.size = x.dim(3);
    } else {
      // Without a number of heads, their size is that of the table.
      const int64_t table = cosines.rank() == 2 ? cosines.dim(1) * 2 : 0;
      const int64_t heads = attributes_.heads > 0 ? attributes_.heads : table > 0 ? x.dim(2) / table : 0;
      if (heads < 1 || x.dim(2) % heads != 0)
        return Error(StatusCode::kInvalidArgument, "input of shape {} cannot be divided into {} heads",
                     ShapeToString(x.dims()), heads);
      plan.heads = heads;
      plan.size = x.dim(2) / heads;
    }
    DEPUTY_ASSIGN_OR_RETURN(
        plan.rotation, ReadRotation<T>(cosines, args.input(3), plan.size, attributes_.turned, attributes_.interleaved));
    if (positions.dtype() != DType::kInt64)
      return Error(StatusCode::kInvalidArgument, "position_ids is {}, expected int64", NameOf(positions.dtype()));
    const bool one = positions.rank() == 1 && positions.dim(0) == 1;
    const bool each = positions.rank() == 2 && positions.dim(0) == plan.batch && positions.dim(1) == plan.count;
    if (!one && !each)
      return Error(StatusCode::kInvalidArgument, "position_ids {} must be [1] or [batch, sequence] of input {}",
                   ShapeToString(positions.dims()), ShapeToString(x.dims()));
    if (one) DEPUTY_RETURN_IF_ERROR(CheckPosition(positions.data<int64_t>()[0], plan.rotation.positions));
    for (int64_t i = 0; i < plan.batch * plan.count; ++i)
      DEPUTY_RETURN_IF_ERROR(CheckPosition(PositionOf(positions, plan, i), plan.rotation.positions));
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void*) const {
    Rotation<T> rotation = plan.rotation;
    Point(rotation, args.input(2), args.input(3));
    const T* const x = args.input(0).data<T>();
    T* const y = args.output(0).data<T>();
    args.pool.ParallelFor(plan.batch * plan.heads * plan.count, 64, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t batch = row / (plan.heads * plan.count);
        const int64_t place = plan.in_front ? row % plan.count : row / plan.heads % plan.count;
        const int64_t position = PositionOf(args.input(1), plan, batch * plan.count + place);
        rotation.Turn(position, plan.size, x + row * plan.size, y + row * plan.size);
      }
    });
    return {};
  }

 private:
  static int64_t PositionOf(const ConstView& positions, const Plan& plan, int64_t item) {
    return positions.rank() == 1 ? positions.data<int64_t>()[0] + item % plan.count : positions.data<int64_t>()[item];
  }

  GroupQueryRotary attributes_;
};

}  // namespace

KernelResult MakeMicrosoft_GroupQueryAttention(const KernelSpec& spec) {
  const Primitive& primitive = spec.primitive();
  DEPUTY_RETURN_IF_ERROR(RequireInputs(spec, {5, 6}));
  DEPUTY_RETURN_IF_ERROR(RefuseInput(spec, 12, "k_scale"));
  DEPUTY_RETURN_IF_ERROR(RefuseInput(spec, 13, "v_scale"));
  DEPUTY_RETURN_IF_ERROR(RefuseInput(spec, 14, "q_norm_weight"));
  DEPUTY_RETURN_IF_ERROR(RefuseInput(spec, 15, "k_norm_weight"));
  DEPUTY_RETURN_IF_ERROR(RefuseOutput(spec, 3, "output_qk"));
  DEPUTY_RETURN_IF_ERROR(RefuseUnless(spec, "k_quant_type", "NONE"));
  DEPUTY_RETURN_IF_ERROR(RefuseUnless(spec, "v_quant_type", "NONE"));
  DEPUTY_RETURN_IF_ERROR(RefuseUnless(spec, "kv_cache_bit_width", 0));
  DEPUTY_RETURN_IF_ERROR(RefuseUnless(spec, "qk_output", 0));
  DEPUTY_RETURN_IF_ERROR(RefuseUnless(spec, "sliding_window_cache", 0));
  const GroupAttributes attributes{primitive.GetInt("num_heads", 0),
                                   primitive.GetInt("kv_num_heads", 0),
                                   primitive.GetInt("local_window_size", -1),
                                   static_cast<double>(primitive.GetFloat("scale", 0)),
                                   static_cast<double>(primitive.GetFloat("softcap", 0)),
                                   primitive.GetInt("causal", 1) != 0,
                                   primitive.GetInt("do_rotary", 0) != 0,
                                   primitive.GetInt("rotary_interleaved", 0) != 0,
                                   primitive.GetInt("smooth_softmax", -1) == 1};
  if (attributes.heads < 1 || attributes.key_heads < 1 || attributes.heads % attributes.key_heads != 0)
    return Error(StatusCode::kModel, "num_heads ({}) must be a positive multiple of kv_num_heads ({})",
                 attributes.heads, attributes.key_heads);
  if (attributes.window != -1 && (attributes.window < 1 || !attributes.causal))
    return Error(StatusCode::kModel, "local_window_size {} must be -1, or positive with causal=1", attributes.window);
  return MakeFloatKernel<GroupQuery>(spec, attributes);
}

KernelResult MakeMicrosoft_RotaryEmbedding(const KernelSpec& spec) {
  const Primitive& primitive = spec.primitive();
  DEPUTY_RETURN_IF_ERROR(RefuseUnless(spec, "is_packed_batching", 0));
  if (primitive.GetFloat("scale", 1.0f) != 1.0f)
    return Error(StatusCode::kNotSupported, "scale {} is not supported", primitive.GetFloat("scale", 1.0f));
  return MakeFloatKernel<MicrosoftRotary>(
      spec, GroupQueryRotary{primitive.GetInt("num_heads", 0), primitive.GetInt("rotary_embedding_dim", 0),
                             primitive.GetInt("interleaved", 0) != 0});
}

}  // namespace deputy::host
