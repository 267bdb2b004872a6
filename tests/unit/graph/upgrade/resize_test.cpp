#include "unit/graph/upgrade/upgraded.hpp"

namespace deputy::host {
namespace {

const std::vector<float> kGrow = {1, 1, 1, 2}, kShrink = {1, 1, 1, 0.5f};
const std::vector<float> kWide = {1, 1, 2, 2};

Tensor Scales(const std::vector<float>& scales) { return Floats({4}, scales); }

TEST(UpgradeResize, Upsample1ToResize) {
  const PassGraph made = OldNode(PrimitiveBuilder("", "Upsample", 1)
                                     .Set("height_scale", 1.0f)
                                     .Set("width_scale", 2.0f)
                                     .Set("mode", std::string("bilinear")),
                                 {{1, 1, 1, 2}});
  const Graph graph = Upgraded(made.graph);
  EXPECT_EQ(Operators(graph), "Resize");
  EXPECT_EQ(graph.nodes[0].primitive.GetString("mode", ""), "linear");
  EXPECT_EQ(ElementsOf<float>(Result1(made, {Floats({1, 1, 1, 2}, {0, 2})})), (std::vector<float>{0, 1, 2, 2}));
}

TEST(UpgradeResize, Upsample9WithComputedScalesIsResize10) {
  const PassGraph made = OldNode(PrimitiveBuilder("", "Upsample", 9), {{1, 1, 1, 2}, {4}});
  const Graph graph = Upgraded(made.graph);
  EXPECT_EQ(Operators(graph), "Resize");
  EXPECT_EQ(graph.nodes[0].primitive.since_version(), 10);
  EXPECT_EQ(Result1(made, {Floats({1, 1, 1, 2}, {1, 2}), Scales(kWide)}).shape(), (Dims{1, 1, 2, 4}));
}

TEST(UpgradeResize, Resize10NamesItsPositions) {
  for (const auto& [scales, rounding] : {std::pair(kGrow, "floor"), std::pair(kShrink, "ceil")}) {
    const PassGraph made = OldNode(PrimitiveBuilder("", "Resize", 10), {{1, 1, 1, 4}}, {Scales(scales)});
    const Graph graph = Upgraded(made.graph);
    const Primitive& primitive = graph.nodes[0].primitive;
    EXPECT_EQ(primitive.since_version(), 13);
    EXPECT_EQ(primitive.GetString("coordinate_transformation_mode", ""), "asymmetric");
    EXPECT_EQ(primitive.GetString("nearest_mode", ""), rounding);
    EXPECT_EQ(graph.nodes[0].inputs[1], kNone);
    const std::vector<Tensor> input = {Floats({1, 1, 1, 4}, {1, 2, 3, 4})};
    EXPECT_EQ(ElementsOf<float>(Result1(made, input)), ElementsOf<float>(Evaluated(made.graph, input)[0]));
  }
}

TEST(UpgradeResize, Resize10ThatGrowsAndShrinksKeepsItsVersion) {
  const PassGraph made = OldNode(PrimitiveBuilder("", "Resize", 10), {{1, 1, 4, 4}}, {Scales({1, 1, 2, 0.5f})});
  EXPECT_EQ(Upgraded(made.graph).nodes[0].primitive.since_version(), 10);
}

}  // namespace
}  // namespace deputy::host
