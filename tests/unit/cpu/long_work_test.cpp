// Kernels whose work is long stop soon after the run has ended, also where their outputs are small. Each case would
// take seconds; the run ends after milliseconds, and the processor time that the kernel takes is limited, not the time
// by the clock: other processes of the machine do not count. The inputs are zeros that take no memory.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/cancellation.hpp"
#include "unit/cpu/long_cases.hpp"
#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

constexpr uint64_t kLimitNs = 10'000'000;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kMostLateNs = 4'000'000'000;  // half a second was read on a machine without other work
#else
constexpr uint64_t kMostLateNs = 500'000'000;
#endif
constexpr const char* kMicrosoft = "com.microsoft";

using Work = LongCase;

uint64_t ProcessorNs() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Memory that is not touched before the kernel does.
class LazyAllocator final : public OutputAllocator {
 public:
  Status Allocate(deputy_tensor* view, std::span<const int64_t> dims) override {
    dims_.emplace_back(std::make_unique<Dims>(dims.begin(), dims.end()));
    DEPUTY_ASSIGN_OR_RETURN(const size_t bytes, ByteSize(static_cast<DType>(view->dtype), dims));
    mappings_.push_back(std::make_unique<Mapping>(bytes, PROT_READ | PROT_WRITE));
    view->struct_size = sizeof *view;
    view->rank = static_cast<uint32_t>(dims.size());
    view->dims = dims_.back()->data();
    view->data = mappings_.back()->data();
    view->byte_size = bytes;
    return {};
  }

 private:
  std::vector<std::unique_ptr<Dims>> dims_;
  std::vector<std::unique_ptr<Mapping>> mappings_;
};

class LongWork : public testing::TestWithParam<Work> {};

void ExpectToEndWithTheRun(const Work& one) {
  LongKernel kernel;
  ASSERT_NO_FATAL_FAILURE(kernel.Make(one));
  // On a machine without free memory the system's own work counts as well: the best of three.
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < 3 && least > 2 * kLimitNs + kMostLateNs; ++i) {
    LazyAllocator allocator;
    ASSERT_NO_FATAL_FAILURE(kernel.Allocate(allocator));
    const uint64_t before = ProcessorNs();
    const CancellationToken token{NowNs() + kLimitNs};
    const CancellationScope scope(&token);
    const Status status = kernel.Run(allocator);
    EXPECT_TRUE(scope.stopped()) << "the work is too short for a test: " << status.ToString();
    least = std::min(least, ProcessorNs() - before);
  }
  EXPECT_LE(least, 2 * kLimitNs + kMostLateNs);
}

TEST_P(LongWork, R173_EndsWithTheRun) { ExpectToEndWithTheRun(GetParam()); }

// Numbers that are no zeros.
Tensor Waves(Shape shape) {
  std::vector<float> values(static_cast<size_t>(ElementCount(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i % 1009) + 1);
  return TensorOf<float>(std::move(shape), values);
}

// Times two inputs, the second of which is a matrix.
void AddProducts(std::vector<Work>& cases) {
  const auto add = [&](const std::string& name, PrimitiveBuilder node, std::vector<Tensor> inputs) {
    cases.push_back({name, std::move(node), std::move(inputs)});
  };
  constexpr int64_t kSide = 4096, kLong = 1 << 14;
  const Tensor scale = ScalarOf<float>(1), zero = ScalarOf<uint8_t>(0), rows = Lazy({kLong, kLong});
  const Tensor bytes = Lazy({kLong, kLong}, DType::kUint8), halves = Lazy({kSide, kSide}, DType::kUint8);
  for (const DType dtype : {DType::kInt32, DType::kInt64, DType::kUint32, DType::kUint64}) {
    const Tensor matrix = Lazy({kSide, kSide}, dtype);
    add(std::string("MatMul_") + NameOf(dtype), Newest("MatMul"), {matrix, matrix});
    add(std::string("Gemm_") + NameOf(dtype), Newest("Gemm").Set("transB", int64_t{1}), {matrix, matrix, matrix});
    add(std::string("Einsum_") + NameOf(dtype), Newest("Einsum").Set("equation", std::string("ij,jk->ik")),
        {matrix, matrix});
  }
  const Tensor flat = Lazy({1, 1 << 26}, DType::kInt64), tall = Lazy({1 << 26, 8}, DType::kInt64);
  add("MatMul_one_row", Newest("MatMul"), {flat, tall});
  add("MatMul_many", Newest("MatMul"),
      {Lazy({1 << 14, 64, 64}, DType::kInt32), Lazy({1 << 14, 64, 64}, DType::kInt32)});
  add("MatMul_float", Newest("MatMul"), {rows, rows});
  add("Gemm_float", Newest("Gemm"), {rows, rows});
  add("Einsum_sum", Newest("Einsum").Set("equation", std::string("ij->")), {Lazy({1 << 14, 1 << 16})});
  add("Einsum_sums", Newest("Einsum").Set("equation", std::string("ij->i")), {Lazy({64, 1 << 24})});
  add("MatMulInteger", Newest("MatMulInteger"), {bytes, bytes});
  add("QLinearMatMul", Newest("QLinearMatMul"), {bytes, scale, zero, bytes, scale, zero, scale, zero});
  add("Microsoft_FusedMatMul", Newest("FusedMatMul", kMicrosoft), {rows, rows});
  add("Microsoft_TransposeMatMul", Newest("TransposeMatMul", kMicrosoft), {rows, rows});
  add("Microsoft_FusedGemm", Newest("FusedGemm", kMicrosoft), {rows, rows});
  add("Microsoft_MatMulIntegerToFloat", Newest("MatMulIntegerToFloat", kMicrosoft), {bytes, bytes, scale, scale});
  add("Microsoft_DynamicQuantizeMatMul", Newest("DynamicQuantizeMatMul", kMicrosoft), {rows, bytes, scale});
  add("Microsoft_MatMulNBits",
      Newest("MatMulNBits", kMicrosoft)
          .Set("K", kLong)
          .Set("N", kLong)
          .Set("bits", int64_t{4})
          .Set("block_size", int64_t{32}),
      {rows, Lazy({kLong, kLong / 32, 16}, DType::kUint8), Lazy({kLong * kLong / 32})});
}

void AddConvolutions(std::vector<Work>& cases) {
  const auto add = [&](const std::string& name, PrimitiveBuilder node, std::vector<Tensor> inputs) {
    cases.push_back({name, std::move(node), std::move(inputs)});
  };
  const Tensor scale = ScalarOf<float>(1), zero = ScalarOf<uint8_t>(0);
  const Tensor image = Lazy({1, 1 << 16, 64, 64}), filters = Lazy({64, 1 << 16, 3, 3});
  const Tensor bytes = Lazy({1, 1 << 16, 64, 64}, DType::kUint8), whole = Lazy({64, 1 << 16, 3, 3}, DType::kUint8);
  add("Conv_channels", Newest("Conv"), {image, filters});
  add("Conv_taps", Newest("Conv"), {Lazy({1, 1, 4096, 4096}), Lazy({1, 1, 512, 512})});
  add("Conv_depthwise", Newest("Conv").Set("group", int64_t{4}), {Lazy({1, 4, 4096, 4096}), Lazy({4, 1, 255, 255})});
  add("Conv_depthwise_filters", Newest("Conv").Set("group", int64_t{2}),
      {Lazy({1, 2, 256, 256}), Lazy({2048, 1, 31, 31})});
  add("Conv_depthwise_line", Newest("Conv").Set("group", int64_t{2}), {Lazy({1, 2, 1 << 22}), Lazy({2, 1, 1 << 14})});
  add("Microsoft_FusedConv", Newest("FusedConv", kMicrosoft), {image, filters});
  add("ConvInteger", Newest("ConvInteger"), {bytes, whole});
  add("QLinearConv", Newest("QLinearConv"), {bytes, scale, zero, whole, scale, zero, scale, zero});
  add("ConvTranspose", Newest("ConvTranspose"), {Lazy({1, 1024, 128, 128}), Lazy({1024, 1024, 5, 5})});
  add("DeformConv", Newest("DeformConv").Set("pads", Dims{1, 1, 1, 1}),
      {Lazy({64, 1 << 10, 64, 64}), Lazy({1, 1 << 10, 3, 3}), Lazy({64, 18, 64, 64})});
  for (const DType dtype : {DType::kFloat32, DType::kInt32})
    add(std::string("Col2Im_") + NameOf(dtype), Newest("Col2Im"),
        {Lazy({1, 1 << 12, 1 << 18}, dtype), ListOf<int64_t>({575, 575}), ListOf<int64_t>({64, 64})});
}

void AddWindows(std::vector<Work>& cases) {
  const auto add = [&](const std::string& name, PrimitiveBuilder node, std::vector<Tensor> inputs, size_t outputs = 1) {
    cases.push_back({name, std::move(node), std::move(inputs), outputs});
  };
  const Tensor plane = Lazy({1, 1, 1 << 14, 1 << 14});
  const Dims kernel = {1 << 13, 1 << 13};
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) add(op, Newest(op).Set("kernel_shape", kernel), {plane});
  add("MaxPool_indices", Newest("MaxPool").Set("kernel_shape", kernel), {plane}, 2);
  add("MaxPool_bytes", Newest("MaxPool").Set("kernel_shape", kernel), {Lazy({1, 1, 1 << 14, 1 << 14}, DType::kUint8)});
  add("LpPool_one", Newest("LpPool").Set("kernel_shape", Dims{1 << 29}).Set("p", int64_t{3}), {Lazy({1, 1, 1 << 29})});
  add("GlobalLpPool", Newest("GlobalLpPool"), {Lazy({1 << 12, 1 << 12, 64})});
  for (const char* op : {"GlobalAveragePool", "GlobalMaxPool"}) add(op, Newest(op), {Lazy({1, 64, 1 << 26})});
  add("LRN", Newest("LRN").Set("size", int64_t{4095}), {Lazy({1, 1 << 12, 64, 64})});
  add("GridSample", Newest("GridSample").Set("mode", std::string("cubic")),
      {Lazy({1, 1 << 14, 4, 4}), Lazy({1, 64, 64, 2})});
  add("GridSample_channels", Newest("GridSample").Set("mode", std::string("cubic")),
      {Lazy({1, 1 << 24, 4, 4}), Lazy({1, 1, 4, 2})});
  add("RoiAlign",
      Newest("RoiAlign")
          .Set("sampling_ratio", int64_t{4096})
          .Set("output_height", int64_t{16})
          .Set("output_width", int64_t{16}),
      {Lazy({1, 1, 64, 64}), TensorOf<float>({1, 4}, {0, 0, 63, 63}), ListOf<int64_t>({0})});
  std::vector<float> regions;
  for (int i = 0; i < 64; ++i) regions.insert(regions.end(), {0, 0, 0, 1 << 14, 1 << 14});
  add("MaxRoiPool", PrimitiveBuilder("", "MaxRoiPool", 22).Set("pooled_shape", Dims{2, 2}),
      {plane, TensorOf<float>({64, 5}, regions)});
  const auto suppress = [&](const std::string& name, int64_t lists, int64_t boxes) {
    add(name, Newest("NonMaxSuppression"), {Lazy({1, boxes, 4}), Lazy({1, lists, boxes}), ListOf<int64_t>({boxes})});
  };
  suppress("NonMaxSuppression", 80, 60000);
  suppress("NonMaxSuppression_lists", 1 << 16, 900);
  suppress("NonMaxSuppression_order", 1, 1 << 24);
}

void AddLists(std::vector<Work>& cases) {
  const auto add = [&](const std::string& name, PrimitiveBuilder node, std::vector<Tensor> inputs, size_t outputs = 1) {
    cases.push_back({name, std::move(node), std::move(inputs), outputs});
  };
  add("DFT_prime", Newest("DFT"), {Lazy({1, 100003, 1})});
  add("DFT_lines", Newest("DFT"), {Lazy({1 << 12, 1021, 1})});
  add("DFT_table", Newest("DFT"), {Lazy({1, 4, 1}), ScalarOf<int64_t>((1 << 22) + 1)});
  add("DFT_long", Newest("DFT").Set("inverse", int64_t{1}), {Lazy({16, 1 << 22, 2})});
  add("STFT", Newest("STFT"), {Lazy({1, 1 << 20, 1}), ScalarOf<int64_t>(64), Tensor(), ScalarOf<int64_t>(1021)});
  add("Det", Newest("Det"), {Waves({1500, 1500})});
  add("Unique_slices", Newest("Unique").Set("axis", int64_t{0}), {Lazy({1 << 10, 1 << 20})}, 4);
  add("Unique", Newest("Unique"), {Lazy({1 << 24})}, 4);
  add("Unique_unsorted", Newest("Unique").Set("sorted", int64_t{0}), {Lazy({1 << 24})}, 4);
  add("TopK_half", Newest("TopK"), {Lazy({1 << 24}), ListOf<int64_t>({1 << 23})}, 2);
  add("TopK_few", Newest("TopK"), {Lazy({1 << 29}), ListOf<int64_t>({8})}, 2);
  add("TopK_lanes", Newest("TopK"), {Lazy({1 << 10, 1 << 16}), ListOf<int64_t>({1 << 16})}, 2);
  for (const char* op : {"ArgMax", "ArgMin"}) add(op, Newest(op).Set("axis", int64_t{0}), {Lazy({1 << 25, 64})});
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"})
    add(std::string(op) + "_columns", Newest(op).Set("axis", int64_t{0}), {Lazy({1 << 22, 64})});
  add("CumSum", Newest("CumSum"), {Lazy({1 << 22, 64}), ScalarOf<int64_t>(0)});
  for (const char* op : {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
                         "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"}) {
    add(std::string(op) + "_columns", Newest(op), {Lazy({1 << 24, 64}), ListOf<int64_t>({0})});
    add(std::string(op) + "_runs", Newest(op), {Lazy({1 << 22, 4, 4, 16}), ListOf<int64_t>({0, 2})});
    add(std::string(op) + "_all", Newest(op), {Lazy({1 << 29}, DType::kFloat64), ListOf<int64_t>({0})});
  }
  add("ScatterND", Newest("ScatterND").Set("reduction", std::string("add")),
      {Zeros({4}), Lazy({1 << 28, 1}, DType::kInt64), Lazy({1 << 28})});
  add("ScatterND_slices", Newest("ScatterND").Set("reduction", std::string("mul")),
      {Lazy({1, 1 << 20}), Lazy({1 << 10, 1}, DType::kInt64), Lazy({1 << 10, 1 << 20})});
  add("ScatterElements", Newest("ScatterElements").Set("reduction", std::string("mul")),
      {Zeros({4}), Lazy({1 << 28}, DType::kInt64), Lazy({1 << 28})});
  add("Multinomial", Newest("Multinomial").Set("sample_size", int64_t{4096}), {Lazy({1, 1 << 22})});
  add("NonZero", Newest("NonZero"), {Lazy({int64_t{1} << 31}, DType::kUint8)});
  add("TfIdfVectorizer",
      Newest("TfIdfVectorizer")
          .Set("mode", std::string("TF"))
          .Set("min_gram_length", int64_t{1})
          .Set("max_gram_length", int64_t{1})
          .Set("max_skip_count", int64_t{0})
          .Set("ngram_counts", Dims{0})
          .Set("ngram_indexes", Dims{0, 1})
          .Set("pool_int64s", Dims{1, 2}),
      {Lazy({1 << 27}, DType::kInt64)});
  const Tensor classes = Lazy({1 << 27}, DType::kInt64), scores = Lazy({1 << 27, 4});
  add("NegativeLogLikelihoodLoss", Newest("NegativeLogLikelihoodLoss"), {scores, classes});
  add("SoftmaxCrossEntropyLoss", Newest("SoftmaxCrossEntropyLoss"), {scores, classes});
  add("BatchNormalization_training", Newest("BatchNormalization").Set("training_mode", int64_t{1}),
      {Lazy({1 << 22, 16, 8}), Zeros({16}), Zeros({16}), Zeros({16}), Zeros({16})}, 3);
  add("SimplifiedLayerNormalization", Newest("SimplifiedLayerNormalization"),
      {Lazy({1 << 14, 1 << 14}), Zeros({1 << 14})});
}

void AddLayers(std::vector<Work>& cases) {
  const auto add = [&](const std::string& name, PrimitiveBuilder node, std::vector<Tensor> inputs, size_t outputs = 1) {
    cases.push_back({name, std::move(node), std::move(inputs), outputs});
  };
  constexpr int64_t kHidden = 2048;
  const Tensor sequence = Lazy({16, 256, 64});
  const std::map<std::string, int64_t> gates = {{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}};
  for (const auto& [op, count] : gates)
    add(op, Newest(op).Set("hidden_size", kHidden),
        {sequence, Lazy({1, count * kHidden, 64}), Lazy({1, count * kHidden, kHidden})});
  add("LSTM_elements", Newest("LSTM").Set("hidden_size", int64_t{4}),
      {Lazy({4, 1 << 20, 1}), Lazy({1, 16, 1}), Lazy({1, 16, 4})});
  const Tensor queries = Lazy({1, 1, 1 << 12, 64}), keys = Lazy({1, 1, 1 << 18, 64});
  add("Attention", Newest("Attention"), {queries, keys, keys});
  add("Attention_keys", Newest("Attention").Set("softcap", 1.0f),
      {Lazy({1, 1, 1 << 10, 1}), Lazy({1, 1, 1 << 18, 1}), Lazy({1, 1, 1 << 18, 1})});
  add("LinearAttention_readers",
      Newest("LinearAttention")
          .Set("update_rule", std::string("linear"))
          .Set("q_num_heads", int64_t{1 << 12})
          .Set("kv_num_heads", int64_t{1}),
      {Lazy({1, 64, 1 << 20}), Lazy({1, 64, 1 << 8}), Lazy({1, 64, 1 << 8})}, 2);
  add("CausalConvWithState_planes", Newest("CausalConvWithState"), {Lazy({1, 1 << 22, 4}), Lazy({1 << 22, 1, 256})}, 2);
  const Tensor rows = Lazy({1, 1 << 14, 512});
  add("Microsoft_MultiHeadAttention", Newest("MultiHeadAttention", kMicrosoft).Set("num_heads", int64_t{8}),
      {rows, rows, rows});
  add("Microsoft_Attention", Newest("Attention", kMicrosoft).Set("num_heads", int64_t{8}),
      {rows, Lazy({512, 3 * 512}), Zeros({3 * 512})});
}

std::vector<Work> WorkCases() {
  std::vector<Work> cases;
  AddProducts(cases);
  AddConvolutions(cases);
  AddWindows(cases);
  AddLists(cases);
  AddLayers(cases);
  return cases;
}

std::string NameOfWork(const testing::TestParamInfo<Work>& one) { return one.param.name; }
INSTANTIATE_TEST_SUITE_P(Operators, LongWork, testing::ValuesIn(WorkCases()), NameOfWork);

// Their attributes are long, and made for these tests only.
TEST(LongWorkOfRows, R173_TreesEndWithTheRun) {
  constexpr int64_t kNodes = 1 << 17, kTrees = 1 << 15;  // a chain of nodes, the one tree of all roots
  const auto counted = [](int64_t from, int64_t count) {
    Dims numbers;
    for (int64_t i = 0; i < count; ++i) numbers.push_back(from + i);
    return numbers;
  };
  Dims falses = counted(1, kNodes), false_leaves(kNodes, 0);
  falses.back() = 0;
  false_leaves.back() = 1;
  PrimitiveBuilder node = Newest("TreeEnsemble", "ai.onnx.ml");
  node.Set("n_targets", int64_t{1})
      .Set("nodes_featureids", Dims(kNodes, 0))
      .Set("nodes_splits", Lazy({kNodes}))
      .Set("nodes_modes", TensorOf<uint8_t>({kNodes}, std::vector<uint8_t>(kNodes, 1)))
      .Set("nodes_truenodeids", Dims(kNodes, 0))
      .Set("nodes_trueleafs", Dims(kNodes, 1))
      .Set("nodes_falsenodeids", falses)
      .Set("nodes_falseleafs", false_leaves)
      .Set("leaf_targetids", Dims{0})
      .Set("leaf_weights", Zeros({1}))
      .Set("tree_roots", Dims(kTrees, 0));
  ExpectToEndWithTheRun({"TreeEnsemble", node, {Zeros({1, 1})}});
}

TEST(LongWorkOfRows, R173_VectorsOfManyClassesEndWithTheRun) {
  constexpr int64_t kClasses = 3000, kPairs = kClasses * (kClasses - 1) / 2;
  PrimitiveBuilder node = Newest("SVMClassifier", "ai.onnx.ml");
  std::vector<float> zeros(static_cast<size_t>(kPairs), 0.0f);
  for (size_t i = 0; i < zeros.size(); ++i) zeros[i] = static_cast<float>(i % 7) - 3;
  node.Set("classlabels_ints", Dims(kClasses, 1))
      .Set("vectors_per_class", Dims(kClasses, 1))
      .Set("support_vectors", std::vector<float>(kClasses, 0.0f))
      .Set("coefficients", std::vector<float>(kClasses * (kClasses - 1), 0.0f))
      .Set("rho", zeros)
      .Set("prob_a", zeros)
      .Set("prob_b", zeros);
  ExpectToEndWithTheRun({"SVMClassifier", node, {Zeros({1, 1})}, 2});
}

// Operators without a case of their own, and why.
const std::map<std::string, std::string>& OperatorsWithoutCase() {
  static const std::map<std::string, std::string> reasons = [] {
    std::map<std::string, std::string> found;
    for (const char* op : {"If", "Loop", "Scan", "SequenceMap"}) found[op] = "the host runs the nodes of its regions";
    for (const char* op : {"Constant", "Shape", "Size", "OptionalHasElement", "SequenceEmpty", "SequenceLength"})
      found[op] = "a few numbers";
    for (const char* op : {"Optional", "OptionalGetElement", "SequenceAt", "SequenceConstruct", "SequenceErase",
                           "SequenceInsert", "SplitToSequence", "ConcatFromSequence"})
      found[op] = "copies of tensors, in parts";
    for (const char* op :
         {"Crop", "ImageScaler", "Microsoft_BiasGelu", "Microsoft_FastGelu", "Microsoft_Gelu", "Microsoft_QuickGelu",
          "Microsoft_QLinearAdd", "Microsoft_QLinearMul", "Microsoft_QLinearConcat", "Microsoft_QLinearLeakyRelu",
          "Microsoft_QLinearSigmoid", "Microsoft_DequantizeLinear", "Microsoft_QuantizeLinear"})
      found[op] = "a step or few for each element of the output, in pieces of the pool's loop";
    for (const char* op :
         {"Microsoft_QLinearSoftmax", "Microsoft_EmbedLayerNormalization", "Microsoft_SkipLayerNormalization",
          "Microsoft_SkipSimplifiedLayerNormalization", "Microsoft_RotaryEmbedding", "Ml_LinearClassifier",
          "Ml_LinearRegressor", "Ml_SVMClassifier", "Ml_SVMRegressor", "Ml_TreeEnsemble", "Ml_TreeEnsembleClassifier",
          "Ml_TreeEnsembleRegressor"})  // within rows of trees and vectors: LongWorkOfRows
      found[op] = "row by row, in pieces of the pool's loop";
    for (const char* op : {"Affine", "ParametricSoftplus", "Scale", "ScaledTanh", "Ml_Binarizer", "Ml_Imputer",
                           "Ml_Scaler", "Ml_LabelEncoder", "Ml_CategoryMapper", "Ml_OneHotEncoder",
                           "Ml_ArrayFeatureExtractor", "Ml_FeatureVectorizer", "Ml_Normalizer"})
      found[op] = "a step or few for each element of the output, in pieces of the pool's loop";
    found["Microsoft_QGemm"] = "the product of MatMulIntegerToFloat";
    found["Microsoft_GroupQueryAttention"] = "the kernel of Attention";
    found["Microsoft_DynamicQuantizeLSTM"] = "the kernel of LSTM";
    found["Microsoft_QLinearAveragePool"] = "the kernel of AveragePool";
    found["Microsoft_QLinearGlobalAveragePool"] = "one sum for each output, in parts";
    return found;
  }();
  return reasons;
}

// A new operator needs a case here or in long_outputs_test.cpp.
TEST(LongWorkOfOperators, R173_EveryOperatorHasACaseOrAReason) {
  const std::vector<std::string> names = {
#define DEPUTY_OPERATOR_BEGIN(name, ...) #name,
#include "schema/operators.inc"
  };
  std::set<OpKind> tested = OperatorsWithLongOutputs();
  for (const Work& one : WorkCases()) tested.insert(OperatorOf(one.node));
  std::set<std::string> missing, needless;
  for (size_t i = 0; i < names.size(); ++i) {
    const bool has_case = tested.count(static_cast<OpKind>(i + 1)) != 0,
               has_reason = OperatorsWithoutCase().count(names[i]) != 0;
    if (!has_case && !has_reason) missing.insert(names[i]);
    if (has_case && has_reason) needless.insert(names[i]);
  }
  EXPECT_TRUE(missing.empty()) << testing::PrintToString(missing);
  EXPECT_TRUE(needless.empty()) << testing::PrintToString(needless);
  EXPECT_GT(names.size(), 200u);
}

}  // namespace
}  // namespace deputy::host
