#include "kernels/recurrent.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "base/aligned.hpp"
#include "base/cancellation.hpp"
#include "kernels/linalg/linalg.hpp"
#include "kernels/linalg/rows.hpp"
#include "kernels/linalg/vector_math.hpp"
#include "kernels/matrix_product.hpp"
#include "kernels/parts.hpp"
#include "kernels/quantize.hpp"

namespace deputy::host {
namespace {

inline float SigmoidOf(float x) { return VectorSigmoid(x); }
inline double SigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }
inline float TanhOf(float x) { return VectorTanh(x); }
inline double TanhOf(double x) { return std::tanh(x); }

template <class T, class F>
void TransformInPlace(T* values, int64_t count, F f) {
  for (int64_t i = 0; i < count; ++i) values[i] = f(values[i]);
}

template <class T>
void Activate(const Activation& activation, T* values, int64_t count) {
  const T alpha = static_cast<T>(activation.alpha), beta = static_cast<T>(activation.beta);
  if constexpr (std::is_same_v<T, float>) {
    if (activation.kind == ActivationKind::kSigmoid)
      return linalg::Apply(linalg::RowFunction::kSigmoid, values, count, 0, 0, values);
    if (activation.kind == ActivationKind::kTanh)
      return linalg::Apply(linalg::RowFunction::kTanh, values, count, 0, 0, values);
  }
  switch (activation.kind) {
    case ActivationKind::kSigmoid: TransformInPlace(values, count, [](T x) { return SigmoidOf(x); }); break;
    case ActivationKind::kTanh: TransformInPlace(values, count, [](T x) { return TanhOf(x); }); break;
    case ActivationKind::kRelu: TransformInPlace(values, count, [](T x) { return x > T(0) ? x : T(0); }); break;
    case ActivationKind::kAffine: TransformInPlace(values, count, [=](T x) { return alpha * x + beta; }); break;
    case ActivationKind::kLeakyRelu:
      TransformInPlace(values, count, [=](T x) { return x >= T(0) ? x : alpha * x; });
      break;
    case ActivationKind::kThresholdedRelu:
      TransformInPlace(values, count, [=](T x) { return x > alpha ? x : T(0); });
      break;
    case ActivationKind::kScaledTanh:
      TransformInPlace(values, count, [=](T x) { return alpha * TanhOf(beta * x); });
      break;
    case ActivationKind::kHardSigmoid:
      TransformInPlace(values, count, [=](T x) {
        const T y = alpha * x + beta;
        return y < T(0) ? T(0) : y > T(1) ? T(1) : y;
      });
      break;
    case ActivationKind::kElu:
      TransformInPlace(values, count, [=](T x) { return x >= T(0) ? x : alpha * (std::exp(x) - T(1)); });
      break;
    case ActivationKind::kSoftsign:
      TransformInPlace(values, count, [](T x) { return x / (T(1) + std::fabs(x)); });
      break;
    case ActivationKind::kSoftplus:  // log(1 + e^x) without overflow for large x
      TransformInPlace(values, count, [](T x) { return (x > T(0) ? x : T(0)) + std::log1p(std::exp(-std::fabs(x))); });
      break;
  }
}

// All steps of the input times transposed(W).
template <class T>
linalg::GemmArgs<T> Projection(const RecurrentCell& cell, const RecurrentShape& shape) {
  linalg::GemmArgs<T> product;
  product.m = shape.steps * shape.batch;
  product.n = GateCount(cell.kind) * shape.hidden;
  product.k = product.lda = product.ldb = shape.input;
  product.transpose_b = true;
  product.ldc = product.n;
  return product;
}

// The product of the state and transposed(R), for `gates` of the gates.
template <class T>
linalg::GemmArgs<T> Recurrence(const RecurrentCell& cell, const RecurrentShape& shape, int64_t gates) {
  linalg::GemmArgs<T> product;
  product.m = shape.batch;
  product.n = gates * shape.hidden;
  product.k = product.lda = product.ldb = shape.hidden;
  product.transpose_b = true;
  product.ldc = GateCount(cell.kind) * shape.hidden;
  return product;
}

// Working memory of the products of one direction, used one after the other.
template <class T>
size_t ProductBytes(const RecurrentCell& cell, const RecurrentShape& shape, const ThreadPool& pool) {
  return AlignUp(std::max(ProductWorkspace(Projection<T>(cell, shape), pool),
                          linalg::GemmWorkspace(Recurrence<T>(cell, shape, GateCount(cell.kind)))));
}

// Other working memory of one direction, in elements of T.
struct DirectionSizes {
  int64_t projected, recurrent, state;

  DirectionSizes(const RecurrentCell& cell, const RecurrentShape& shape)
      : projected(shape.steps * shape.batch * GateCount(cell.kind) * shape.hidden),
        recurrent(shape.batch * GateCount(cell.kind) * shape.hidden),
        state(shape.batch * shape.hidden) {}
  int64_t total() const { return (projected + recurrent + 3 * state + 15) / 16 * 16; }
};

template <class T>
void Clip(float bound, T* values, int64_t count) {
  const T limit = static_cast<T>(bound);
  if (bound > 0) TransformInPlace(values, count, [=](T x) { return std::clamp(x, -limit, limit); });
}

// One direction of one run.
template <class T>
class Direction {
 public:
  Direction(const RecurrentCell& cell, const RecurrentShape& shape, const RecurrentData<T>& data, int64_t index,
            T* memory, void* product_memory)
      : cell_(cell),
        shape_(shape),
        data_(data),
        index_(index),
        product_memory_(product_memory),
        reverse_(index == 1 || cell.reverse),
        gates_(GateCount(cell.kind)),
        width_(gates_ * shape.hidden),
        w_(data.w + index * width_ * shape.input),
        r_(data.r + index * width_ * shape.hidden),
        bias_(data.bias == nullptr ? nullptr : data.bias + index * 2 * width_),
        activations_(cell.activations[static_cast<size_t>(index)]) {
    const DirectionSizes sizes(cell, shape);
    projected_ = memory;
    recurrent_ = projected_ + sizes.projected;
    h_ = recurrent_ + sizes.recurrent;
    c_ = h_ + sizes.state;
    changed_h_ = c_ + sizes.state;
  }

  void Run(ThreadPool& pool) {
    Project(pool);
    for (int64_t b = 0; b < shape_.batch; ++b) {
      Start(data_.initial_h, b, h_);
      if (cell_.kind == CellKind::kLstm) Start(data_.initial_c, b, c_);
    }
    int64_t longest = 0;
    for (int64_t b = 0; b < shape_.batch; ++b) longest = std::max(longest, Length(b));
    // The loop over time is one item of the pool's loop, which can be cancelled between items only.
    CancellationScope* const scope = CancellationScope::Current();
    for (int64_t step = 0; step < longest; ++step) {
      if (scope != nullptr && scope->Ends()) return;
      Step(step);
    }
    ForEachUntilEnd(0, shape_.batch, shape_.hidden, [&](int64_t b) {
      Finish(b, h_, data_.y_h);
      if (cell_.kind == CellKind::kLstm) Finish(b, c_, data_.y_c);
      ClearAfterEnd(b);
    });
  }

 private:
  static constexpr int64_t kStepsOfElement = 8;  // of a gate, with its activation

  int64_t Length(int64_t b) const { return data_.lengths == nullptr ? shape_.steps : int64_t{data_.lengths[b]}; }
  // The rows of (time, batch) and of a batch element's states in the tensors.
  int64_t SequenceRow(int64_t t, int64_t b) const {
    return cell_.batch_first ? b * shape_.steps + t : t * shape_.batch + b;
  }
  int64_t OutputRow(int64_t t, int64_t b) const {
    return cell_.batch_first ? (b * shape_.steps + t) * cell_.directions + index_
                             : (t * cell_.directions + index_) * shape_.batch + b;
  }
  int64_t StateRow(int64_t b) const {
    return cell_.batch_first ? b * cell_.directions + index_ : index_ * shape_.batch + b;
  }

  void Start(const T* initial, int64_t b, T* state) const {
    T* row = state + b * shape_.hidden;
    if (initial == nullptr)
      std::fill_n(row, shape_.hidden, T(0));
    else
      std::copy_n(initial + StateRow(b) * shape_.hidden, shape_.hidden, row);
  }
  void Finish(int64_t b, const T* state, T* target) const {
    if (target == nullptr) return;
    T* row = target + StateRow(b) * shape_.hidden;
    // A sequence without steps has no last state.
    if (Length(b) == 0)
      std::fill_n(row, shape_.hidden, T(0));
    else
      std::copy_n(state + b * shape_.hidden, shape_.hidden, row);
  }
  void ClearAfterEnd(int64_t b) const {
    if (data_.y == nullptr) return;
    ForEachUntilEnd(Length(b), shape_.steps, shape_.hidden,
                    [&](int64_t t) { std::fill_n(data_.y + OutputRow(t, b) * shape_.hidden, shape_.hidden, T(0)); });
  }

  // The recurrent bias of a GRU's candidate is kept separate if the reset gate applies to it too.
  bool KeepsBiasApart() const { return cell_.kind == CellKind::kGru && cell_.linear_before_reset; }

  // The part that does not depend on the state, for all steps at once.
  void Project(ThreadPool& pool) const {
    const int64_t rows = shape_.steps * shape_.batch;
    linalg::GemmArgs<T> product = Projection<T>(cell_, shape_);
    product.a = data_.x;
    product.b = w_;
    product.c = projected_;
    if (bias_ != nullptr) {
      const int64_t both = KeepsBiasApart() ? 2 * shape_.hidden : width_;
      constexpr int64_t kLeastElements = 16384;
      pool.ParallelFor(rows, kLeastElements / std::max<int64_t>(1, width_) + 1, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row)
          for (int64_t i = 0; i < width_; ++i)
            projected_[row * width_ + i] = bias_[i] + (i < both ? bias_[width_ + i] : T(0));
      });
      product.beta = 1;
    }
    MultiplyMatrices(product, product_memory_, pool);
  }

  // recurrent_ = state * transposed(R) for `count` of the gates, starting with `first`.
  void MultiplyState(const T* state, int64_t first, int64_t count) const {
    linalg::GemmArgs<T> product = Recurrence<T>(cell_, shape_, count);
    product.a = state;
    product.b = r_ + first * shape_.hidden * shape_.hidden;
    product.c = recurrent_ + first * shape_.hidden;
    linalg::Gemm(product, product_memory_);
  }

  // One scale for all rows of the batch. As in ONNX Runtime, a sequence is included until the step after its last.
  const T* RoundState(int64_t step) const {
    if constexpr (std::is_same_v<T, float>) {
      const int64_t hidden = shape_.hidden;
      for (int64_t b = 0; b < shape_.batch; ++b) {
        if (step <= Length(b))
          std::copy_n(h_ + b * hidden, hidden, changed_h_ + b * hidden);
        else
          std::fill_n(changed_h_ + b * hidden, hidden, T(0));
      }
      RoundDynamically(changed_h_, shape_.batch * hidden, changed_h_);
      return changed_h_;
    }
    return h_;
  }

  void Step(int64_t step) {
    const bool late_product = cell_.kind == CellKind::kGru && !cell_.linear_before_reset;
    MultiplyState(cell_.round_state ? RoundState(step) : h_, 0, late_product ? 2 : gates_);
    if (late_product) {
      ForEachUntilEnd(0, shape_.batch, StepsOf(width_, kStepsOfElement), [&](int64_t b) {
        if (step < Length(b)) ResetState(step, b);
      });
      MultiplyState(changed_h_, 2, 1);
    }
    ForEachUntilEnd(0, shape_.batch, StepsOf(width_, kStepsOfElement), [&](int64_t b) {
      if (step >= Length(b)) return;
      const int64_t t = Time(step, b);
      T* gates = projected_ + SequenceRow(t, b) * width_;
      const T* recurrent = recurrent_ + b * width_;
      switch (cell_.kind) {
        case CellKind::kRnn: StepRnn(gates, recurrent, h_ + b * shape_.hidden); break;
        case CellKind::kGru: StepGru(gates, recurrent, h_ + b * shape_.hidden); break;
        case CellKind::kLstm: StepLstm(gates, recurrent, h_ + b * shape_.hidden, c_ + b * shape_.hidden); break;
      }
      if (data_.y != nullptr)
        std::copy_n(h_ + b * shape_.hidden, shape_.hidden, data_.y + OutputRow(t, b) * shape_.hidden);
    });
  }
  int64_t Time(int64_t step, int64_t b) const { return reverse_ ? Length(b) - 1 - step : step; }

  // Adds the recurrent part of gates [first, first + count), clips and activates.
  void Gates(T* gates, const T* recurrent, int64_t first, int64_t count, const Activation& activation) const {
    T* values = gates + first * shape_.hidden;
    const int64_t size = count * shape_.hidden;
    if (recurrent != nullptr)
      for (int64_t i = 0; i < size; ++i) values[i] += recurrent[first * shape_.hidden + i];
    Clip(cell_.clip, values, size);
    Activate(activation, values, size);
  }

  void StepRnn(T* gates, const T* recurrent, T* h) const {
    Gates(gates, recurrent, 0, 1, activations_[0]);
    std::copy_n(gates, shape_.hidden, h);
  }

  // A GRU's gates are update z, reset r and the candidate.
  void ResetState(int64_t step, int64_t b) const {
    T* gates = projected_ + SequenceRow(Time(step, b), b) * width_;
    Gates(gates, recurrent_ + b * width_, 0, 2, activations_[0]);
    const T* reset = gates + shape_.hidden;
    for (int64_t i = 0; i < shape_.hidden; ++i)
      changed_h_[b * shape_.hidden + i] = reset[i] * h_[b * shape_.hidden + i];
  }

  void StepGru(T* gates, const T* recurrent, T* h) const {
    const int64_t hidden = shape_.hidden;
    T* candidate = gates + 2 * hidden;
    if (cell_.linear_before_reset) {
      Gates(gates, recurrent, 0, 2, activations_[0]);
      const T* bias = bias_ == nullptr ? nullptr : bias_ + width_ + 2 * hidden;
      for (int64_t i = 0; i < hidden; ++i)
        candidate[i] += gates[hidden + i] * (recurrent[2 * hidden + i] + (bias == nullptr ? T(0) : bias[i]));
      Gates(gates, nullptr, 2, 1, activations_[1]);
    } else {
      Gates(gates, recurrent, 2, 1, activations_[1]);
    }
    for (int64_t i = 0; i < hidden; ++i) h[i] = (T(1) - gates[i]) * candidate[i] + gates[i] * h[i];
  }

  // An LSTM's gates are input, output, forget and the candidate cell; its peepholes input, output, forget.
  void StepLstm(T* gates, const T* recurrent, T* h, T* c) const {
    const int64_t hidden = shape_.hidden;
    const T* peepholes = data_.peepholes == nullptr ? nullptr : data_.peepholes + index_ * 3 * hidden;
    const auto peep = [&](int64_t gate) {
      if (peepholes == nullptr) return;
      for (int64_t i = 0; i < hidden; ++i) gates[gate * hidden + i] += peepholes[gate * hidden + i] * c[i];
    };
    const T *input = gates, *output = gates + hidden, *candidate = gates + 3 * hidden;
    T* forget = gates + 2 * hidden;
    peep(0);
    Gates(gates, recurrent, 0, 1, activations_[0]);
    if (cell_.input_forget) {
      for (int64_t i = 0; i < hidden; ++i) forget[i] = T(1) - input[i];
    } else {
      peep(2);
      Gates(gates, recurrent, 2, 1, activations_[0]);
    }
    Gates(gates, recurrent, 3, 1, activations_[1]);
    for (int64_t i = 0; i < hidden; ++i) c[i] = forget[i] * c[i] + input[i] * candidate[i];
    peep(1);  // uses the new cell
    Gates(gates, recurrent, 1, 1, activations_[0]);
    std::copy_n(c, hidden, h);
    Activate(activations_[2], h, hidden);
    for (int64_t i = 0; i < hidden; ++i) h[i] *= output[i];
  }

  const RecurrentCell& cell_;
  const RecurrentShape& shape_;
  const RecurrentData<T>& data_;
  const int64_t index_;
  void* const product_memory_;
  const bool reverse_;
  const int64_t gates_, width_;
  const T *w_, *r_, *bias_;
  const std::array<Activation, 3>& activations_;
  T *projected_, *recurrent_, *h_, *c_, *changed_h_;
};

}  // namespace

template <class T>
size_t RecurrentWorkspace(const RecurrentCell& cell, const RecurrentShape& shape, const ThreadPool& pool) {
  const size_t bytes = static_cast<size_t>(DirectionSizes(cell, shape).total()) * sizeof(T);
  return static_cast<size_t>(cell.directions) * (bytes + ProductBytes<T>(cell, shape, pool));
}

template <class T>
void RunRecurrent(const RecurrentCell& cell, const RecurrentShape& shape, const RecurrentData<T>& data, void* workspace,
                  ThreadPool& pool) {
  const size_t bytes = static_cast<size_t>(DirectionSizes(cell, shape).total()) * sizeof(T);
  const size_t product_bytes = ProductBytes<T>(cell, shape, pool);
  pool.ParallelFor(cell.directions, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      char* memory = static_cast<char*>(workspace) + static_cast<size_t>(i) * (bytes + product_bytes);
      Direction<T>(cell, shape, data, i, reinterpret_cast<T*>(memory), memory + bytes).Run(pool);
    }
  });
}

template size_t RecurrentWorkspace<float>(const RecurrentCell&, const RecurrentShape&, const ThreadPool&);
template size_t RecurrentWorkspace<double>(const RecurrentCell&, const RecurrentShape&, const ThreadPool&);
template void RunRecurrent(const RecurrentCell&, const RecurrentShape&, const RecurrentData<float>&, void*,
                           ThreadPool&);
template void RunRecurrent(const RecurrentCell&, const RecurrentShape&, const RecurrentData<double>&, void*,
                           ThreadPool&);

}  // namespace deputy::host
