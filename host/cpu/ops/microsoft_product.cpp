// FusedMatMul, TransposeMatMul and MatMulNBits of com.microsoft on the CPU.
#include <algorithm>
#include <array>
#include <utility>

#include "base/aligned.hpp"
#include "cpu/makers.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "cpu/ops/refusals.hpp"
#include "kernels/block_matrix.hpp"
#include "kernels/matrix_product.hpp"
#include "kernels/transpose.hpp"
#include "tensor/shape.hpp"
#include "tensor/small_dims.hpp"

namespace deputy::host {
namespace {

struct FactorAttributes {
  bool matrix, batches;  // exchange the last two axes; move the first axis behind the batches before that
};

struct ProductAttributes {
  FactorAttributes a, b;
  float alpha;
};

// A factor of the product.
struct Factor {
  SmallDims batch;
  int64_t rows = 1, columns = 1;
  bool turned = false;  // stored as [columns, rows]
  bool moved = false;   // its first axis is moved behind the batches
};

Factor ReadFactor(std::span<const int64_t> dims, FactorAttributes attributes, bool left) {
  Factor factor;
  if (dims.size() == 1) {  // a row on the left, a column on the right
    (left ? factor.columns : factor.rows) = dims[0];
    return factor;
  }
  factor.moved = attributes.batches && dims.size() > 2;
  factor.batch = SmallDims(dims.subspan(factor.moved ? 1 : 0, dims.size() - 2));
  factor.rows = factor.moved ? dims[0] : dims[dims.size() - 2];
  factor.columns = dims.back();
  factor.turned = attributes.matrix;
  if (factor.turned) std::swap(factor.rows, factor.columns);
  return factor;
}

template <class T>
class TurnedProduct {
 public:
  static constexpr uint32_t kTypedInputs = 0b11, kTypedOutputs = 0b1;
  struct Plan {
    Factor a, b;
    SmallDims batch;
    linalg::GemmArgs<T> matrices;
    size_t places[2] = {}, product = 0;
    size_t workspace_bytes = 0;

    BatchedProduct<T> batched() const {
      const auto all = [](const SmallDims& dims) { return std::span<const int64_t>(dims.data(), dims.size()); };
      return {matrices, all(a.batch), all(b.batch), all(batch)};
    }
  };

  explicit TurnedProduct(ProductAttributes attributes) : attributes_(attributes) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const std::span<const int64_t> a = args.input(0).dims(), b = args.input(1).dims(), c = args.output(0).dims();
    const auto wrong = [&] {
      return Error(StatusCode::kInvalidArgument, "shapes {} and {} do not multiply to {}", ShapeToString(a),
                   ShapeToString(b), ShapeToString(c));
    };
    if (a.empty() || b.empty()) return wrong();
    Plan plan;
    plan.a = ReadFactor(a, attributes_.a, true);
    plan.b = ReadFactor(b, attributes_.b, false);
    if (plan.a.columns != plan.b.rows) return wrong();
    SmallDims wanted;
    const size_t rank = std::max(plan.a.batch.size(), plan.b.batch.size());
    for (size_t i = rank; i > 0; --i) {
      const auto extent = [i](const SmallDims& dims) { return i <= dims.size() ? dims[dims.size() - i] : 1; };
      const int64_t x = extent(plan.a.batch), y = extent(plan.b.batch);
      if (x != y && x != 1 && y != 1) return wrong();
      plan.batch.push_back(x == 1 ? y : x);
      wanted.push_back(plan.batch.back());
    }
    if (a.size() > 1) wanted.push_back(plan.a.rows);
    if (b.size() > 1) wanted.push_back(plan.b.columns);
    if (!std::equal(wanted.begin(), wanted.end(), c.begin(), c.end())) return wrong();
    linalg::GemmArgs<T>& matrices = plan.matrices;
    matrices.m = plan.a.rows;
    matrices.k = plan.a.columns;
    matrices.n = matrices.ldc = plan.b.columns;
    matrices.transpose_a = plan.a.turned;
    matrices.transpose_b = plan.b.turned;
    matrices.lda = plan.a.turned ? plan.a.rows : plan.a.columns;
    matrices.ldb = plan.b.turned ? plan.b.rows : plan.b.columns;
    matrices.alpha = static_cast<T>(attributes_.alpha);
    size_t end = 0;
    for (size_t i = 0; i < 2; ++i) {
      plan.places[i] = end;
      if ((i == 0 ? plan.a : plan.b).moved)
        end += AlignUp(static_cast<size_t>(ElementCount(args.input(i).dims())) * sizeof(T));
    }
    plan.product = end;
    plan.workspace_bytes = end + BatchWorkspace(plan.batched(), args.pool);
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    char* const memory = static_cast<char*>(workspace);
    BatchedProduct<T> product = plan.batched();
    product.matrices.a = Place(args, 0, plan.a, memory + plan.places[0]);
    product.matrices.b = Place(args, 1, plan.b, memory + plan.places[1]);
    product.matrices.c = args.output(0).data<T>();
    MultiplyBatch(product, memory + plan.product, args.pool);
    return {};
  }

 private:
  static const T* Place(const KernelArgs& args, size_t input, const Factor& factor, void* memory) {
    const ConstView x = args.input(input);
    if (!factor.moved) return x.data<T>();
    SmallDims axes;
    for (size_t i = 1; i + 1 < x.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
    axes.push_back(0);
    axes.push_back(static_cast<int64_t>(x.rank() - 1));
    Transpose(x.dims(), {axes.data(), axes.size()}, x.data<T>(), memory, sizeof(T), args.pool);
    return static_cast<const T*>(memory);
  }

  ProductAttributes attributes_;
};

struct BlockAttributes {
  int64_t rows, columns, block, bits;  // of the matrix in the product
};

template <class T>
class BlockProduct {
 public:
  static constexpr uint32_t kTypedInputs = 0b100101, kTypedOutputs = 0b1;
  struct Plan {
    BlockMatrix<T> matrix;
    int64_t rows = 0;
    size_t workspace_bytes = 0;
  };

  explicit BlockProduct(BlockAttributes attributes) : attributes_(attributes) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView a = args.input(0), b = args.input(1), scales = args.input(2), zeros = args.input(3);
    Plan plan;
    BlockMatrix<T>& matrix = plan.matrix;
    matrix.rows = attributes_.rows;
    matrix.columns = attributes_.columns;
    matrix.block = attributes_.block;
    matrix.bits = attributes_.bits;
    if (a.rank() == 0 || a.dims().back() != matrix.rows)
      return Error(StatusCode::kInvalidArgument, "an input of shape {} does not fit {} rows", ShapeToString(a.dims()),
                   matrix.rows);
    SmallDims wanted(a.dims());
    wanted[a.rank() - 1] = matrix.columns;
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), {wanted.data(), wanted.size()}, "the output"));
    const auto holds = [](const ConstView& x, int64_t count) { return x.element_count() == count; };
    if (b.dtype() != DType::kUint8 || !holds(b, matrix.columns * matrix.column_bytes()) ||
        !holds(scales, matrix.columns * matrix.blocks()))
      return Error(StatusCode::kInvalidArgument, "{} bytes and {} scales for {} columns of {} blocks",
                   b.element_count(), scales.element_count(), matrix.columns, matrix.blocks());
    if (zeros.present()) {
      const bool packed = zeros.dtype() == DType::kUint8;
      if (!packed && zeros.dtype() != a.dtype())
        return Error(StatusCode::kInvalidArgument, "zero points of {}", NameOf(zeros.dtype()));
      if (!holds(zeros, matrix.columns * (packed ? matrix.zero_bytes() : matrix.blocks())))
        return Error(StatusCode::kInvalidArgument, "zero points of shape {}", ShapeToString(zeros.dims()));
    }
    if (args.input(5).present() && !holds(args.input(5), matrix.columns))
      return Error(StatusCode::kInvalidArgument, "a bias of shape {}", ShapeToString(args.input(5).dims()));
    plan.rows = ElementCount(a.dims().first(a.rank() - 1));
    plan.workspace_bytes = BlockProductWorkspace(matrix, plan.rows, args.pool);
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    const ConstView zeros = args.input(3), bias = args.input(5);
    BlockMatrix<T> matrix = plan.matrix;
    matrix.bytes = args.input(1).data<uint8_t>();
    matrix.scales = args.input(2).data<T>();
    if (zeros.present() && zeros.dtype() == DType::kUint8) matrix.packed_zeros = zeros.data<uint8_t>();
    if (zeros.present() && zeros.dtype() != DType::kUint8) matrix.zero_points = zeros.data<T>();
    MultiplyBlocks(matrix, plan.rows, args.input(0).data<T>(), bias.present() ? bias.data<T>() : nullptr,
                   args.output(0).data<T>(), workspace, args.pool);
    return {};
  }

 private:
  BlockAttributes attributes_;
};

KernelResult MakeTurnedProduct(const KernelSpec& spec) {
  const auto says = [&](std::string_view name) { return spec.primitive().GetInt(name, 0) != 0; };
  const ProductAttributes attributes{{says("transA"), says("transBatchA")},
                                     {says("transB"), says("transBatchB")},
                                     spec.primitive().GetFloat("alpha", 1.0f)};
  return MakeFloatKernel<TurnedProduct>(spec, attributes);
}

}  // namespace

KernelResult MakeMicrosoft_FusedMatMul(const KernelSpec& spec) { return MakeTurnedProduct(spec); }
KernelResult MakeMicrosoft_TransposeMatMul(const KernelSpec& spec) { return MakeTurnedProduct(spec); }

KernelResult MakeMicrosoft_MatMulNBits(const KernelSpec& spec) {
  const Primitive& primitive = spec.primitive();
  DEPUTY_RETURN_IF_ERROR(RefuseUnless(spec, "weight_prepacked", 0));
  DEPUTY_RETURN_IF_ERROR(RefuseInput(spec, 4, "g_idx"));
  const BlockAttributes attributes{primitive.GetInt("K", 0), primitive.GetInt("N", 0),
                                   primitive.GetInt("block_size", 0), primitive.GetInt("bits", 4)};
  constexpr int64_t kMost = int64_t{1} << 31;
  const int64_t least = std::min({attributes.rows, attributes.columns, attributes.block});
  if (least < 1 || std::max({attributes.rows, attributes.columns, attributes.block}) > kMost || attributes.block < 16 ||
      (attributes.block & (attributes.block - 1)) != 0)
    return Error(StatusCode::kModel, "a matrix of {} rows and {} columns in blocks of {}", attributes.rows,
                 attributes.columns, attributes.block);
  if (attributes.bits != 2 && attributes.bits != 4 && attributes.bits != 8)
    return Error(StatusCode::kNotSupported, "MatMulNBits with bits {}", attributes.bits);
  return MakeFloatKernel<BlockProduct>(spec, attributes);
}

}  // namespace deputy::host
