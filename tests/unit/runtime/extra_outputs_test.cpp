#include "runtime/extra_outputs.hpp"

#include <gtest/gtest.h>

#include "support/test_graph.hpp"

namespace deputy::host {
namespace {

TEST(ExtraOutputs, StandBeforeTheStates) {
  TestGraph made;
  made.Input("x").Input("state").Node("a", "Add", {"x", "state"}).Node("y", "Relu", {"a"}).Node("next", "Neg", {"a"});
  made.Output("y").Output("next");
  made.graph.initial_states = {*Tensor::Allocate(DType::kFloat32, {4})};
  ASSERT_TRUE(AddOutputs(made.graph, std::vector<std::string>{"a"}).ok());
  EXPECT_EQ(made.graph.outputs, (std::vector<ValueId>{made.Value("y"), made.Value("a"), made.Value("next")}));
  EXPECT_EQ(made.graph.caller_outputs().size(), 2u);
}

TEST(ExtraOutputs, TheNameOfANodeIsAnsweredWithItsOutputs) {
  TestGraph made;
  made.Input("x").Node("a", "Relu", {"x"}).Output("a");
  made.graph.nodes[0].name = "first";
  EXPECT_EQ(AddOutputs(made.graph, std::vector<std::string>{"first"}).ToString(),
            "'first' is a node, not a value; its outputs: 'a'");
}

TEST(ExtraOutputs, TheValueOfAStateBecomesAnOutputOfTheCallerToo) {
  TestGraph made;
  made.Input("x").Input("state").Node("next", "Add", {"x", "state"}).Node("y", "Relu", {"next"});
  made.Output("y").Output("next");
  made.graph.initial_states = {*Tensor::Allocate(DType::kFloat32, {4})};
  ASSERT_TRUE(AddOutputs(made.graph, std::vector<std::string>{"next", "y"}).ok());
  EXPECT_EQ(made.graph.outputs, (std::vector<ValueId>{made.Value("y"), made.Value("next"), made.Value("next")}));
}

}  // namespace
}  // namespace deputy::host
