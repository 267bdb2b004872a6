// MatMul and Gemm on the CPU.
#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>

#include "cpu/ops/planned_kernel.hpp"
#include "kernels/broadcast.hpp"
#include "kernels/matrix_product.hpp"
#include "kernels/parts.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

Status CannotMultiply(const KernelArgs& args) {
  return Error(StatusCode::kInvalidArgument, "shapes {} and {} cannot be multiplied",
               ShapeToString(args.input(0).dims()), ShapeToString(args.input(1).dims()));
}

// So few rows read the matrix as fast as it is stored.
constexpr int64_t kFewestRows = 8;

// The constant matrix on the right, for products of floats with many rows; null for others, and where the copy, as
// large as the matrix, would be too much: its advantage does not grow with its size. `rows` is negative if unknown.
Result<std::shared_ptr<const PackedMatrix>> Packed(const KernelSpec& spec, bool transposed, int64_t rows) {
  constexpr int64_t kMostElements = 4 << 20;
  std::shared_ptr<const PackedMatrix> none;
  const Tensor* constant = spec.constant(1);
  const bool fits = constant != nullptr && ComputeType(constant->dtype()) == DType::kFloat32 &&
                    constant->shape().size() == 2 && constant->element_count() <= kMostElements &&
                    (rows < 0 || rows >= kFewestRows);
  if (!fits || constant->element_count() == 0) return none;
  const Shape& dims = constant->shape();
  // Few columns are sums of long rows, with several partial sums each.
  if (dims[transposed ? 0 : 1] < linalg::PanelWidth<float>()) return none;
  DEPUTY_ASSIGN_OR_RETURN(const Tensor wide, Widened(*constant));
  linalg::GemmArgs<float> product;
  product.n = dims[transposed ? 0 : 1];
  product.k = dims[transposed ? 1 : 0];
  product.b = static_cast<const float*>(wide.data());
  product.ldb = dims[1];
  product.transpose_b = transposed;
  auto packed = std::make_shared<const PackedMatrix>(PackMatrix(product));
  if (packed->panels != nullptr) ReleasePages(spec, *constant);
  return packed;
}

// Takes the packed matrix, if there is one, for a product of `rows` rows in total.
template <class T>
void Take(const std::shared_ptr<const PackedMatrix>& packed, int64_t rows, linalg::GemmArgs<T>& product) {
  if constexpr (std::is_same_v<T, float>) {
    if (packed != nullptr && rows >= kFewestRows) TakePacked(*packed, product);
  }
}

template <class T>
class MatMul {
 public:
  static constexpr uint32_t kTypedInputs = 0b11, kTypedOutputs = 0b1;
  struct Plan {
    BatchedProduct<T> product;
    size_t workspace_bytes = 0;
  };

  explicit MatMul(std::shared_ptr<const PackedMatrix> packed) : packed_(std::move(packed)) {}

  // A vector on the left is a row, one on the right a column; the added axis is not in the output.
  Result<Plan> MakePlan(const KernelArgs& args) const {
    const std::span<const int64_t> a = args.input(0).dims(), b = args.input(1).dims(), c = args.output(0).dims();
    if (a.empty() || b.empty()) return CannotMultiply(args);
    const bool row = a.size() == 1, column = b.size() == 1;
    Plan plan;
    linalg::GemmArgs<T>& matrices = plan.product.matrices;
    matrices.m = row ? 1 : a[a.size() - 2];
    matrices.k = a.back();
    matrices.n = column ? 1 : b.back();
    if (matrices.k != (column ? b[0] : b[b.size() - 2])) return CannotMultiply(args);
    matrices.lda = matrices.k;
    matrices.ldb = matrices.ldc = matrices.n;
    plan.product.a_batch = a.first(row ? 0 : a.size() - 2);
    plan.product.b_batch = b.first(column ? 0 : b.size() - 2);
    const size_t matrix_axes = (row ? 0u : 1u) + (column ? 0u : 1u);
    if (c.size() < matrix_axes) return CannotMultiply(args);
    plan.product.c_batch = c.first(c.size() - matrix_axes);
    const bool fits = BroadcastGives(plan.product.a_batch, plan.product.b_batch, plan.product.c_batch) &&
                      (row || c[plan.product.c_batch.size()] == matrices.m) && (column || c.back() == matrices.n);
    if (!fits)
      return Error(StatusCode::kInvalidArgument, "the product of shapes {} and {} does not have the output shape {}",
                   ShapeToString(a), ShapeToString(b), ShapeToString(c));
    Take(packed_, ElementCount(plan.product.a_batch) * matrices.m, matrices);
    plan.workspace_bytes = BatchWorkspace(plan.product, args.pool);
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    BatchedProduct<T> product = plan.product;
    product.matrices.a = args.input(0).data<T>();
    if (!product.matrices.b_in_panels) product.matrices.b = args.input(1).data<T>();
    product.matrices.c = args.output(0).data<T>();
    MultiplyBatch(product, workspace, args.pool);
    return Status();
  }

 private:
  std::shared_ptr<const PackedMatrix> packed_;
};

struct GemmAttributes {
  bool transpose_a, transpose_b;
  float alpha, beta;
  std::shared_ptr<const PackedMatrix> packed;
};

template <class T>
class GeneralProduct {
 public:
  static constexpr uint32_t kTypedInputs = 0b111, kTypedOutputs = 0b1;
  struct Plan {
    linalg::GemmArgs<T> product;
    size_t workspace_bytes = 0;
  };

  explicit GeneralProduct(GemmAttributes attributes) : attributes_(attributes) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView a = args.input(0), b = args.input(1), c = args.input(2);
    if (a.rank() != 2 || b.rank() != 2) return CannotMultiply(args);
    Plan plan;
    linalg::GemmArgs<T>& product = plan.product;
    product.transpose_a = attributes_.transpose_a;
    product.transpose_b = attributes_.transpose_b;
    product.m = a.dim(product.transpose_a ? 1 : 0);
    product.k = a.dim(product.transpose_a ? 0 : 1);
    product.n = b.dim(product.transpose_b ? 0 : 1);
    if (product.k != b.dim(product.transpose_b ? 1 : 0)) return CannotMultiply(args);
    product.lda = a.dim(1);
    product.ldb = b.dim(1);
    product.ldc = product.n;
    product.alpha = Factor(attributes_.alpha);
    product.beta = c.present() ? T(1) : T(0);
    const int64_t dims[] = {product.m, product.n};
    if (c.present() && (c.rank() > 2 || !BroadcastGives(dims, c.dims(), dims)))
      return Error(StatusCode::kInvalidArgument, "C of shape {} cannot be broadcast to {}", ShapeToString(c.dims()),
                   ShapeToString(dims));
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), dims, "the output"));
    Take(attributes_.packed, product.m, product);
    plan.workspace_bytes = ProductWorkspace(product, args.pool);
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    linalg::GemmArgs<T> product = plan.product;
    product.a = args.input(0).data<T>();
    if (!product.b_in_panels) product.b = args.input(1).data<T>();
    product.c = args.output(0).data<T>();
    if (args.input(2).present()) FillWithC(args.input(2), product);
    MultiplyMatrices(product, workspace, args.pool);
    return Status();
  }

 private:
  // A negative float does not convert to an unsigned integer; a negative integer does, and wraps.
  static T Factor(float value) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<int64_t>(value));
    else
      return static_cast<T>(value);
  }

  // The product is added to beta * C.
  void FillWithC(ConstView c, const linalg::GemmArgs<T>& product) const {
    const int64_t column_stride = c.rank() >= 1 && c.dim(c.rank() - 1) != 1 ? 1 : 0;
    const int64_t row_stride = c.rank() == 2 && c.dim(0) != 1 ? c.dim(1) : 0;
    const T beta = Factor(attributes_.beta);
    ForEachUntilEnd(0, product.m, product.n, [&](int64_t i) {
      const T* from = c.data<T>() + i * row_stride;
      T* to = product.c + i * product.ldc;
      for (int64_t j = 0; j < product.n; ++j) {
        if constexpr (std::is_integral_v<T>) {
          using U = std::make_unsigned_t<T>;
          to[j] = static_cast<T>(static_cast<U>(beta) * static_cast<U>(from[j * column_stride]));
        } else {
          to[j] = beta * from[j * column_stride];
        }
      }
    });
  }

  GemmAttributes attributes_;
};

template <template <class> class Operation, class... Arguments>
KernelResult MakeProductKernel(const KernelSpec& spec, const Arguments&... arguments) {
  switch (spec.input_type(0).dtype) {
    case DType::kInt32: return MakePlannedKernel(spec, Operation<int32_t>(arguments...));
    case DType::kInt64: return MakePlannedKernel(spec, Operation<int64_t>(arguments...));
    case DType::kUint32: return MakePlannedKernel(spec, Operation<uint32_t>(arguments...));
    case DType::kUint64: return MakePlannedKernel(spec, Operation<uint64_t>(arguments...));
    default: return MakeFloatKernel<Operation>(spec, arguments...);
  }
}

bool IsInteger(DType dtype) {
  return DispatchInteger(dtype, [](auto) {});
}

bool IsSmallInteger(float value) { return value == std::floor(value) && std::fabs(value) <= 1 << 24; }

}  // namespace

KernelResult MakeMatMul(const KernelSpec& spec) {
  const Shape& dims = spec.input_type(0).dims;
  int64_t rows = dims.empty() ? -1 : 1;
  for (size_t i = 0; i + 1 < dims.size(); ++i) rows = dims[i] < 0 || rows < 0 ? -1 : rows * dims[i];
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<const PackedMatrix> packed, Packed(spec, false, rows));
  return MakeProductKernel<MatMul>(spec, std::move(packed));
}

KernelResult MakeGemm(const KernelSpec& spec) {
  const Primitive& primitive = spec.primitive();
  GemmAttributes attributes{primitive.GetInt("transA", 0) != 0, primitive.GetInt("transB", 0) != 0,
                            primitive.GetFloat("alpha", 1.0f), primitive.GetFloat("beta", 1.0f), nullptr};
  if (IsInteger(spec.input_type(0).dtype) && !(IsSmallInteger(attributes.alpha) && IsSmallInteger(attributes.beta)))
    return Error(StatusCode::kNotSupported, "Gemm of integers with alpha {} and beta {} is not supported",
                 attributes.alpha, attributes.beta);
  // Unknown rows are the pictures of a classifier, of which there is mostly one.
  const Shape& dims = spec.output_type(0).dims;
  const int64_t rows = dims.empty() || dims[0] < 0 ? 1 : dims[0];
  DEPUTY_ASSIGN_OR_RETURN(attributes.packed, Packed(spec, attributes.transpose_b, rows));
  return MakeProductKernel<GeneralProduct>(spec, attributes);
}

}  // namespace deputy::host
