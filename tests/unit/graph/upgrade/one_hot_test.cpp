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

TEST(UpgradeOneHot, SmallIndicesThatMayBeNegativeAreRefused) {
  EXPECT_EQ(UpgradeError(OneHot(DType::kInt8, false)).message(),
            "OneHot version 9 with indices of int8 that may be negative");
}

}  // namespace
}  // namespace deputy::host
