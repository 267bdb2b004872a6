// The written files, read with the schema of Deputy's importer.
#include "plugins/tflite_delegate/model_writer.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plugins/tflite_abi/builtin_params.hpp"
#include "tflite_generated.h"

namespace deputy::tflite_delegate {
namespace {

namespace fb = ::deputy::tflite;
using namespace tflite_abi;  // the structs of parameters

// One node that reads tensors 0 to inputs-1 and writes the next one.
SourceGraph OneNode(int32_t number, const void* params, int32_t inputs = 1) {
  SourceGraph graph;
  SourceNode node;
  node.form = FormOf(number);
  node.params = params;
  for (int32_t i = 0; i <= inputs; ++i) {
    graph.tensors[i] = {"t" + std::to_string(i), tflite_abi::kFloat32, {1, 4, 4, 2}, {}, {}, 0, nullptr, 0};
    (i < inputs ? node.inputs : node.outputs).push_back(i);
  }
  graph.nodes.push_back(node);
  return graph;
}

Subset Whole(const SourceGraph& graph) {
  Subset subset;
  for (size_t i = 0; i < graph.nodes.size(); ++i) subset.nodes.push_back(i);
  subset.inputs = {graph.nodes.front().inputs.front()};
  subset.outputs = graph.nodes.back().outputs;
  return subset;
}

class Written {
 public:
  explicit Written(const SourceGraph& graph) : Written(graph, Whole(graph)) {}
  Written(const SourceGraph& graph, const Subset& subset) {
    Result<WrittenModel> made = WriteModel(graph, subset);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    if (!made.ok()) return;
    model_ = std::move(made).value();
    flatbuffers::Verifier verifier(model_.bytes.data(), model_.bytes.size());
    EXPECT_TRUE(fb::VerifyModelBuffer(verifier));
  }
  const fb::Model& model() const { return *fb::GetModel(model_.bytes.data()); }
  const fb::SubGraph& graph() const { return *model().subgraphs()->Get(0); }
  const fb::Operator& op(flatbuffers::uoffset_t i = 0) const { return *graph().operators()->Get(i); }
  template <class T>
  const T& options() const {
    return *reinterpret_cast<const T*>(op().builtin_options());
  }
  const fb::Tensor& tensor(flatbuffers::uoffset_t i) const { return *graph().tensors()->Get(i); }
  const WrittenModel& result() const { return model_; }

 private:
  WrittenModel model_;
};

std::string Refusal(const SourceGraph& graph) { return WriteModel(graph, Whole(graph)).status().ToString(); }

struct Numbers {
  int32_t code;
  uint8_t options;
};

TEST(OperatorForms, HaveTheNumbersOfTheImporter) {
  std::map<std::string, Numbers> importer;
#define TFLITE_OPERATOR(name, newest, options, least, most, outputs, numbers, ...) \
  importer[#name] = {fb::BuiltinOperator_##name, options};
#include "../../host/import/tflite/operators.inc"
  size_t count = 0;
  int32_t before = -1;
  for (int32_t number = 0; number < 256; ++number) {
    const OperatorForm* form = FormOf(number);
    if (form == nullptr) continue;
    ++count;
    EXPECT_EQ(form->number, number);
    EXPECT_GT(number, before);
    before = number;
    if (number == kCustomOperator) continue;
    ASSERT_EQ(importer.count(form->name), 1U) << form->name;
    EXPECT_EQ(importer[form->name].code, number) << form->name;
    EXPECT_EQ(importer[form->name].options, form->options) << form->name;
    EXPECT_EQ(form->options == 0, form->fields.empty()) << form->name;
  }
  EXPECT_GT(count, 100U);
}

TEST(ModelWriter, WritesAConvolution) {
  const ConvParams params{2, 3, 4, 1, 5, 6, 0};
  const Written written(OneNode(fb::BuiltinOperator_CONV_2D, &params, 2));
  EXPECT_EQ(written.model().version(), 3U);
  EXPECT_EQ(written.model().operator_codes()->Get(0)->builtin_code(), fb::BuiltinOperator_CONV_2D);
  EXPECT_EQ(written.op().builtin_options_type(), 1);
  const auto& options = written.options<fb::ConvOptions>();
  EXPECT_EQ(options.padding(), fb::Padding_VALID);
  EXPECT_EQ(options.stride_w(), 3);
  EXPECT_EQ(options.stride_h(), 4);
  EXPECT_EQ(options.activation(), fb::Activation_RELU);
  EXPECT_EQ(options.dilation_w(), 5);
  EXPECT_EQ(options.dilation_h(), 6);
}

TEST(ModelWriter, WritesADepthwiseConvolution) {
  const DepthwiseConvParams params{1, 3, 4, 2, 3, 5, 6};
  const Written written(OneNode(fb::BuiltinOperator_DEPTHWISE_CONV_2D, &params, 2));
  const auto& options = written.options<fb::DepthwiseConvOptions>();
  EXPECT_EQ(options.padding(), fb::Padding_SAME);
  EXPECT_EQ(options.stride_w(), 3);
  EXPECT_EQ(options.stride_h(), 4);
  EXPECT_EQ(options.activation(), fb::Activation_RELU6);
  EXPECT_EQ(options.dilation_w(), 5);
  EXPECT_EQ(options.dilation_h(), 6);
}

TEST(ModelWriter, WritesPoolsAndTransposedConvolutions) {
  const PoolParams pool{1, 2, 3, 4, 5, 3, 0, 0, 0, 0};
  const Written pooled(OneNode(fb::BuiltinOperator_MAX_POOL_2D, &pool));
  const auto& options = pooled.options<fb::PoolOptions>();
  EXPECT_EQ(options.stride_w(), 2);
  EXPECT_EQ(options.stride_h(), 3);
  EXPECT_EQ(options.filter_width(), 4);
  EXPECT_EQ(options.filter_height(), 5);
  EXPECT_EQ(options.activation(), fb::Activation_RELU6);
  const TransposeConvParams transposed{2, 3, 4, 1, 0};
  const Written other(OneNode(fb::BuiltinOperator_TRANSPOSE_CONV, &transposed, 3));
  EXPECT_EQ(other.options<fb::TransposeConvOptions>().stride_w(), 3);
  EXPECT_EQ(other.options<fb::TransposeConvOptions>().activation(), fb::Activation_RELU);
}

TEST(ModelWriter, WritesFlagsNumbersAndLists) {
  const FullyConnectedParams product{1, 1, true, false, 0, nullptr, 0};
  const Written full(OneNode(fb::BuiltinOperator_FULLY_CONNECTED, &product, 2));
  EXPECT_EQ(full.options<fb::FullyConnectedOptions>().weights_format(), 1);
  EXPECT_TRUE(full.options<fb::FullyConnectedOptions>().keep_num_dims());
  const LocalResponseNormParams norm{5, 0.5F, 0.25F, 2};
  const Written normalized(OneNode(fb::BuiltinOperator_LOCAL_RESPONSE_NORMALIZATION, &norm));
  EXPECT_EQ(normalized.options<fb::LocalResponseNormalizationOptions>().radius(), 5);
  EXPECT_EQ(normalized.options<fb::LocalResponseNormalizationOptions>().alpha(), 0.25F);
  const ResizeParams resize{false, true};
  const Written bilinear(OneNode(fb::BuiltinOperator_RESIZE_BILINEAR, &resize, 2));
  EXPECT_FALSE(bilinear.options<fb::ResizeBilinearOptions>().align_corners());
  EXPECT_TRUE(bilinear.options<fb::ResizeBilinearOptions>().half_pixel_centers());
  const StridedSliceParams slice{1, 2, 4, 8, 16, true};
  const Written sliced(OneNode(fb::BuiltinOperator_STRIDED_SLICE, &slice, 4));
  EXPECT_EQ(sliced.options<fb::StridedSliceOptions>().shrink_axis_mask(), 16);
  EXPECT_TRUE(sliced.options<fb::StridedSliceOptions>().offset());
  const SqueezeParams squeeze{{0, 2}, 2};
  const Written squeezed(OneNode(fb::BuiltinOperator_SQUEEZE, &squeeze));
  const auto& dims = *squeezed.options<fb::SqueezeOptions>().squeeze_dims();
  EXPECT_EQ(std::vector<int32_t>(dims.begin(), dims.end()), (std::vector<int32_t>{0, 2}));
  const MirrorPadParams mirror{2};
  const Written padded(OneNode(fb::BuiltinOperator_MIRROR_PAD, &mirror, 2));
  EXPECT_EQ(padded.options<fb::MirrorPadOptions>().mode(), fb::MirrorPadMode_SYMMETRIC);
}

TEST(ModelWriter, RefusesWhatTheFormatHasNoNumberFor) {
  const ConvParams unknown{0, 1, 1, 0, 1, 1, 0}, sigmoid{1, 1, 1, 6, 1, 1, 0};
  EXPECT_NE(Refusal(OneNode(fb::BuiltinOperator_CONV_2D, &unknown, 2)).find("node 0 (CONV_2D): has the padding 0"),
            std::string::npos);
  EXPECT_NE(Refusal(OneNode(fb::BuiltinOperator_CONV_2D, &sigmoid, 2)).find("has the activation 6"), std::string::npos);
  EXPECT_NE(Refusal(OneNode(fb::BuiltinOperator_CONV_2D, nullptr, 2)).find("has no parameters"), std::string::npos);
  const ReshapeParams many{{}, 9};
  EXPECT_NE(Refusal(OneNode(fb::BuiltinOperator_RESHAPE, &many)).find("parameters with 9 elements"), std::string::npos);
}

TEST(ModelWriter, RefusesMoreConstantsThanAFileHolds) {
  const ConvParams params{1, 1, 1, 0, 1, 1, 0};
  SourceGraph graph = OneNode(fb::BuiltinOperator_CONV_2D, &params, 2);
  graph.tensors[1].constant = &params;
  graph.tensors[1].bytes = size_t{3} << 30;
  EXPECT_NE(Refusal(graph).find("3072 MiB"), std::string::npos);
}

TEST(ModelWriter, WritesConstantsAlignedAndQuantization) {
  const ActivationParams params{};
  SourceGraph graph = OneNode(fb::BuiltinOperator_ADD, &params, 2);
  const std::vector<int8_t> elements(32, 7);
  graph.tensors[1].type = tflite_abi::kInt8;
  graph.tensors[1].constant = elements.data();
  graph.tensors[1].bytes = elements.size();
  graph.tensors[1].scales = {0.5F, 0.25F};
  graph.tensors[1].zero_points = {0, -3};
  graph.tensors[1].axis = 3;
  const Written written(graph);
  const fb::Tensor& tensor = written.tensor(1);
  EXPECT_EQ(tensor.type(), fb::TensorType_INT8);
  EXPECT_EQ(tensor.quantization()->scale()->Get(1), 0.25F);
  EXPECT_EQ(tensor.quantization()->zero_point()->Get(1), -3);
  EXPECT_EQ(tensor.quantization()->quantized_dimension(), 3);
  const auto* data = written.model().buffers()->Get(tensor.buffer())->data();
  ASSERT_EQ(data->size(), elements.size());
  EXPECT_EQ(static_cast<int8_t>(data->Get(31)), 7);
  EXPECT_EQ((data->data() - written.result().bytes.data()) % 16, 0);
  EXPECT_EQ(written.model().buffers()->Get(written.tensor(0).buffer())->data(), nullptr);
}

TEST(ModelWriter, GivesEachTensorANameOfItsOwn) {
  const ActivationParams params{};
  SourceGraph graph = OneNode(fb::BuiltinOperator_ADD, &params, 2);
  for (auto& [index, tensor] : graph.tensors) tensor.name = index == 2 ? "" : "same";
  const Written written(graph);
  EXPECT_EQ(written.tensor(0).name()->str(), "same");
  EXPECT_EQ(written.tensor(1).name()->str(), "same#1");
  EXPECT_EQ(written.tensor(2).name()->str(), "#2");
  EXPECT_EQ(written.result().outputs, std::vector<std::string>{"#2"});
}

TEST(ModelWriter, KeepsOmittedInputsVersionsAndIntermediates) {
  const ActivationParams params{};
  SourceGraph graph = OneNode(fb::BuiltinOperator_ADD, &params, 2);
  graph.nodes[0].inputs[1] = -1;
  graph.nodes[0].intermediates = {1};
  graph.nodes[0].version = 4;
  const Written written(graph);
  EXPECT_EQ(written.op().inputs()->Get(1), -1);
  EXPECT_EQ(written.tensor(static_cast<uint32_t>(written.op().intermediates()->Get(0))).name()->str(), "t1");
  EXPECT_EQ(written.model().operator_codes()->Get(0)->version(), 4);
}

TEST(ModelWriter, WritesACustomOperatorWithItsBytes) {
  SourceGraph graph = OneNode(kCustomOperator, nullptr);
  graph.nodes[0].custom_name = "vendor-op";
  graph.nodes[0].custom_options = "abc";
  graph.nodes[0].custom_size = 3;
  const Written written(graph);
  EXPECT_EQ(written.model().operator_codes()->Get(0)->custom_code()->str(), "vendor-op");
  EXPECT_EQ(written.model().operator_codes()->Get(0)->deprecated_builtin_code(), kCustomOperator);
  EXPECT_EQ(written.op().custom_options()->Get(2), 'c');
}

TEST(ModelWriter, WritesOnlyTheNodesOfTheSubset) {
  const ActivationParams params{};
  SourceGraph graph = OneNode(fb::BuiltinOperator_ADD, &params, 2);
  graph.tensors[3] = graph.tensors[2];
  graph.tensors[3].name = "t3";
  SourceNode second = graph.nodes[0];
  second.index = 7;
  second.form = FormOf(fb::BuiltinOperator_RELU);
  second.inputs = {2};
  second.outputs = {3};
  graph.nodes.push_back(second);
  const Written written(graph, {{1}, {2}, {3}});
  EXPECT_EQ(written.graph().operators()->size(), 1U);
  EXPECT_EQ(written.graph().tensors()->size(), 2U);
  EXPECT_EQ(written.tensor(static_cast<uint32_t>(written.graph().inputs()->Get(0))).name()->str(), "t2");
  EXPECT_FALSE(WriteModel(graph, {{1}, {0}, {3}}).ok());
}

TEST(ModelWriter, HasANumberForEveryTypeOfTheImporter) {
  const std::map<tflite_abi::Type, fb::TensorType> expected{
      {tflite_abi::kFloat32, fb::TensorType_FLOAT32},   {tflite_abi::kFloat16, fb::TensorType_FLOAT16},
      {tflite_abi::kInt32, fb::TensorType_INT32},       {tflite_abi::kUInt8, fb::TensorType_UINT8},
      {tflite_abi::kInt64, fb::TensorType_INT64},       {tflite_abi::kBool, fb::TensorType_BOOL},
      {tflite_abi::kInt16, fb::TensorType_INT16},       {tflite_abi::kComplex64, fb::TensorType_COMPLEX64},
      {tflite_abi::kInt8, fb::TensorType_INT8},         {tflite_abi::kFloat64, fb::TensorType_FLOAT64},
      {tflite_abi::kUInt64, fb::TensorType_UINT64},     {tflite_abi::kUInt32, fb::TensorType_UINT32},
      {tflite_abi::kUInt16, fb::TensorType_UINT16},     {tflite_abi::kInt4, fb::TensorType_INT4},
      {tflite_abi::kBFloat16, fb::TensorType_BFLOAT16},
  };
  for (int type = 0; type < 32; ++type) {
    const auto found = expected.find(static_cast<tflite_abi::Type>(type));
    const std::optional<int8_t> made = FileTypeOf(static_cast<tflite_abi::Type>(type));
    ASSERT_EQ(made.has_value(), found != expected.end()) << type;
    EXPECT_TRUE(!made || *made == found->second) << type;
  }
}

}  // namespace
}  // namespace deputy::tflite_delegate
