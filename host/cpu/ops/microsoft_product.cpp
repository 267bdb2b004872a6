// FusedMatMul, TransposeMatMul and MatMulNBits of com.microsoft on the CPU.
#include <algorithm>
#include <array>
#include <utility>

#include "base/aligned.hpp"
#include "cpu/makers.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "cpu/ops/refusals.hpp"
#include "kernels/matrix_product.hpp"
#include "kernels/slots.hpp"
#include "kernels/transpose.hpp"
#include "tensor/shape.hpp"
#include "tensor/small_dims.hpp"

namespace deputy::host {
namespace {

struct FactorAttributes {
  bool matrix, batches;  // exchange the last two axes; bring the first axis behind the batches before that
};

struct ProductAttributes {
  FactorAttributes a, b;
  float alpha;
};

// A factor as the product meets it.
struct Factor {
  SmallDims batch;
  int64_t rows = 1, columns = 1;
  bool turned = false;  // stored as [columns, rows]
  bool moved = false;   // its first axis is brought behind the batches
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
  int64_t rows, columns, block, bits;  // of the matrix as it is multiplied

  int64_t blocks() const { return (rows + block - 1) / block; }
  int64_t row_bytes() const { return blocks() * (block / 8 * bits); }  // of one of its columns, which lie row by row
  int64_t zero_bytes() const { return (blocks() * bits + 7) / 8; }
};

// A product with a matrix of integers of few bits, which have a scale and a zero point for each block of a column. A
// few columns at a time are widened into panels and multiplied, so that the wide matrix is never in memory.
template <class T>
class BlockProduct {
 public:
  static constexpr uint32_t kTypedInputs = 0b100101, kTypedOutputs = 0b1;
  struct Plan {
    int64_t rows = 0, panels = 0, together = 1;  // panels, and those of one item of work
    size_t panel_bytes = 0, slot_bytes = 0;
    size_t workspace_bytes = 0;
  };

  explicit BlockProduct(BlockAttributes attributes) : attributes_(attributes) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const BlockAttributes& own = attributes_;
    const ConstView a = args.input(0), b = args.input(1), scales = args.input(2), zeros = args.input(3);
    if (a.rank() == 0 || a.dims().back() != own.rows)
      return Error(StatusCode::kInvalidArgument, "an input of shape {} meets {} rows", ShapeToString(a.dims()),
                   own.rows);
    SmallDims wanted(a.dims());
    wanted[a.rank() - 1] = own.columns;
    DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(0).dims(), {wanted.data(), wanted.size()}, "the output"));
    const auto holds = [](const ConstView& x, int64_t count) { return x.element_count() == count; };
    if (b.dtype() != DType::kUint8 || !holds(b, own.columns * own.row_bytes()) ||
        !holds(scales, own.columns * own.blocks()))
      return Error(StatusCode::kInvalidArgument, "{} bytes and {} scales for {} columns of {} blocks",
                   b.element_count(), scales.element_count(), own.columns, own.blocks());
    if (zeros.present()) {
      const bool packed = zeros.dtype() == DType::kUint8;
      if (!packed && zeros.dtype() != a.dtype())
        return Error(StatusCode::kInvalidArgument, "zero points of {}", NameOf(zeros.dtype()));
      if (!holds(zeros, own.columns * (packed ? own.zero_bytes() : own.blocks())))
        return Error(StatusCode::kInvalidArgument, "zero points of shape {}", ShapeToString(zeros.dims()));
    }
    if (args.input(5).present() && !holds(args.input(5), own.columns))
      return Error(StatusCode::kInvalidArgument, "a bias of shape {}", ShapeToString(args.input(5).dims()));
    Plan plan;
    plan.rows = ElementCount(a.dims().first(a.rank() - 1));
    const int64_t width = linalg::PanelWidth<T>();
    plan.panels = (own.columns + width - 1) / width;
    plan.together = plan.rows > 8 ? std::min<int64_t>(4, plan.panels) : 1;
    plan.panel_bytes = AlignUp(static_cast<size_t>(plan.together * width * own.rows) * sizeof(T));
    plan.slot_bytes = plan.panel_bytes + AlignUp(linalg::GemmWorkspace(Product(plan, plan.together * width)));
    plan.workspace_bytes = static_cast<size_t>(SlotCount(args.pool, Items(plan))) * plan.slot_bytes;
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    if (plan.rows == 0) return {};
    const int64_t width = linalg::PanelWidth<T>(), columns = attributes_.columns;
    T* const y = args.output(0).data<T>();
    ForEachInSlots(args.pool, Items(plan), [&](int64_t item, int64_t slot) {
      char* const memory = static_cast<char*>(workspace) + static_cast<size_t>(slot) * plan.slot_bytes;
      const int64_t first = item * plan.together * width;
      const int64_t count = std::min(plan.together * width, columns - first);
      for (int64_t at = 0; at < count; at += width)
        Widen(args, first + at, std::min(width, count - at), reinterpret_cast<T*>(memory) + at * attributes_.rows);
      linalg::GemmArgs<T> product = Product(plan, count);
      product.a = args.input(0).data<T>();
      product.b = reinterpret_cast<const T*>(memory);
      product.c = y + first;
      const T* const bias = args.input(5).present() ? args.input(5).data<T>() + first : nullptr;
      product.beta = bias == nullptr ? T(0) : T(1);
      for (int64_t row = 0; bias != nullptr && row < plan.rows; ++row)
        std::copy_n(bias, count, product.c + row * columns);
      linalg::Gemm(product, memory + plan.panel_bytes);
    });
    return {};
  }

 private:
  int64_t Items(const Plan& plan) const { return (plan.panels + plan.together - 1) / plan.together; }

  linalg::GemmArgs<T> Product(const Plan& plan, int64_t columns) const {
    linalg::GemmArgs<T> product;
    product.m = plan.rows;
    product.n = columns;
    product.k = product.lda = attributes_.rows;
    product.ldb = linalg::PanelWidth<T>() * attributes_.rows;
    product.b_in_panels = true;
    product.ldc = attributes_.columns;
    return product;
  }

  // Columns [first, first + count) as a panel, padded with zeros.
  void Widen(const KernelArgs& args, int64_t first, int64_t count, T* panel) const {
    const BlockAttributes& own = attributes_;
    const int64_t width = linalg::PanelWidth<T>();
    if (count < width) std::fill_n(panel, width * own.rows, T(0));
    for (int64_t block = 0; block < own.blocks(); ++block) {
      const int64_t begin = block * own.block, end = std::min(own.rows, begin + own.block);
      for (int64_t column = 0; column < count; ++column) {
        const uint8_t* const bytes = args.input(1).data<uint8_t>() + (first + column) * own.row_bytes();
        const T scale = args.input(2).data<T>()[(first + column) * own.blocks() + block];
        const T zero = ZeroPoint(args.input(3), first + column, block);
        T* const to = panel + column;
        if (own.bits == 4) {
          for (int64_t i = begin; i < end; ++i)
            to[i * width] = (static_cast<T>(bytes[i / 2] >> (i % 2 * 4) & 15) - zero) * scale;
        } else if (own.bits == 8) {
          for (int64_t i = begin; i < end; ++i) to[i * width] = (static_cast<T>(bytes[i]) - zero) * scale;
        } else {
          for (int64_t i = begin; i < end; ++i)
            to[i * width] = (static_cast<T>(bytes[i / 4] >> (i % 4 * 2) & 3) - zero) * scale;
        }
      }
    }
  }

  // Without one it is the middle of the range.
  T ZeroPoint(const ConstView& zeros, int64_t column, int64_t block) const {
    const int64_t bits = attributes_.bits;
    if (!zeros.present()) return static_cast<T>(int64_t{1} << (bits - 1));
    if (zeros.dtype() != DType::kUint8) return zeros.data<T>()[column * attributes_.blocks() + block];
    const int64_t bit = block * bits;
    const int byte = zeros.data<uint8_t>()[column * attributes_.zero_bytes() + bit / 8];
    return static_cast<T>(byte >> (bit % 8) & ((1 << bits) - 1));
  }

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
