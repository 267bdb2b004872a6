// Values that pass from run to run: resource variables, and the states of SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "support/temp_folder.hpp"
#include "unit/tflite/model_writer.hpp"

namespace deputy::test {
namespace {

// A CALL_ONCE that assigns `values` to the variable.
void Initialize(ModelWriter& model, const std::string& variable, const std::vector<float>& values) {
  const int32_t subgraph = model.BeginSubgraph();
  const int32_t handle = model.Handle(variable);
  const int32_t constant = model.Constant<float>({static_cast<int32_t>(values.size())}, values);
  model.Add(fb::BuiltinOperator_ASSIGN_VARIABLE, {handle, constant}, {});
  model.EndSubgraph();
  model.Add(fb::BuiltinOperator_CALL_ONCE, {}, {}, model.With(103, fb::CreateCallOnceOptions(model.fbb, subgraph)));
}

int32_t Read(ModelWriter& model, int32_t handle, const std::vector<int32_t>& dims = {1}) {
  const int32_t made = model.Tensor(kFloat, dims);
  model.Add(fb::BuiltinOperator_READ_VARIABLE, {handle}, {made});
  return made;
}

int32_t Sum(ModelWriter& model, int32_t a, int32_t b, const std::vector<int32_t>& dims = {1}) {
  const int32_t made = model.Tensor(kFloat, dims);
  model.Add(fb::BuiltinOperator_ADD, {a, b}, {made});
  return made;
}

// Adds its input to a total that begins with 10: the total before and after.
std::string Counter() {
  ModelWriter model;
  const int32_t x = model.Input(kFloat, {1});
  Initialize(model, "total", {10});
  const int32_t handle = model.Handle("total"), before = Read(model, handle);
  model.Add(fb::BuiltinOperator_ASSIGN_VARIABLE, {handle, Sum(model, before, x)}, {});
  return model.Finish({before, Read(model, handle)});
}

// Every output of a run; the first element of each.
std::vector<float> NextRun(Session& session, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> outputs;
  const Status status = session.Predict(inputs, &outputs);
  EXPECT_TRUE(status.ok()) << status.ToString();
  std::vector<float> firsts;
  for (const Tensor& output : outputs) firsts.push_back(output.values<float>()[0]);
  return firsts;
}
std::vector<float> NextRun(Session& session, float x) { return NextRun(session, {TensorOf<float>({1}, {x})}); }

using Floats = std::vector<float>;

TEST(TfliteStates, AVariableBeginsAsCallOnceSaysAndPassesFromRunToRun) {
  Model model;
  ASSERT_TRUE(Build(Counter(), model).ok());
  EXPECT_TRUE(model.has_states());
  EXPECT_EQ(model.inputs().size(), 1u);
  EXPECT_EQ(model.outputs().size(), 2u);
  Session session = *model.CreateSession();
  EXPECT_EQ(NextRun(session, 1), (Floats{10, 11}));
  EXPECT_EQ(NextRun(session, 5), (Floats{11, 16}));
  EXPECT_EQ(NextRun(session, -6), (Floats{16, 10}));
}

TEST(TfliteStates, EachSessionHasItsOwn) {
  Model model;
  ASSERT_TRUE(Build(Counter(), model).ok());
  Session one = *model.CreateSession(), other = *model.CreateSession();
  EXPECT_EQ(NextRun(one, 1), (Floats{10, 11}));
  EXPECT_EQ(NextRun(one, 1), (Floats{11, 12}));
  EXPECT_EQ(NextRun(other, 5), (Floats{10, 15}));
  EXPECT_EQ(NextRun(one, 1), (Floats{12, 13}));
  Session third = *model.CreateSession();
  EXPECT_EQ(NextRun(third, 0), (Floats{10, 10}));
}

TEST(TfliteStates, ResetBeginsAnew) {
  Model model;
  ASSERT_TRUE(Build(Counter(), model).ok());
  Session session = *model.CreateSession();
  EXPECT_EQ(NextRun(session, 1), (Floats{10, 11}));
  ASSERT_TRUE(session.ResetStates().ok());
  EXPECT_EQ(NextRun(session, 2), (Floats{10, 12}));
}

TEST(TfliteStates, AReloadKeepsThem) {
  const std::string bytes = Counter();
  Context context;
  Model model;
  ASSERT_TRUE(model.Build(bytes.data(), bytes.size(), ModelType::kTflite, context).ok());
  Session session = *model.CreateSession(), busy = *model.CreateSession();
  EXPECT_EQ(NextRun(session, 1), (Floats{10, 11}));
  ASSERT_TRUE(context.Reload().ok());
  EXPECT_EQ(NextRun(session, 5), (Floats{11, 16}));
  ASSERT_TRUE(context.Reload().ok());
  ASSERT_TRUE(session.ResetStates().ok());
  EXPECT_EQ(NextRun(session, 2), (Floats{10, 12}));
  EXPECT_EQ(NextRun(busy, 0), (Floats{10, 10}));
}

TEST(TfliteStates, ARunThatFailsChangesNothing) {
  ModelWriter writer;
  const int32_t x = writer.Input(kFloat, {1}), rows = writer.Input(fb::TensorType_INT32, {1});
  Initialize(writer, "total", {10});
  const int32_t handle = writer.Handle("total"), before = Read(writer, handle), after = Sum(writer, before, x);
  writer.Add(fb::BuiltinOperator_ASSIGN_VARIABLE, {handle, after}, {});
  const int32_t table = writer.Constant<float>({2, 1}, {0, 1}), row = writer.Tensor(kFloat, {1, 1});
  writer.Add(fb::BuiltinOperator_GATHER, {table, rows}, {row});
  Model model;
  ASSERT_TRUE(Build(writer.Finish({before, row}), model).ok());
  Session session = *model.CreateSession();
  const Tensor one = TensorOf<float>({1}, {1});
  EXPECT_EQ(NextRun(session, {one, TensorOf<int32_t>({1}, {1})}), (Floats{10, 1}));
  std::vector<Tensor> outputs;
  EXPECT_FALSE(session.Predict({one, TensorOf<int32_t>({1}, {77})}, &outputs).ok());
  EXPECT_EQ(NextRun(session, {one, TensorOf<int32_t>({1}, {0})}), (Floats{11, 0}));
}

TEST(TfliteStates, InputsOfAnotherShapeGoOnWithThem) {
  ModelWriter writer;
  const int32_t x = writer.Input(kFloat, {1}, {}, {-1}), axes = writer.Constant<int32_t>({1}, {0});
  Initialize(writer, "total", {10});
  const int32_t sum = writer.Tensor(kFloat, {1}), handle = writer.Handle("total"), before = Read(writer, handle);
  writer.Add(fb::BuiltinOperator_SUM, {x, axes}, {sum}, writer.With(27, fb::CreateReducerOptions(writer.fbb, true)));
  writer.Add(fb::BuiltinOperator_ASSIGN_VARIABLE, {handle, Sum(writer, before, sum)}, {});
  Model model;
  ASSERT_TRUE(Build(writer.Finish({before}), model).ok());
  Session session = *model.CreateSession();
  EXPECT_EQ(NextRun(session, {TensorOf<float>({2}, {1, 2})}), (Floats{10}));
  EXPECT_EQ(NextRun(session, {TensorOf<float>({3}, {1, 2, 3})}), (Floats{13}));
  EXPECT_EQ(NextRun(session, {TensorOf<float>({2}, {0, 0})}), (Floats{19}));
}

// What is assigned has as many elements as there are flags set, or as the input where that has two.
TEST(TfliteStates, AShapeThatAVariableCannotHaveChangesNothing) {
  ModelWriter writer;
  const int32_t x = writer.Input(kFloat, {1}, {}, {-1}), flags = writer.Input(fb::TensorType_BOOL, {2});
  Initialize(writer, "last", {10});
  const int32_t positions = writer.Tensor(fb::TensorType_INT64, {1, 1}), row = writer.Constant<int32_t>({1}, {-1});
  const int32_t flat = writer.Tensor(fb::TensorType_INT64, {1}), numbers = writer.Tensor(kFloat, {1});
  writer.Add(fb::BuiltinOperator_WHERE, {flags}, {positions});
  writer.Add(fb::BuiltinOperator_RESHAPE, {positions, row}, {flat});
  writer.Add(fb::BuiltinOperator_CAST, {flat}, {numbers});
  const int32_t handle = writer.Handle("last"), before = Read(writer, handle);
  writer.Add(fb::BuiltinOperator_ASSIGN_VARIABLE, {handle, Sum(writer, numbers, x)}, {});
  Model model;
  ASSERT_TRUE(Build(writer.Finish({before}), model).ok());
  Session session = *model.CreateSession();
  const Tensor one = TensorOf<float>({1}, {5}), two = TensorOf<float>({2}, {5, 5});
  Tensor second = *Tensor::Allocate(DType::kBool, {2});
  second.mutable_values<bool>()[0] = false;
  second.mutable_values<bool>()[1] = true;
  EXPECT_EQ(NextRun(session, {one, second}), (Floats{10}));
  std::vector<Tensor> outputs;
  const Status status = session.Predict({two, second}, &outputs);
  ExpectSays(status.ToString(), "is float32 [2], but the state is float32 [1]");
  EXPECT_EQ(NextRun(session, {TensorOf<float>({1}, {7}), second}), (Floats{6}));
  EXPECT_EQ(NextRun(session, {one, second}), (Floats{8}));
}

TEST(TfliteStates, TwoVariablesMayExchangeTheirValues) {
  ModelWriter writer;
  const int32_t x = writer.Input(kFloat, {1});
  Initialize(writer, "a", {1});
  Initialize(writer, "b", {2});
  const int32_t a = writer.Handle("a"), b = writer.Handle("b");
  const int32_t first = Read(writer, a), second = Read(writer, b);
  writer.Add(fb::BuiltinOperator_ASSIGN_VARIABLE, {a, second}, {});
  writer.Add(fb::BuiltinOperator_ASSIGN_VARIABLE, {b, first}, {});
  Model model;
  ASSERT_TRUE(Build(writer.Finish({Sum(writer, first, x), Sum(writer, second, x)}), model).ok());
  Session session = *model.CreateSession();
  EXPECT_EQ(NextRun(session, 0), (Floats{1, 2}));
  EXPECT_EQ(NextRun(session, 0), (Floats{2, 1}));
  EXPECT_EQ(NextRun(session, 0), (Floats{1, 2}));
}

TEST(TfliteStates, AVariableMayBecomeAnInputOrAConstant) {
  ModelWriter writer;
  const int32_t x = writer.Input(kFloat, {1});
  Initialize(writer, "last", {1});
  Initialize(writer, "once", {2});
  const int32_t last = writer.Handle("last"), once = writer.Handle("once");
  const int32_t first = Read(writer, last), second = Read(writer, once);
  writer.Add(fb::BuiltinOperator_ASSIGN_VARIABLE, {last, x}, {});
  writer.Add(fb::BuiltinOperator_ASSIGN_VARIABLE, {once, writer.Constant<float>({1}, {7})}, {});
  Model model;
  ASSERT_TRUE(Build(writer.Finish({first, second}), model).ok());
  Session session = *model.CreateSession();
  EXPECT_EQ(NextRun(session, 5), (Floats{1, 2}));
  EXPECT_EQ(NextRun(session, 6), (Floats{5, 7}));
  EXPECT_EQ(NextRun(session, 0), (Floats{6, 7}));
}

TEST(TfliteStates, AVariableThatIsAssignedBeforeItIsReadIsNoState) {
  ModelWriter writer;
  const int32_t x = writer.Input(kFloat, {1}), handle = writer.Handle("scratch");
  writer.Add(fb::BuiltinOperator_ASSIGN_VARIABLE, {handle, x}, {});
  Model model;
  ASSERT_TRUE(Build(writer.Finish({Sum(writer, Read(writer, handle), x)}), model).ok());
  EXPECT_FALSE(model.has_states());
  Session session = *model.CreateSession();
  EXPECT_EQ(NextRun(session, 4), (Floats{8}));
}

TEST(TfliteStates, AVariableThatNothingAssignedIsRefusedByName) {
  ModelWriter writer;
  const int32_t x = writer.Input(kFloat, {1}), handle = writer.Handle("nowhere");
  const int32_t before = Read(writer, handle);
  writer.Add(fb::BuiltinOperator_ASSIGN_VARIABLE, {handle, x}, {});
  ExpectSays(Refusal(writer.Finish({before})),
             "operator 1 (READ_VARIABLE version 1): variable 'nowhere' is read before it is assigned");
}

TEST(TfliteStates, AVariableThatChangesItsShapeIsRefusedByName) {
  ModelWriter writer;
  const int32_t x = writer.Input(kFloat, {2});
  Initialize(writer, "grows", {1});
  const int32_t handle = writer.Handle("grows"), before = Read(writer, handle);
  writer.Add(fb::BuiltinOperator_ASSIGN_VARIABLE, {handle, x}, {});
  ExpectSays(Refusal(writer.Finish({before})), "variable 'grows' is float32 [1] before a run and float32 [2] after it");
}

TEST(TfliteStates, ACallOnceThatComesTooLateOrComputesIsRefused) {
  ModelWriter late;
  late.Input(kFloat, {1});
  Initialize(late, "a", {1});
  const int32_t before = Read(late, late.Handle("a"));
  Initialize(late, "a", {2});
  ExpectSays(Refusal(late.Finish({before})), "initializes variable 'a' after it was used");

  ModelWriter computes;
  computes.Input(kFloat, {1});
  const int32_t subgraph = computes.BeginSubgraph();
  const int32_t handle = computes.Handle("b"), one = computes.Constant<float>({1}, {1});
  computes.Add(fb::BuiltinOperator_ASSIGN_VARIABLE, {handle, Sum(computes, one, one)}, {});
  computes.EndSubgraph();
  computes.Add(fb::BuiltinOperator_CALL_ONCE, {}, {},
               computes.With(103, fb::CreateCallOnceOptions(computes.fbb, subgraph)));
  ExpectSays(Refusal(computes.Finish({Read(computes, computes.Handle("b"))})),
             "initializes variable 'b' with a computed value, which is not supported");
}

TEST(TfliteStates, OperandsThatAreNoVariablesAreRefused) {
  ModelWriter reads, writes, adds;
  reads.Input(kFloat, {1});
  ExpectSays(Refusal(reads.Finish({Read(reads, 0)})), "is not a variable, but one is required");
  const int32_t x = writes.Input(kFloat, {1});
  writes.Add(fb::BuiltinOperator_ASSIGN_VARIABLE, {x, x}, {});
  ExpectSays(Refusal(writes.Finish({x})), "is not a variable, but one is required");
  const int32_t y = adds.Input(kFloat, {1});
  ExpectSays(Refusal(adds.Finish({Sum(adds, y, adds.VariableTensor(kFloat, {1}))})),
             "is a variable, which this operator does not support");
}

TEST(TfliteStates, AnyByteMayBeWrong) { ExpectNoByteDoesHarm(Counter()); }

TEST(TfliteStates, ConvertedModelsKeepThem) {
  Model model, converted;
  ASSERT_TRUE(Build(Counter(), model).ok());
  const host::TempFolder folder;
  const std::string path = folder.path() / "counter.dpm";
  ASSERT_TRUE(model.Save(path).ok());
  const Status built = converted.Build(path, Context());
  ASSERT_TRUE(built.ok()) << built.ToString();
  EXPECT_EQ(converted.inputs().size(), 1u);
  EXPECT_EQ(converted.outputs().size(), 2u);
  Session session = *converted.CreateSession();
  EXPECT_EQ(NextRun(session, 1), (Floats{10, 11}));
  EXPECT_EQ(NextRun(session, 5), (Floats{11, 16}));
}

TEST(TfliteStates, AnSvdfWeighsTheFeaturesOfItsLastRuns) {
  ModelWriter writer;
  const int32_t x = writer.Input(kFloat, {1, 1}), feature = writer.Constant<float>({1, 1}, {2});
  const int32_t time = writer.Constant<float>({1, 3}, {100, 10, 1}), bias = writer.Constant<float>({1}, {0.5f});
  const int32_t state = writer.VariableTensor(kFloat, {1, 3}), y = writer.Tensor(kFloat, {1, 1});
  writer.Add(fb::BuiltinOperator_SVDF, {x, feature, time, bias, state}, {y},
             writer.With(6, fb::CreateSvdfOptions(writer.fbb, 1)));
  Model model;
  ASSERT_TRUE(Build(writer.Finish({y}), model).ok());
  Session session = *model.CreateSession();
  Floats made;
  for (const float value : {1.0f, 2.0f, 3.0f, 4.0f})
    made.push_back(NextRun(session, {TensorOf<float>({1, 1}, {value})})[0]);
  EXPECT_EQ(made, (Floats{2.5f, 24.5f, 246.5f, 468.5f}));
}

TEST(TfliteStates, AnSvdfOfIntegersRoundsItsFeatures) {
  ModelWriter writer;
  const int32_t x = writer.Input(fb::TensorType_INT8, {1, 1}, {{0.5f}, {-1}});
  const int32_t feature = writer.Constant<int8_t>({1, 1}, {3}, {{0.25f}, {0}});
  const int32_t time = writer.Constant<int16_t>({1, 2}, {4, 2}, {{0.5f}, {0}});
  const int32_t bias = writer.Constant<int32_t>({1}, {6});  // in steps of 0.5 * 0.5
  const int32_t state = writer.VariableTensor(fb::TensorType_INT16, {1, 2}, {{0.5f}, {0}});
  const int32_t y = writer.Tensor(fb::TensorType_INT8, {1, 1}, {{0.25f}, {-100}});
  writer.Add(fb::BuiltinOperator_SVDF, {x, feature, time, bias, state}, {y},
             writer.With(6, fb::CreateSvdfOptions(writer.fbb, 1, fb::Activation_RELU)), 3);
  Model model;
  ASSERT_TRUE(Build(writer.Finish({y}), model).ok());
  Session session = *model.CreateSession();
  std::vector<int> made;
  for (const int8_t value : {int8_t{9}, int8_t{2}}) {
    std::vector<Tensor> outputs;
    ASSERT_TRUE(session.Predict({TensorOf<int8_t>({1, 1}, {value})}, &outputs).ok());
    made.push_back(outputs[0].values<int8_t>()[0]);
  }
  // Features 10 * 0.5 * 3 * 0.25 = 3.75, of 7.5 steps that are rounded to 8, and 1.125, of 2.25 steps that are 2.
  EXPECT_EQ(made, (std::vector<int>{-100 + 8 * 2 + 6, -100 + 8 * 4 + 2 * 2 + 6}));
}

struct LstmCase {
  bool coupled, projects;
};

class Lstms : public testing::TestWithParam<LstmCase> {};

// One input, one cell; the sum over all runs so far is what one sequence gives.
TEST_P(Lstms, GoOnWhereTheLastRunEnded) {
  const auto [coupled, projects] = GetParam();
  const float w[4] = {0.5f, -0.3f, 0.8f, 0.4f}, r[4] = {0.2f, 0.1f, -0.6f, 0.7f}, b[4] = {0.1f, 0.2f, -0.1f, 0.3f};
  ModelWriter writer;
  std::vector<int32_t> inputs{writer.Input(kFloat, {1, 2, 1})};
  for (const float(*set)[4] : {&w, &r})
    for (int gate = 0; gate < 4; ++gate)
      inputs.push_back(coupled && gate == 0 ? -1 : writer.Constant<float>({1, 1}, {(*set)[gate]}));
  for (int i = 0; i < 3; ++i) inputs.push_back(-1);
  for (int gate = 0; gate < 4; ++gate)
    inputs.push_back(coupled && gate == 0 ? -1 : writer.Constant<float>({1}, {b[gate]}));
  inputs.push_back(projects ? writer.Constant<float>({1, 1}, {1.5f}) : -1);
  inputs.push_back(-1);
  for (int i = 0; i < 2; ++i) inputs.push_back(writer.VariableTensor(kFloat, {1, 1}));
  const int32_t y = writer.Tensor(kFloat, {1, 2, 1});
  writer.Add(fb::BuiltinOperator_UNIDIRECTIONAL_SEQUENCE_LSTM, inputs, {y},
             writer.With(71, fb::CreateSequenceLstmOptions(writer.fbb, fb::Activation_TANH)));
  Model model;
  const Status built = Build(writer.Finish({y}), model);
  ASSERT_TRUE(built.ok()) << built.ToString();
  Session session = *model.CreateSession();

  double h = 0, c = 0;
  const auto sigmoid = [](double value) { return 1 / (1 + std::exp(-value)); };
  for (const Floats& sequence : {Floats{1, -2}, Floats{0.5f, 3}, Floats{-1, 0}}) {
    std::vector<Tensor> outputs;
    ASSERT_TRUE(session.Predict({TensorOf<float>({1, 2, 1}, sequence)}, &outputs).ok());
    for (size_t t = 0; t < 2; ++t) {
      double gates[4];
      for (int gate = 0; gate < 4; ++gate)
        gates[gate] = static_cast<double>(sequence[t]) * static_cast<double>(w[gate]) +
                      h * static_cast<double>(r[gate]) + static_cast<double>(b[gate]);
      const double forget = sigmoid(gates[1]), in = coupled ? 1 - forget : sigmoid(gates[0]);
      c = forget * c + in * std::tanh(gates[2]);
      h = sigmoid(gates[3]) * std::tanh(c) * (projects ? 1.5 : 1);
      EXPECT_NEAR(outputs[0].values<float>()[t], h, 1e-6) << "step " << t;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Lstms,
                         testing::Values(LstmCase{false, false}, LstmCase{true, false}, LstmCase{false, true},
                                         LstmCase{true, true}));

TEST(TfliteStates, AnSvdfOrLstmWithoutItsStateIsRefused) {
  ModelWriter writer;
  const int32_t x = writer.Input(kFloat, {1, 1}), feature = writer.Constant<float>({1, 1}, {2});
  const int32_t time = writer.Constant<float>({1, 3}, {1, 1, 1}), y = writer.Tensor(kFloat, {1, 1});
  const int32_t state = writer.VariableTensor(kFloat, {1, 4});
  writer.Add(fb::BuiltinOperator_SVDF, {x, feature, time, -1, state}, {y},
             writer.With(6, fb::CreateSvdfOptions(writer.fbb, 1)));
  ExpectSays(Refusal(writer.Finish({y})), "operator 0 (SVDF version 1): the shapes of the weights and of the state");
  ModelWriter other;
  const int32_t z = other.Input(kFloat, {1, 1, 1}), made = other.Tensor(kFloat, {1, 1, 1});
  other.Add(fb::BuiltinOperator_UNIDIRECTIONAL_SEQUENCE_LSTM, {z}, {made},
            other.With(71, fb::CreateSequenceLstmOptions(other.fbb, fb::Activation_TANH)));
  ExpectSays(Refusal(other.Finish({made})), "has 1 inputs");
}

}  // namespace
}  // namespace deputy::test
