// Einsum on the CPU: operands are contracted from left to right. Each pair becomes a batch of matrix products: labels
// of both that are still needed are the batch, other labels of both are summed, the rest are rows and columns.
#include "graph/inference/einsum.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>

#include "base/aligned.hpp"
#include "base/cancellation.hpp"
#include "base/checked.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "kernels/copy.hpp"
#include "kernels/matrix_product.hpp"
#include "kernels/parts.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

using Extents = std::array<int64_t, kEinsumLabels>;

// A view of elements with one stride per label. Labels that an operand repeats are its diagonal; labels along which it
// has one element, but others have more, are omitted.
template <class T>
struct Operand {
  LabelSet labels = 0;
  std::array<int64_t, kEinsumLabels> strides{};
  const T* data = nullptr;
};

// Labels in ascending order.
SmallDims InOrder(LabelSet labels) {
  SmallDims order;
  for (; labels != 0; labels &= labels - 1) order.push_back(std::countr_zero(labels));
  return order;
}

// The largest number where it overflows, which Pieces refuses.
int64_t CountOf(const Extents& extents, std::span<const int64_t> labels) {
  int64_t count = 1;
  bool too_large = false;
  for (const int64_t label : labels) {
    const int64_t extent = extents[static_cast<size_t>(label)];
    if (extent == 0) return 0;
    too_large = too_large || __builtin_mul_overflow(count, extent, &count);
  }
  return too_large ? INT64_MAX : count;
}

std::span<const int64_t> AsSpan(const SmallDims& dims) { return {dims.data(), dims.size()}; }

// Memory in pieces; without a base they are only counted.
class Pieces {
 public:
  explicit Pieces(void* base) : base_(static_cast<char*>(base)) {}
  template <class T>
  Result<T*> Take(int64_t count) {
    const std::optional<uint64_t> bytes = CheckedMultiply<uint64_t>(static_cast<uint64_t>(count), sizeof(T));
    if (!bytes || *bytes > (uint64_t{1} << 46))
      return Error(StatusCode::kResourceExhausted, "an intermediate result of {} elements is too large", count);
    const size_t at = bytes_;
    bytes_ += AlignUp(static_cast<size_t>(*bytes));
    return base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + at);
  }
  bool counting() const { return base_ == nullptr; }
  size_t bytes() const { return bytes_; }

 private:
  char* base_;
  size_t bytes_ = 0;
};

template <class T>
class Contraction {
 public:
  Contraction(const Extents& extents, Pieces& pieces, ThreadPool& pool)
      : extents_(extents), pieces_(pieces), pool_(pool) {}

  // The operand with labels in this order, dense; labels in neither list are summed over.
  Status Arrange(const Operand<T>& from, std::span<const int64_t> order, T* to) const {
    LabelSet kept = 0;
    StridedCopy copy;
    int64_t stride = CountOf(extents_, order);
    for (const int64_t label : order) {
      const int64_t extent = extents_[static_cast<size_t>(label)];
      stride /= std::max<int64_t>(extent, 1);
      copy.Add(extent, from.strides[static_cast<size_t>(label)], stride);
      kept |= Label(label);
    }
    const SmallDims summed = InOrder(from.labels & ~kept);
    const int64_t count = CountOf(extents_, order), terms = CountOf(extents_, AsSpan(summed));
    if (count == 0) return {};
    if (summed.empty()) {
      CopyStrided(copy, from.data, to, sizeof(T), pool_);
      return {};
    }
    pool_.ParallelFor(count, 1024 / std::max<int64_t>(terms, 1) + 1, [&](int64_t begin, int64_t end) {
      ForEachUntilEnd(begin, end, StepsOf(terms, kStepsOfTerm),
                      [&](int64_t i) { to[i] = SumAt(from, Offset(from, order, i), AsSpan(summed), terms); });
    });
    return {};
  }

  // The result has the labels of `keep` that either operand has.
  Result<Operand<T>> Contract(const Operand<T>& a, const Operand<T>& b, LabelSet keep) const {
    const LabelSet both = a.labels & b.labels;
    const SmallDims batch = InOrder(both & keep), inner = InOrder(both & ~keep);
    const SmallDims rows = InOrder(a.labels & ~b.labels & keep), columns = InOrder(b.labels & ~a.labels & keep);
    SmallDims a_order = batch, b_order = batch, c_order = batch;
    for (const int64_t label : rows) a_order.push_back(label);
    for (const int64_t label : inner) a_order.push_back(label);
    for (const int64_t label : inner) b_order.push_back(label);
    for (const int64_t label : columns) b_order.push_back(label);
    for (const int64_t label : rows) c_order.push_back(label);
    for (const int64_t label : columns) c_order.push_back(label);
    DEPUTY_ASSIGN_OR_RETURN(const T* const a_data, Dense(a, a_order));
    DEPUTY_ASSIGN_OR_RETURN(const T* const b_data, Dense(b, b_order));
    const int64_t count = CountOf(extents_, AsSpan(c_order));
    DEPUTY_ASSIGN_OR_RETURN(T* const c_data, pieces_.Take<T>(count));
    if (count == 0) return View(c_order, c_data);
    const int64_t batches = CountOf(extents_, AsSpan(batch));
    BatchedProduct<T> product;
    linalg::GemmArgs<T>& matrices = product.matrices;
    matrices.m = CountOf(extents_, AsSpan(rows));
    matrices.n = matrices.ldb = matrices.ldc = CountOf(extents_, AsSpan(columns));
    matrices.k = matrices.lda = CountOf(extents_, AsSpan(inner));
    matrices.a = a_data;
    matrices.b = b_data;
    matrices.c = c_data;
    product.a_batch = product.b_batch = product.c_batch = {&batches, 1};
    DEPUTY_ASSIGN_OR_RETURN(char* const workspace,
                            pieces_.Take<char>(static_cast<int64_t>(BatchWorkspace(product, pool_))));
    if (!pieces_.counting()) MultiplyBatch(product, workspace, pool_);
    return View(c_order, c_data);
  }

 private:
  static constexpr int64_t kStepsOfTerm = 16;  // divisions, mostly

  int64_t Offset(const Operand<T>& operand, std::span<const int64_t> order, int64_t index) const {
    int64_t offset = 0;
    for (size_t i = order.size(); i-- > 0;) {
      const size_t label = static_cast<size_t>(order[i]);
      offset += index % extents_[label] * operand.strides[label];
      index /= extents_[label];
    }
    return offset;
  }

  T SumAt(const Operand<T>& from, int64_t offset, std::span<const int64_t> summed, int64_t terms) const {
    using Sum =
        typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::common_type<double>>::type;
    Sum sum = 0;  // integers wrap; a sum of floats would stop growing
    InPartsOf(terms, kStepsOfTerm, [&](int64_t begin, int64_t end) {
      for (int64_t term = begin; term < end; ++term)
        sum += static_cast<Sum>(from.data[offset + Offset(from, summed, term)]);
    });
    return static_cast<T>(sum);
  }

  Operand<T> View(const SmallDims& order, const T* data) const {
    Operand<T> view;
    int64_t stride = 1;
    for (size_t i = order.size(); i-- > 0;) {
      view.labels |= Label(order[i]);
      view.strides[static_cast<size_t>(order[i])] = stride;
      // Overflows only beside an extent of 0, where no stride is used.
      (void)__builtin_mul_overflow(stride, extents_[static_cast<size_t>(order[i])], &stride);
    }
    view.data = data;
    return view;
  }

  // The operand's own memory if its layout is the requested one.
  Result<const T*> Dense(const Operand<T>& operand, const SmallDims& order) const {
    const Operand<T> wanted = View(order, nullptr);
    if (operand.labels == wanted.labels && operand.strides == wanted.strides) return operand.data;
    DEPUTY_ASSIGN_OR_RETURN(T* const copy, pieces_.Take<T>(CountOf(extents_, AsSpan(order))));
    if (!pieces_.counting()) DEPUTY_RETURN_IF_ERROR(Arrange(operand, AsSpan(order), copy));
    return static_cast<const T*>(copy);
  }

  const Extents& extents_;
  Pieces& pieces_;
  ThreadPool& pool_;
};

template <class T>
class EinsumOperation {
 public:
  static constexpr uint32_t kTypedInputs = 0xff, kTypedOutputs = 0b1;
  struct Plan {
    Extents extents;
    EinsumLabels labels;
    size_t workspace_bytes = 0;
  };

  explicit EinsumOperation(EinsumEquation equation) : equation_(std::move(equation)) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    Plan plan;
    std::array<size_t, kEinsumOperands> ranks{};
    if (args.inputs.size() > ranks.size())
      return Error(StatusCode::kNotSupported, "Einsum of {} operands is not supported", args.inputs.size());
    for (size_t i = 0; i < args.inputs.size(); ++i) ranks[i] = args.input(i).rank();
    DEPUTY_ASSIGN_OR_RETURN(plan.labels, LabelEinsum(equation_, std::span(ranks).first(args.inputs.size())));
    plan.extents.fill(1);
    for (size_t i = 0; i < args.inputs.size(); ++i)
      for (size_t axis = 0; axis < ranks[i]; ++axis) {
        int64_t& extent = plan.extents[static_cast<size_t>(plan.labels.operands[i][axis])];
        const int64_t own = args.input(i).dim(axis);
        if (extent != own && extent != 1 && own != 1)
          return Error(StatusCode::kInvalidArgument, "axes with the same label have different extents: {} and {}",
                       extent, own);
        if (extent == 1) extent = own;
      }
    SmallDims dims;
    for (const int64_t label : plan.labels.result) dims.push_back(plan.extents[static_cast<size_t>(label)]);
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), dims, "the output"));
    Pieces pieces(nullptr);
    DEPUTY_RETURN_IF_ERROR(Run(plan, args, pieces));
    plan.workspace_bytes = pieces.bytes();
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    // A single operand needs no memory of its own.
    alignas(64) char nothing[64];
    Pieces pieces(workspace == nullptr ? nothing : workspace);
    return Run(plan, args, pieces);
  }

 private:
  Status Run(const Plan& plan, const KernelArgs& args, Pieces& pieces) const {
    LabelSet wanted = 0;
    for (const int64_t label : plan.labels.result) wanted |= Label(label);
    const Contraction<T> contraction(plan.extents, pieces, args.pool);
    Operand<T> joined = OperandOf(plan, args, 0);
    for (size_t i = 1; i < args.inputs.size(); ++i) {
      LabelSet keep = wanted;
      for (size_t later = i + 1; later < args.inputs.size(); ++later) keep |= OperandOf(plan, args, later).labels;
      DEPUTY_ASSIGN_OR_RETURN(joined, contraction.Contract(joined, OperandOf(plan, args, i), keep));
    }
    if (pieces.counting()) return {};
    return contraction.Arrange(joined, AsSpan(plan.labels.result), args.output(0).data<T>());
  }

  static Operand<T> OperandOf(const Plan& plan, const KernelArgs& args, size_t i) {
    const ConstView input = args.input(i);
    Operand<T> operand;
    int64_t stride = 1;
    for (size_t axis = input.rank(); axis-- > 0;) {
      const size_t label = static_cast<size_t>(plan.labels.operands[i][axis]);
      if (input.dim(axis) == plan.extents[label]) {
        operand.labels |= Label(static_cast<int64_t>(label));
        operand.strides[label] += stride;
      }
      stride *= input.dim(axis);
    }
    operand.data = input.data<T>();
    return operand;
  }

  EinsumEquation equation_;
};

// Small integers, computed in 32 bits, with the same results modulo their width.
template <class Narrow>
class NarrowEinsum {
  using Wide = std::conditional_t<std::is_signed_v<Narrow>, int32_t, uint32_t>;

 public:
  static constexpr uint32_t kTypedInputs = 0xff, kTypedOutputs = 0b1;
  struct Plan {
    typename EinsumOperation<Wide>::Plan wide;
    size_t workspace_bytes = 0;
  };

  explicit NarrowEinsum(const EinsumEquation& equation) : operation_(equation) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    DEPUTY_ASSIGN_OR_RETURN(typename EinsumOperation<Wide>::Plan wide, operation_.MakePlan(args));
    Plan plan{wide, AlignUp(wide.workspace_bytes) + WideBytes(args.output(0).element_count())};
    for (size_t i = 0; i < args.inputs.size(); ++i) plan.workspace_bytes += WideBytes(args.input(i).element_count());
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    std::array<deputy_tensor, kEinsumOperands> inputs;
    std::array<const deputy_tensor*, kEinsumOperands> input_pointers{};
    char* next = static_cast<char*>(workspace) + AlignUp(plan.wide.workspace_bytes);
    for (size_t i = 0; i < args.inputs.size(); ++i) {
      const Narrow* const from = args.input(i).data<Narrow>();
      inputs[i] = Widened(*args.inputs[i], next);
      Wide* const widened = reinterpret_cast<Wide*>(next);
      InParts(args.input(i).element_count(), kLongRow,
              [&](int64_t begin, int64_t end) { std::copy(from + begin, from + end, widened + begin); });
      input_pointers[i] = &inputs[i];
      next += WideBytes(args.input(i).element_count());
    }
    deputy_tensor output = Widened(*args.outputs[0], next);
    deputy_tensor* const output_pointer = &output;
    const KernelArgs wide{std::span(input_pointers).first(args.inputs.size()),
                          {&output_pointer, 1},
                          args.pool,
                          args.scratch,
                          args.allocator};
    DEPUTY_RETURN_IF_ERROR(operation_.Compute(plan.wide, wide, plan.wide.workspace_bytes == 0 ? nullptr : workspace));
    const Wide* const result = reinterpret_cast<const Wide*>(next);
    Narrow* const to = args.output(0).data<Narrow>();
    InParts(args.output(0).element_count(), kLongRow, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = static_cast<Narrow>(result[i]);
    });
    return Status();
  }

 private:
  static size_t WideBytes(int64_t count) { return AlignUp(static_cast<size_t>(count) * sizeof(Wide)); }

  static deputy_tensor Widened(const deputy_tensor& narrow, void* data) {
    deputy_tensor wide = narrow;
    wide.dtype = static_cast<deputy_dtype>(kDTypeOf<Wide>);
    wide.byte_size = narrow.byte_size / sizeof(Narrow) * sizeof(Wide);
    wide.data = data;
    return wide;
  }

  EinsumOperation<Wide> operation_;
};

}  // namespace

KernelResult MakeEinsum(const KernelSpec& spec) {
  DEPUTY_ASSIGN_OR_RETURN(EinsumEquation equation, ParseEinsum(spec.primitive().GetString("equation", "")));
  static_assert(kEinsumOperands <= WidenedArgs::kMaxInputs);
  for (size_t i = 0; i < spec.node.inputs.size(); ++i)
    if (!spec.has_input(i)) return Error(StatusCode::kModel, "required input {} is missing", i);
  switch (spec.input_type(0).dtype) {
    case DType::kInt8: return MakePlannedKernel(spec, NarrowEinsum<int8_t>(equation));
    case DType::kInt16: return MakePlannedKernel(spec, NarrowEinsum<int16_t>(equation));
    case DType::kUint8: return MakePlannedKernel(spec, NarrowEinsum<uint8_t>(equation));
    case DType::kUint16: return MakePlannedKernel(spec, NarrowEinsum<uint16_t>(equation));
    case DType::kInt32: return MakePlannedKernel(spec, EinsumOperation<int32_t>(equation));
    case DType::kInt64: return MakePlannedKernel(spec, EinsumOperation<int64_t>(equation));
    case DType::kUint32: return MakePlannedKernel(spec, EinsumOperation<uint32_t>(equation));
    case DType::kUint64: return MakePlannedKernel(spec, EinsumOperation<uint64_t>(equation));
    default: return MakeFloatKernel<EinsumOperation>(spec, equation);
  }
}

}  // namespace deputy::host
