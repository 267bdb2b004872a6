#include "unit/graph/upgrade/upgraded.hpp"

namespace deputy::host {
namespace {

PassGraph OneHot(DType dtype, bool constant) {
  PassGraph made;
  const ValueId indices = constant ? made.Constant(Ints({0, 2})) : made.Input("indices", {2}, dtype);
  made.Output(made.Node(PrimitiveBuilder("", "OneHot", 9),
                        {indices, made.Constant(Int(3)), made.Constant(Floats({2}, {0, 1}))}));
  return made;
}

TEST(UpgradeOneHot, NegativeIndicesStayOff) {
  const PassGraph made = OneHot(DType::kInt64, false);
  EXPECT_EQ(Operators(Upgraded(made.graph)), "Less,Where,OneHot");
  EXPECT_EQ(ElementsOf<float>(Result1(made, {Ints({-1, 2})})), (std::vector<float>{0, 0, 0, 0, 0, 1}));
}

TEST(UpgradeOneHot, IndicesKnownNotToBeNegativeNeedNothing) {
  EXPECT_EQ(Operators(Upgraded(OneHot(DType::kInt64, true).graph)), "OneHot");
  EXPECT_EQ(Operators(Upgraded(OneHot(DType::kUint8, false).graph)), "OneHot");
}

TEST(UpgradeOneHot, SmallIndicesThatMayBeNegativeAreWidened) {
  const PassGraph made = OneHot(DType::kInt8, false);
  EXPECT_EQ(Operators(Upgraded(made.graph)), "Cast,Less,Where,OneHot");
  const std::vector<int8_t> indices = {-1, 2};
  const Tensor small = Tensor::FromValues<int8_t>(DType::kInt8, {2}, indices).value();
  EXPECT_EQ(ElementsOf<float>(Result1(made, {small})), (std::vector<float>{0, 0, 0, 0, 0, 1}));
}

}  // namespace
}  // namespace deputy::host
