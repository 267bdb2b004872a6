// Subgraphs that operators call, and complex numbers, against numbers worked out here.
#include <cmath>

#include "unit/tflite/model_writer.hpp"

namespace deputy::test {
namespace {

// A subgraph of one operator on one input.
int32_t SubgraphOf(ModelWriter& model, fb::BuiltinOperator code) {
  const int32_t index = model.BeginSubgraph();
  const int32_t x = model.Input(kFloat, {2}), y = model.Tensor(kFloat, {2});
  model.Add(code, {x}, {y});
  model.EndSubgraph({y});
  return index;
}

std::string IfModel() {
  ModelWriter model;
  const int32_t then_subgraph = SubgraphOf(model, fb::BuiltinOperator_NEG);
  const int32_t else_subgraph = SubgraphOf(model, fb::BuiltinOperator_SQUARE);
  const int32_t condition = model.Input(fb::TensorType_BOOL, {}), x = model.Input(kFloat, {2});
  const int32_t y = model.Tensor(kFloat, {2});
  model.Add(fb::BuiltinOperator_IF, {condition, x}, {y},
            model.With(92, fb::CreateIfOptions(model.fbb, then_subgraph, else_subgraph)));
  return model.Finish({y});
}

Tensor Bool(bool value) {
  const std::vector<uint8_t> bytes{value};
  return Tensor::FromValues<uint8_t>(DType::kBool, {}, std::span<const uint8_t>(bytes)).value();
}

TEST(TfliteSubgraphs, AnIfRunsTheBranchThatTheConditionNames) {
  const std::string bytes = IfModel();
  const Tensor x = TensorOf<float>({2}, {3, -4});
  EXPECT_EQ(ValuesOf<float>(Predict(bytes, {Bool(true), x})[0]), (std::vector<float>{-3, 4}));
  EXPECT_EQ(ValuesOf<float>(Predict(bytes, {Bool(false), x})[0]), (std::vector<float>{9, 16}));
}

std::string WhileModel() {
  ModelWriter model;
  const int32_t cond = model.BeginSubgraph();
  {
    const int32_t x = model.Input(kFloat, {}), most = model.Constant<float>({}, {100});
    const int32_t less = model.Tensor(fb::TensorType_BOOL, {});
    model.Add(fb::BuiltinOperator_LESS, {x, most}, {less});
    model.EndSubgraph({less});
  }
  const int32_t body = model.BeginSubgraph();
  {
    const int32_t x = model.Input(kFloat, {}), twice = model.Tensor(kFloat, {});
    model.Add(fb::BuiltinOperator_ADD, {x, x}, {twice});
    model.EndSubgraph({twice});
  }
  const int32_t x = model.Input(kFloat, {}), y = model.Tensor(kFloat, {});
  model.Add(fb::BuiltinOperator_WHILE, {x}, {y}, model.With(93, fb::CreateWhileOptions(model.fbb, cond, body)));
  return model.Finish({y});
}

TEST(TfliteSubgraphs, AWhileAsksBeforeEachRound) {
  const std::string bytes = WhileModel();
  EXPECT_EQ(ValuesOf<float>(Predict(bytes, {TensorOf<float>({}, {3})})[0]), std::vector<float>{192});
  EXPECT_EQ(ValuesOf<float>(Predict(bytes, {TensorOf<float>({}, {101})})[0]), std::vector<float>{101});
}

TEST(TfliteSubgraphs, AnyByteMayBeWrong) {
  ExpectNoByteDoesHarm(IfModel());
  ExpectNoByteDoesHarm(WhileModel());
}

TEST(TfliteSubgraphs, ASubgraphThatCallsItselfIsRefused) {
  ModelWriter model;
  const int32_t own = model.BeginSubgraph();
  {
    const int32_t x = model.Input(kFloat, {2}), y = model.Tensor(kFloat, {2});
    const int32_t condition = model.Tensor(fb::TensorType_BOOL, {});
    const int32_t zero = model.Constant<float>({}, {0}), one = model.Constant<float>({}, {1});
    model.Add(fb::BuiltinOperator_LESS, {zero, one}, {condition});
    model.Add(fb::BuiltinOperator_IF, {condition, x}, {y}, model.With(92, fb::CreateIfOptions(model.fbb, own, own)));
    model.EndSubgraph({y});
  }
  const int32_t condition = model.Input(fb::TensorType_BOOL, {}), x = model.Input(kFloat, {2});
  const int32_t y = model.Tensor(kFloat, {2});
  model.Add(fb::BuiltinOperator_IF, {condition, x}, {y}, model.With(92, fb::CreateIfOptions(model.fbb, own, own)));
  ExpectSays(Refusal(model.Finish({y})), "subgraph 1 calls itself");
}

TEST(TfliteSubgraphs, SubgraphsThatUnfoldToFarTooManyOperatorsAreRefused) {
  ModelWriter model;
  int32_t inner = SubgraphOf(model, fb::BuiltinOperator_NEG);
  for (int depth = 0; depth < 20; ++depth) {
    const int32_t outer = model.BeginSubgraph();
    const int32_t x = model.Input(kFloat, {2}), y = model.Tensor(kFloat, {2});
    const int32_t condition = model.Tensor(fb::TensorType_BOOL, {}), sum = model.Tensor(kFloat, {});
    const int32_t axes = model.Constant<int32_t>({1}, {0}), zero = model.Constant<float>({}, {0});
    model.Add(fb::BuiltinOperator_SUM, {x, axes}, {sum});
    model.Add(fb::BuiltinOperator_LESS, {sum, zero}, {condition});
    model.Add(fb::BuiltinOperator_IF, {condition, x}, {y},
              model.With(92, fb::CreateIfOptions(model.fbb, inner, inner)));
    model.EndSubgraph({y});
    inner = outer;
  }
  const int32_t condition = model.Input(fb::TensorType_BOOL, {}), x = model.Input(kFloat, {2});
  const int32_t y = model.Tensor(kFloat, {2});
  model.Add(fb::BuiltinOperator_IF, {condition, x}, {y}, model.With(92, fb::CreateIfOptions(model.fbb, inner, inner)));
  ExpectSays(Refusal(model.Finish({y})), "expands to far more than the file size");
}

TEST(TfliteSubgraphs, ACallThatDoesNotFitIsRefused) {
  const struct {
    int32_t then_subgraph;
    std::vector<int32_t> extra;
    const char* says;
  } cases[] = {{7, {}, "subgraph index 7 is out of range"},
               {0, {}, "subgraph index 0 is out of range"},
               {-1, {}, "subgraph index -1 is out of range"},
               {1, {1}, "subgraph 1: has 1 inputs, but is called with 2"}};
  for (const auto& it : cases) {
    ModelWriter model;
    const int32_t neg = SubgraphOf(model, fb::BuiltinOperator_NEG);
    const int32_t condition = model.Input(fb::TensorType_BOOL, {}), x = model.Input(kFloat, {2});
    const int32_t y = model.Tensor(kFloat, {2});
    std::vector<int32_t> inputs{condition, x};
    inputs.insert(inputs.end(), it.extra.begin(), it.extra.end());
    model.Add(fb::BuiltinOperator_IF, inputs, {y},
              model.With(92, fb::CreateIfOptions(model.fbb, it.then_subgraph, neg)));
    ExpectSays(Refusal(model.Finish({y})), it.says);
  }
}

TEST(TfliteComplex, RealPartsImaginaryPartsAndMagnitudesOfATransform) {
  ModelWriter model;
  const int32_t x = model.Input(kFloat, {1, 1, 4}), length = model.Constant<int32_t>({2}, {1, 4});
  const int32_t spectrum = model.Tensor(fb::TensorType_COMPLEX64, {1, 1, 3});
  const int32_t flat = model.Tensor(fb::TensorType_COMPLEX64, {3}), shape = model.Constant<int32_t>({1}, {3});
  const int32_t real = model.Tensor(kFloat, {3}), imag = model.Tensor(kFloat, {3}), abs = model.Tensor(kFloat, {3});
  model.Add(fb::BuiltinOperator_RFFT2D, {x, length}, {spectrum});
  model.Add(fb::BuiltinOperator_RESHAPE, {spectrum, shape}, {flat});
  model.Add(fb::BuiltinOperator_REAL, {flat}, {real});
  model.Add(fb::BuiltinOperator_IMAG, {flat}, {imag});
  model.Add(fb::BuiltinOperator_COMPLEX_ABS, {flat}, {abs});
  const std::vector<Tensor> made = Predict(model.Finish({real, imag, abs}), {TensorOf<float>({1, 1, 4}, {1, 2, 3, 5})});
  EXPECT_EQ(ValuesOf<float>(made[0]), (std::vector<float>{11, -2, -3}));
  EXPECT_EQ(ValuesOf<float>(made[1]), (std::vector<float>{0, 3, 0}));
  const std::vector<float> magnitudes = ValuesOf<float>(made[2]);
  EXPECT_NEAR(magnitudes[1], std::sqrt(13.0f), 1e-6f);
}

TEST(TfliteComplex, OtherOperatorsOnComplexNumbersAreRefusedByName) {
  ModelWriter model;
  const int32_t x = model.Input(kFloat, {1, 4}), length = model.Constant<int32_t>({2}, {1, 4});
  const int32_t spectrum = model.Tensor(fb::TensorType_COMPLEX64, {1, 3});
  const int32_t sum = model.Tensor(fb::TensorType_COMPLEX64, {1, 3});
  model.Add(fb::BuiltinOperator_RFFT2D, {x, length}, {spectrum});
  model.Add(fb::BuiltinOperator_MUL, {spectrum, spectrum}, {sum});
  ExpectSays(Refusal(model.Finish({sum})), "operator 1 (MUL version 1): has the complex tensor 'tensor2'");
}

}  // namespace
}  // namespace deputy::test
