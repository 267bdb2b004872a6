// Sequences and optionals on their way through a plan: steps, branches, rounds of a Loop, and the Loop that a
// SequenceMap becomes.
#include "graph/upgrade/upgrade.hpp"
#include "tensor/held_value.hpp"
#include "unit/execute/cpu_plan.hpp"

namespace deputy::host {
namespace {

using Floats = std::vector<float>;

ValueType Sequence() { return {DType::kFloat32, false, {}, ValueKind::kSequence}; }
ValueType OptionalSequence() { return {DType::kFloat32, false, {}, ValueKind::kOptionalSequence}; }
ValueType Scalar(DType dtype) { return {dtype, true, {}}; }

Tensor Row(std::vector<float> values) {
  return *Tensor::FromValues<float>(DType::kFloat32, {static_cast<int64_t>(values.size())}, values);
}
ModelValue SequenceOf(std::vector<Tensor> elements) {
  return *ModelValue::Sequence(DType::kFloat32, std::move(elements));
}

class SequenceTest : public CpuPlanTest {
 protected:
  std::vector<Floats> Elements(ValueId id) const {
    const ModelValue* value = HeldValue(execution_->tensor(id));
    if (value == nullptr || !value->is_sequence()) {
      ADD_FAILURE() << "value " << id << " is no sequence";
      return {};
    }
    std::vector<Floats> elements;
    for (const Tensor& element : value->elements())
      elements.emplace_back(element.values<float>().begin(), element.values<float>().end());
    return elements;
  }
  void BindValue(ValueId id, const ModelValue& value) { execution_->Bind(id, const_cast<ModelValue*>(&value)); }
};

TEST_F(SequenceTest, GoesFromStepToStep) {
  Graph graph;
  const ValueId sequence = graph.AddValue("sequence", Sequence()), x = graph.AddValue("x", FloatType({2}));
  const ValueId longer = graph.AddValue("longer"),
                first = graph.AddConstant("first", *Tensor::Allocate(DType::kInt64, {}));
  const ValueId element = graph.AddValue("element"), turned = graph.AddValue("turned");
  graph.inputs = {sequence, x};
  graph.outputs = {longer, turned};
  graph.nodes = {MakeNode("SequenceInsert", 11, {sequence, x}, {longer}),
                 MakeNode("SequenceAt", 11, {longer, first}, {element}), MakeNode("Neg", 13, {element}, {turned})};
  ASSERT_TRUE(Prepare(graph).ok());
  const ModelValue given = SequenceOf({Row({1, 2, 3})});
  Tensor row = Row({4, 5});
  BindValue(sequence, given);
  execution_->Bind(x, row.mutable_data());
  const Status status = execution_->Run();
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(Elements(longer), (std::vector<Floats>{{1, 2, 3}, {4, 5}}));
  EXPECT_EQ(Values(turned), (Floats{-1, -2, -3}));
}

TEST_F(SequenceTest, AnInputThatIsHandedOnIsAnOutput) {
  Graph graph;
  const ValueId sequence = graph.AddValue("sequence", Sequence());
  graph.inputs = graph.outputs = {sequence};
  ASSERT_TRUE(Prepare(graph).ok());
  const ModelValue given = SequenceOf({Row({1})});
  BindValue(sequence, given);
  ASSERT_TRUE(execution_->Run().ok());
  EXPECT_EQ(Elements(sequence), (std::vector<Floats>{{1}}));
}

// state = state with x put behind, as often as `trips` says; the sequence before it is a capture or a state.
struct GrowingSequenceLoop {
  Graph graph;
  ValueId trips, start, x, last;

  explicit GrowingSequenceLoop(ValueType declared) {
    trips = graph.AddValue("trips", Scalar(DType::kInt64));
    start = graph.AddValue("start", declared);
    x = graph.AddValue("x", FloatType({1}));
    last = graph.AddValue("last");
    graph.inputs = {trips, start, x};
    graph.outputs = {last};
    auto body = std::make_shared<Graph>();
    const ValueId round = body->AddValue("round", Scalar(DType::kInt64));
    const ValueId condition = body->AddValue("condition", Scalar(DType::kBool));
    const ValueId state = body->AddValue("state"), captured = body->AddValue("x"), next = body->AddValue("next");
    body->inputs = {round, condition, state};
    body->captured = {captured};
    body->outputs = {condition, next};
    body->nodes = {MakeNode("SequenceInsert", 11, {state, captured}, {next})};
    Node node = MakeNode("Loop", 16, {trips, kNone, start}, {last});
    node.regions.push_back({"body", body, {x}});
    graph.nodes = {std::move(node)};
  }
};

TEST_F(SequenceTest, IsCarriedFromRoundToRound) {
  GrowingSequenceLoop loop(Sequence());
  const Status prepared = Prepare(loop.graph);
  ASSERT_TRUE(prepared.ok()) << prepared.ToString();
  const ModelValue start = SequenceOf({Row({1, 2})});
  float x = 7;
  BindValue(loop.start, start);
  execution_->Bind(loop.x, &x);
  for (int64_t trips : {3, 0, 1}) {
    execution_->Bind(loop.trips, &trips);
    ASSERT_TRUE(execution_->Run().ok());
    std::vector<Floats> expected = {{1, 2}};
    expected.insert(expected.end(), static_cast<size_t>(trips), Floats{7});
    EXPECT_EQ(Elements(loop.last), expected) << trips;
  }
}

TEST_F(SequenceTest, AnOptionalStateMayBecomeASequence) {
  GrowingSequenceLoop loop(OptionalSequence());
  ASSERT_TRUE(Prepare(loop.graph).ok());
  EXPECT_EQ(plan_->graph->values[loop.last].type.kind, ValueKind::kOptionalSequence);
  const ModelValue start = SequenceOf({});
  float x = 7;
  int64_t trips = 2;
  BindValue(loop.start, start);
  execution_->Bind(loop.x, &x);
  execution_->Bind(loop.trips, &trips);
  ASSERT_TRUE(execution_->Run().ok());
  EXPECT_EQ(Elements(loop.last), (std::vector<Floats>{{7}, {7}}));
}

TEST_F(SequenceTest, AnEmptyOptionalStateIsAnErrorOfTheRun) {
  GrowingSequenceLoop loop(OptionalSequence());
  ASSERT_TRUE(Prepare(loop.graph).ok());
  const ModelValue nothing;
  float x = 7;
  int64_t trips = 2;
  BindValue(loop.start, nothing);
  execution_->Bind(loop.x, &x);
  execution_->Bind(loop.trips, &trips);
  EXPECT_EQ(execution_->Run().message(), "the optional does not contain a sequence");
}

TEST_F(SequenceTest, AStateThatIsASequenceInOneRoundAndATensorInTheNextIsRefused) {
  GrowingSequenceLoop loop(Sequence());
  Graph& body = *loop.graph.nodes[0].regions[0].body;
  body.nodes = {MakeNode("Neg", 13, {body.captured[0]}, {body.outputs[1]})};
  EXPECT_EQ(Prepare(loop.graph).message(), "a value is a sequence in one branch or iteration and a tensor in another");
}

// condition ? Optional(x) : Optional() of the same type.
TEST_F(SequenceTest, BranchesMayGiveSomethingOrNothing) {
  Graph graph;
  const ValueId condition = graph.AddValue("condition", Scalar(DType::kBool)), x = graph.AddValue("x", FloatType({2}));
  const ValueId made = graph.AddValue("made"), there = graph.AddValue("there");
  graph.inputs = {condition, x};
  graph.outputs = {made, there};
  Node branch = MakeNode("If", 16, {condition}, {made});
  auto with = std::make_shared<Graph>(), without = std::make_shared<Graph>();
  with->captured = {with->AddValue("x")};
  with->outputs = {with->AddValue("made")};
  with->nodes = {MakeNode("Optional", 15, with->captured, with->outputs)};
  without->outputs = {without->AddValue("made")};
  without->nodes = {
      MakeNode(PrimitiveBuilder("", "Optional", 15).Set("type", std::string("tensor(float)")), {}, without->outputs)};
  branch.regions = {{"then_branch", with, {x}}, {"else_branch", without, {}}};
  graph.nodes = {std::move(branch), MakeNode("OptionalHasElement", 18, {made}, {there})};
  ASSERT_TRUE(Prepare(graph).ok());
  Tensor row = Row({4, 5});
  execution_->Bind(x, row.mutable_data());
  for (const bool is_taken : {true, false}) {
    uint8_t taken = is_taken ? 1 : 0, answer = 2;
    execution_->Bind(condition, &taken);
    execution_->Bind(there, &answer);
    ASSERT_TRUE(execution_->Run().ok());
    EXPECT_EQ(answer, taken);
    EXPECT_EQ(HeldValue(execution_->tensor(made))->is_tensor(), taken != 0);
  }
}

// sums[i] = walked[i] + whole, and the elements as they are.
TEST_F(SequenceTest, ASequenceMapIsALoopOverTheElements) {
  Graph graph;
  const ValueId walked = graph.AddValue("walked", Sequence()), whole = graph.AddValue("whole", FloatType({1}));
  const ValueId sums = graph.AddValue("sums"), same = graph.AddValue("same");
  graph.inputs = {walked, whole};
  graph.outputs = {sums, same};
  auto body = std::make_shared<Graph>();
  const ValueId a = body->AddValue("a"), b = body->AddValue("b"), sum = body->AddValue("sum");
  body->inputs = {a, b};
  body->outputs = {sum, a};
  body->nodes = {MakeNode("Add", 14, {a, b}, {sum})};
  Node map = MakeNode("SequenceMap", 17, {walked, whole}, {sums, same});
  map.regions = {{"body", body, {}}};
  graph.nodes = {std::move(map)};
  ASSERT_TRUE(UpgradeGraph(graph).ok());
  const Status prepared = Prepare(graph);
  ASSERT_TRUE(prepared.ok()) << prepared.ToString();
  const ModelValue given = SequenceOf({Row({1, 2}), Row({3})});
  float ten = 10;
  BindValue(walked, given);
  execution_->Bind(whole, &ten);
  const Status status = execution_->Run();
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(Elements(sums), (std::vector<Floats>{{11, 12}, {13}}));
  EXPECT_EQ(Elements(same), (std::vector<Floats>{{1, 2}, {3}}));
}

TEST_F(SequenceTest, ASequenceMapWhoseResultHasNoKnownTypeIsRefused) {
  Graph graph;
  const ValueId walked = graph.AddValue("walked", Sequence()), made = graph.AddValue("made");
  graph.inputs = {walked};
  graph.outputs = {made};
  auto body = std::make_shared<Graph>();
  const ValueId a = body->AddValue("a"), b = body->AddValue("b");
  body->inputs = {a};
  body->outputs = {b};
  Node vendors;
  vendors.primitive = PrimitiveBuilder("com.example", "Turn", 1).Finish();
  vendors.inputs = {a};
  vendors.outputs = {b};
  body->nodes = {vendors};
  Node map = MakeNode("SequenceMap", 17, {walked}, {made});
  map.regions = {{"body", body, {}}};
  graph.nodes = {std::move(map)};
  EXPECT_EQ(UpgradeGraph(graph).message(), "the element type of output 0 is unknown");
}

TEST_F(SequenceTest, ElementsAreCheckedAgainstTheTypeThatThePlanHas) {
  Graph graph;
  const ValueId sequence = graph.AddValue("sequence", {DType::kFloat32, true, {2}, ValueKind::kSequence});
  const ValueId first = graph.AddConstant("first", *Tensor::Allocate(DType::kInt64, {}));
  const ValueId element = graph.AddValue("element"), turned = graph.AddValue("turned");
  graph.inputs = {sequence};
  graph.outputs = {turned};
  graph.nodes = {MakeNode("SequenceAt", 11, {sequence, first}, {element}), MakeNode("Neg", 13, {element}, {turned})};
  ASSERT_TRUE(Prepare(graph).ok());
  const ModelValue longer = SequenceOf({Row({1, 2, 3})});
  Tensor place = Row({0, 0});
  BindValue(sequence, longer);
  execution_->Bind(turned, place.mutable_data());
  EXPECT_FALSE(execution_->Run().ok());
  const ModelValue other = *ModelValue::Sequence(DType::kInt64, {*Tensor::Allocate(DType::kInt64, {2})});
  BindValue(sequence, other);
  EXPECT_EQ(execution_->Run().message(), "the result has dtype int64, but float32 in the model");
}

}  // namespace
}  // namespace deputy::host
