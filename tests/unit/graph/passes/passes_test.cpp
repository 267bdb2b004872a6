#include "graph/passes/passes.hpp"

#include <set>

#include "unit/graph/passes/pass_graph.hpp"

namespace deputy::host {
namespace {

// For each pass of the list a graph with something to do for it, and what is left of it.
struct Work {
  PassGraph made;
  std::string before, after;
};

Work WorkFor(Pass pass) {
  Work work;
  PassGraph& made = work.made;
  const ValueId x = made.Input("x", {1, 2, 2});
  switch (pass) {
    case Pass::kFoldConstants:
      made.Output(made.Node("Add", {x, made.Node("Neg", {made.Constant(Floats({1}, {1}))})}));
      work.before = "Neg,Add";
      work.after = "Add";
      break;
    case Pass::kFoldShapes:
      made.Output(made.Node("Reshape", {x, made.Node("Shape", {made.Node("Flatten", {x})})}));
      work.before = "Flatten,Shape,Reshape";
      work.after = "Reshape";
      break;
    case Pass::kDropIdentities:
      made.Output(made.Node("Relu", {made.Node("Identity", {x})}));
      work.before = "Identity,Relu";
      work.after = "Relu";
      break;
    case Pass::kMergeDuplicates:
      made.Output(made.Node("Add", {made.Node("Relu", {x}), made.Node("Relu", {x})}));
      work.before = "Relu,Relu,Add";
      work.after = "Relu,Add";
      break;
    case Pass::kCancelTransposes:
      made.Output(made.Node("Relu", {made.Transpose(made.Transpose(x, {1, 2, 0}), {2, 0, 1})}));
      work.before = "Transpose,Transpose,Relu";
      work.after = "Relu";
      break;
    case Pass::kFoldBatchNorm: {
      const ValueId y = made.Node("Conv", {x, made.Constant(Floats({1, 2, 1}, {1, 2}))});
      made.Output(made.Node("Mul", {y, made.Constant(Floats({1}, {2}))}));
      work.before = "Conv,Mul";
      work.after = "Conv";
      break;
    }
    case Pass::kDropUnused:
      made.Node("Neg", {x});
      made.Output(made.Node("Relu", {x}));
      work.before = "Neg,Relu";
      work.after = "Relu";
      break;
  }
  return work;
}

TEST(Passes, EachCanBeSwitchedOff) {
  for (const PassInfo& info : AllPasses()) {
    const Work work = WorkFor(info.pass);
    EXPECT_EQ(Operators(Passed(work.made.graph, NoPasses())), work.before) << info.key;
    EXPECT_EQ(Operators(Passed(work.made.graph, PassOptions().Off(info.pass))), work.before) << info.key;
    PassOptions only = Only(info.pass);
    // Shape arithmetic leaves readers behind that nobody needs.
    if (info.pass == Pass::kFoldShapes) only.off[static_cast<size_t>(Pass::kDropUnused)] = false;
    EXPECT_EQ(Operators(Passed(work.made.graph, only)), work.after) << info.key;
  }
}

TEST(Passes, KeysAreDifferentAndEachSaysWhatItDoes) {
  std::set<std::string_view> keys;
  for (const PassInfo& info : AllPasses()) {
    EXPECT_TRUE(keys.insert(info.key).second) << info.key;
    EXPECT_FALSE(info.text.empty()) << info.key;
  }
  EXPECT_EQ(keys.size(), kPassCount);
}

TEST(Passes, WithoutEvaluatorNothingIsFolded) {
  const Work work = WorkFor(Pass::kFoldConstants);
  Graph graph = work.made.graph;
  ASSERT_TRUE(RunPasses(graph, PassOptions()).ok());
  EXPECT_EQ(Operators(graph), "Neg,Add");
}

// A random graph of what the passes look for: shapes of rank 3, so that everything fits everything.
PassGraph RandomGraph(Numbers& numbers, std::vector<Tensor>& inputs) {
  PassGraph made;
  const int64_t extent = 3;
  std::vector<ValueId> pool;
  for (const char* name : {"a", "b"}) {
    pool.push_back(made.Input(name, {extent, extent, extent}));
    inputs.push_back(numbers.Floats({extent, extent, extent}));
  }
  const auto any = [&] { return pool[pool.size() - 1 - numbers.Below(std::min<size_t>(pool.size(), 4))]; };
  const auto constant = [&](const Shape& shape) { return made.Constant(numbers.Floats(shape, 0.5f, 1)); };
  const size_t nodes = 3 + numbers.Below(25);
  for (size_t i = 0; i < nodes; ++i) {
    ValueId y = kNone;
    switch (numbers.Below(14)) {
      case 0: y = made.Node("Identity", {any()}); break;
      case 1: y = made.Transpose(any(), numbers.Below(2) == 0 ? Dims{1, 2, 0} : Dims{2, 0, 1}); break;
      case 2: y = made.Transpose(any(), {0, 2, 1}); break;
      case 3: y = made.Node("Tanh", {any()}); break;
      case 4: y = made.Node("Add", {any(), any()}); break;
      case 5: y = made.Node("Mul", {any(), constant({numbers.Below(2) == 0 ? 1 : extent, 1})}); break;
      case 6: y = made.Node("Sub", {constant({1}), any()}); break;
      case 7: y = made.Node("Conv", {any(), constant({extent, extent, 1}), constant({extent})}); break;
      case 8:
        y = made.Node("BatchNormalization",
                      {any(), constant({extent}), constant({extent}), constant({extent}), constant({extent})});
        break;
      case 9: y = made.Node("Reshape", {made.Node("Flatten", {any()}), made.Node("Shape", {any()})}); break;
      case 10:
        y = made.Node("Squeeze", {made.Node("Unsqueeze", {any(), made.Constant(Ints({1}))}), made.Constant(Ints({1}))});
        break;
      case 11: y = made.Node("Mul", {any(), made.Constant(Floats({}, {1}))}); break;
      case 12: y = made.Node("Sigmoid", {any()}); break;
      default: y = made.Node("Mul", {any(), made.Node("Neg", {constant({extent, 1, 1})})}); break;
    }
    pool.push_back(y);
  }
  for (size_t i = 0; i < 1 + numbers.Below(3); ++i) made.Output(any());
  return made;
}

TEST(Passes, RandomGraphsComputeTheSame) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Numbers numbers(seed);
    std::vector<Tensor> inputs;
    const PassGraph made = RandomGraph(numbers, inputs);
    ExpectSameNumbers(made, inputs, PassOptions(), 1e-3f);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Passes, RunningTwiceChangesNothingMore) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Numbers numbers(seed);
    std::vector<Tensor> inputs;
    const Graph once = Passed(RandomGraph(numbers, inputs).graph);
    // The second run may still merge what the first has brought together; it never brings anything back.
    EXPECT_LE(Passed(once).nodes.size(), once.nodes.size()) << "seed " << seed;
  }
}

// Deep recursion or a walk per node would not come to an end.
TEST(Passes, LongChainsPass) {
  PassGraph made;
  ValueId y = made.Input("x", {2, 3});
  for (int i = 0; i < 20'000; ++i) {
    y = made.Node("Relu", {y});
    y = made.Transpose(y, {1, 0});
    y = made.Node("Identity", {y});
    y = made.Node("Reshape", {y, made.Node("Shape", {y})});
    y = made.Transpose(y, {1, 0});
  }
  made.Output(y);
  EXPECT_EQ(Passed(made.graph).nodes.size(), 20'001u);  // an Identity is left to make the output
}

}  // namespace
}  // namespace deputy::host
