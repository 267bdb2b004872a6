// LinearAttention and CausalConvWithState on the CPU: the operators of recurrent language models that carry a state
// from one call to the next.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "base/aligned.hpp"
#include "base/cancellation.hpp"
#include "base/checked.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "kernels/cast.hpp"
#include "kernels/parts.hpp"
#include "kernels/slots.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

struct LinearAttributes {
  int64_t heads, key_heads;
  double scale;            // zero: the default
  bool decays, subtracts;  // the state decays; what it already holds for a key is subtracted from the value
};

// The state of a head is a matrix of [size, value_size], to which each token adds the product of its key and its value,
// and which is then read with its query. One head of keys at a time, token by token.
template <class T>
class LinearAttention {
 public:
  static constexpr uint32_t kTypedInputs = 0b110111, kTypedOutputs = 0b1;
  struct Plan {
    int64_t batch = 0, tokens = 0, size = 0, value_size = 0, elements = 0;  // elements of a state
    int64_t decays = 0, rates = 0;                                          // numbers per token
    size_t workspace_bytes = 0, slot_bytes = 0;
  };

  explicit LinearAttention(LinearAttributes attributes) : attributes_(attributes) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView q = args.input(0), k = args.input(1), v = args.input(2), past = args.input(3);
    const int64_t heads = attributes_.heads, key_heads = attributes_.key_heads;
    const bool fits = q.rank() == 3 && k.rank() == 3 && v.rank() == 3 && q.dim(2) % heads == 0 &&
                      k.dim(2) % key_heads == 0 && v.dim(2) % key_heads == 0 &&
                      q.dim(2) / heads == k.dim(2) / key_heads;
    if (!fits)
      return Error(StatusCode::kInvalidArgument, "query {}, key {} and value {} are not [B,T,heads * size]",
                   ShapeToString(q.dims()), ShapeToString(k.dims()), ShapeToString(v.dims()));
    Plan plan;
    plan.batch = q.dim(0);
    plan.tokens = q.dim(1);
    plan.size = q.dim(2) / heads;
    plan.value_size = v.dim(2) / key_heads;
    const int64_t keys[] = {plan.batch, plan.tokens, key_heads * plan.size};
    const int64_t values[] = {plan.batch, plan.tokens, key_heads * plan.value_size};
    const int64_t states[] = {plan.batch, key_heads, plan.size, plan.value_size};
    const int64_t results[] = {plan.batch, plan.tokens, heads * plan.value_size};
    DEPUTY_RETURN_IF_ERROR(CheckDims(k.dims(), keys, "key"));
    DEPUTY_RETURN_IF_ERROR(CheckDims(v.dims(), values, "value"));
    if (past.present()) DEPUTY_RETURN_IF_ERROR(CheckDims(past.dims(), states, "past_state"));
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), results, "the output"));
    if (args.output(1).present()) DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(1).dims(), states, "present_state"));
    DEPUTY_ASSIGN_OR_RETURN(plan.decays, PerToken(args, 4, "decay", {key_heads, key_heads * plan.size}));
    DEPUTY_ASSIGN_OR_RETURN(plan.rates, PerToken(args, 5, "beta", {key_heads, 1}));
    const std::optional<int64_t> elements = CheckedMultiply(plan.size, plan.value_size);
    if (!elements || *elements > int64_t{1} << 40 || !CheckedMultiply(plan.batch, key_heads))
      return Error(StatusCode::kResourceExhausted, "a state of {} x {} elements is too large", plan.size,
                   plan.value_size);
    plan.elements = *elements;
    plan.slot_bytes = AlignUp(static_cast<size_t>(plan.elements + plan.value_size) * sizeof(T));
    plan.workspace_bytes = plan.slot_bytes * static_cast<size_t>(SlotCount(args.pool, plan.batch * key_heads));
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    ForEachInSlots(args.pool, plan.batch * attributes_.key_heads, [&](int64_t item, int64_t slot) {
      T* const state =
          reinterpret_cast<T*>(static_cast<char*>(workspace) + static_cast<size_t>(slot) * plan.slot_bytes);
      const ConstView past = args.input(3);
      InParts(plan.elements, kLongRow, [&](int64_t begin, int64_t end) {
        if (past.present())
          FindConvert(past.dtype(), kDTypeOf<T>)(At(past, item * plan.elements + begin), state + begin, end - begin);
        else
          std::fill(state + begin, state + end, T(0));
      });
      const int64_t batch = item / attributes_.key_heads, head = item % attributes_.key_heads;
      EndCheck check;
      for (int64_t token = 0; token < plan.tokens && !check.ended(); ++token)
        Step(plan, args, batch, token, head, state, check);
      const MutableView present = args.output(1);
      if (!present.present()) return;
      InParts(plan.elements, kLongRow, [&](int64_t begin, int64_t end) {
        FindConvert(kDTypeOf<T>, present.dtype())(state + begin, At(present, item * plan.elements + begin),
                                                  end - begin);
      });
    });
    return {};
  }

 private:
  // Elements of an optional input for one token, which has one of two numbers of them.
  static Result<int64_t> PerToken(const KernelArgs& args, size_t i, const char* name,
                                  std::pair<int64_t, int64_t> either) {
    const ConstView input = args.input(i), query = args.input(0);
    if (!input.present()) return int64_t{0};
    const bool fits = input.rank() == 3 && input.dim(0) == query.dim(0) && input.dim(1) == query.dim(1) &&
                      (input.dim(2) == either.first || input.dim(2) == either.second);
    if (fits) return input.dim(2);
    return Error(StatusCode::kInvalidArgument, "{} has shape {}, expected [{},{},{}] or [{},{},{}]", name,
                 ShapeToString(input.dims()), query.dim(0), query.dim(1), either.first, query.dim(0), query.dim(1),
                 either.second);
  }

  static const char* At(const ConstView& tensor, int64_t element) {
    return tensor.data<char>() + static_cast<size_t>(element) * SizeOf(tensor.dtype());
  }
  static char* At(const MutableView& tensor, int64_t element) {
    return tensor.data<char>() + static_cast<size_t>(element) * SizeOf(tensor.dtype());
  }

  // The rest is left out when the run ends.
  void Step(const Plan& plan, const KernelArgs& args, int64_t batch, int64_t token, int64_t head, T* state,
            EndCheck& check) const {
    const int64_t at = batch * plan.tokens + token, key_heads = attributes_.key_heads;
    const int64_t size = plan.size, value_size = plan.value_size;
    const T* const key = args.input(1).data<T>() + (at * key_heads + head) * size;
    const T* const value = args.input(2).data<T>() + (at * key_heads + head) * value_size;
    T* const added = state + plan.elements;
    if (attributes_.decays) {
      const T* const decay = args.input(4).data<T>() + at * plan.decays;
      const bool of_head = plan.decays == key_heads;
      for (int64_t i = 0; i < size; ++i) {
        const T factor = std::exp(of_head ? decay[head] : decay[head * size + i]);
        T* const row = state + i * value_size;
        for (int64_t j = 0; j < value_size; ++j) row[j] *= factor;
        if (check.Ends(value_size)) return;
      }
    }
    std::copy_n(value, value_size, added);
    if (attributes_.subtracts) {
      for (int64_t i = 0; i < size; ++i) {
        const T* const row = state + i * value_size;
        for (int64_t j = 0; j < value_size; ++j) added[j] -= key[i] * row[j];
        if (check.Ends(value_size)) return;
      }
      const T rate = args.input(5).data<T>()[at * plan.rates + (plan.rates == 1 ? 0 : head)];
      for (int64_t j = 0; j < value_size; ++j) added[j] *= rate;
    }
    for (int64_t i = 0; i < size; ++i) {
      T* const row = state + i * value_size;
      for (int64_t j = 0; j < value_size; ++j) row[j] += key[i] * added[j];
      if (check.Ends(value_size)) return;
    }
    const int64_t group = attributes_.heads / key_heads;
    const T scale =
        static_cast<T>(attributes_.scale != 0 ? attributes_.scale : 1 / std::sqrt(static_cast<double>(size)));
    for (int64_t reader = head * group; reader < (head + 1) * group; ++reader) {
      const T* const query = args.input(0).data<T>() + (at * attributes_.heads + reader) * size;
      T* const result = args.output(0).data<T>() + (at * attributes_.heads + reader) * value_size;
      std::fill_n(result, value_size, T(0));
      if (check.Ends(value_size)) return;
      for (int64_t i = 0; i < size; ++i) {
        const T* const row = state + i * value_size;
        for (int64_t j = 0; j < value_size; ++j) result[j] += query[i] * row[j];
        if (check.Ends(value_size)) return;
      }
      for (int64_t j = 0; j < value_size; ++j) result[j] *= scale;
    }
  }

  LinearAttributes attributes_;
};

// A convolution over the past elements and the new ones, each channel with its own weights.
template <class T>
class CausalConvolution {
 public:
  static constexpr uint32_t kTypedInputs = 0b1111, kTypedOutputs = 0b11;
  struct Plan {
    int64_t planes = 0, channels = 0, length = 0, kernel = 0;
    size_t workspace_bytes = 0;
  };

  explicit CausalConvolution(bool silu) : silu_(silu) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView x = args.input(0), weight = args.input(1), bias = args.input(2), past = args.input(3);
    if (x.rank() != 3 || weight.rank() != 3 || weight.dim(0) != x.dim(1) || weight.dim(1) != 1 || weight.dim(2) < 1)
      return Error(StatusCode::kInvalidArgument, "weight of shape {} does not match input {}, expected [{},1,k]",
                   ShapeToString(weight.dims()), ShapeToString(x.dims()), x.rank() == 3 ? x.dim(1) : 0);
    const std::optional<int64_t> planes = CheckedMultiply(x.dim(0), x.dim(1));
    if (!planes)
      return Error(StatusCode::kResourceExhausted, "an input of shape {} is too large", ShapeToString(x.dims()));
    Plan plan{*planes, x.dim(1), x.dim(2), weight.dim(2)};
    const int64_t state[] = {x.dim(0), plan.channels, plan.kernel - 1};
    if (bias.present()) DEPUTY_RETURN_IF_ERROR(CheckDims(bias.dims(), {&plan.channels, 1}, "bias"));
    if (past.present()) DEPUTY_RETURN_IF_ERROR(CheckDims(past.dims(), state, "past_state"));
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), x.dims(), "the output"));
    if (args.output(1).present()) DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(1).dims(), state, "present_state"));
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void*) const {
    const int64_t before = plan.kernel - 1;
    const ConstView past = args.input(3), bias = args.input(2);
    const MutableView present = args.output(1);
    const int64_t work = StepsOf(std::max<int64_t>(1, plan.length), plan.kernel);
    args.pool.ParallelFor(plan.planes, 16384 / work + 1, [&](int64_t begin, int64_t end) {
      ForEachUntilEnd(begin, end, work, [&](int64_t plane) {
        const int64_t channel = plane % plan.channels;
        const T* const x = args.input(0).data<T>() + plane * plan.length;
        const T* const old = past.present() ? past.data<T>() + plane * before : nullptr;
        const T start = bias.present() ? bias.data<T>()[channel] : T(0);
        Convolve(plan, args.input(1).data<T>() + channel * plan.kernel, start, old, x,
                 args.output(0).data<T>() + plane * plan.length);
        if (!present.present()) return;
        T* const state = present.data<T>() + plane * before;
        InParts(before, kLongRow, [&](int64_t first, int64_t last) {
          for (int64_t i = first; i < last; ++i) {
            const int64_t at = plan.length + i - before;
            state[i] = at >= 0 ? x[at] : old == nullptr ? T(0) : old[plan.length + i];
          }
        });
      });
    });
    return {};
  }

 private:
  // `old`: the kernel's extent minus one elements in front of x, or null for zeros.
  void Convolve(const Plan& plan, const T* weight, T bias, const T* old, const T* x, T* y) const {
    const int64_t before = plan.kernel - 1;
    InPartsOf(plan.length, plan.kernel, [&](int64_t begin, int64_t end) {
      std::fill(y + begin, y + end, bias);
      for (int64_t tap = 0; tap < plan.kernel; ++tap) {
        const T factor = weight[tap];
        const int64_t shift = tap - before;  // of the element that the tap reads; before x where it is negative
        const int64_t split = std::clamp(-shift, begin, end);
        for (int64_t i = begin; old != nullptr && i < split; ++i) y[i] += factor * old[i + tap];
        for (int64_t i = split; i < end; ++i) y[i] += factor * x[i + shift];
      }
      if (!silu_) return;
      for (int64_t i = begin; i < end; ++i) y[i] = y[i] / (T(1) + std::exp(-y[i]));
    });
  }

  bool silu_;
};

}  // namespace

KernelResult MakeLinearAttention(const KernelSpec& spec) {
  const Primitive& primitive = spec.primitive();
  const std::string_view rule = primitive.GetString("update_rule", "gated_delta");
  const int64_t heads = primitive.GetInt("q_num_heads", 0), key_heads = primitive.GetInt("kv_num_heads", 0);
  if (heads < 1 || key_heads < 1 || heads % key_heads != 0)
    return Error(StatusCode::kModel, "q_num_heads ({}) must be a positive multiple of kv_num_heads ({})", heads,
                 key_heads);
  const bool decays = rule.starts_with("gated"), subtracts = rule.ends_with("delta");
  if (spec.has_input(4) != decays || spec.has_input(5) != subtracts)
    return Error(StatusCode::kModel, "the inputs 'decay' and 'beta' do not match update_rule '{}'", rule);
  return MakeFloatKernel<LinearAttention>(
      spec, LinearAttributes{heads, key_heads, static_cast<double>(primitive.GetFloat("scale", 0)), decays, subtracts});
}

KernelResult MakeCausalConvWithState(const KernelSpec& spec) {
  const std::string_view activation = spec.primitive().GetString("activation", "none");
  return MakeFloatKernel<CausalConvolution>(spec, activation == "silu" || activation == "swish");
}

}  // namespace deputy::host
