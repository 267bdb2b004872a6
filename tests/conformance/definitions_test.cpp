// Nodes as the conformance kit builds them, in cases, models, patterns, pieces, forms and at random: each has only
// attributes and inputs of its own definition.
#include "definitions.hpp"

#include <gtest/gtest.h>

#include "cases/patterns.hpp"
#include "cases/pieces.hpp"
#include "probing/forms.hpp"
#include "probing/neighbours.hpp"
#include "probing/values.hpp"
#include "random/model.hpp"

namespace deputy::conformance {
namespace {

constexpr uint64_t kSeed = 1;

std::string FaultOf(const Case& tested) { return NotInDefinition(tested.node, tested.operands()); }

std::string FaultOf(const ModelCase& model) {
  for (const ModelNode& node : model.nodes) {
    reference::Inputs operands;
    for (const size_t input : node.inputs) operands.push_back(input == kLeftOut ? nullptr : &model.values[input].value);
    std::string wrong = NotInDefinition(node.node, operands);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

Case MeanOfDefinition(int32_t version, bool as_input) {
  std::vector<Case> made;
  CaseBuilder b(made, "ReduceMean", kSeed);
  b.In(b.Random({2, 3}));
  if (as_input)
    b.Const(Whole({1}));
  else
    b.Quietly("axes", Ints({1}));
  b.Since(version).Add();
  return made.front();
}

TEST(Definitions, AnAttributeThatBecameAnInputIsNotBoth) {
  EXPECT_EQ(FaultOf(MeanOfDefinition(18, true)), "");
  EXPECT_EQ(FaultOf(MeanOfDefinition(13, false)), "");
  EXPECT_EQ(FaultOf(MeanOfDefinition(18, false)), "ReduceMean-18 has no attribute axes");
  EXPECT_EQ(FaultOf(MeanOfDefinition(13, true)), "ReduceMean-13 has axes as an attribute, and not as an input");
  EXPECT_EQ(FaultOf(MeanOfDefinition(12, false)), "there is no ReduceMean-12");
}

TEST(Definitions, CasesHaveNothingElse) {
  for (const Case& tested : AllCases(kSeed)) {
    EXPECT_EQ(FaultOf(tested), "") << tested.name();
    for (const auto& change : {WithSpecialValues, Wider, WithOtherAxes, OtherExtents})
      for (const Case& other : change(tested, kSeed)) EXPECT_EQ(FaultOf(other), "") << other.name();
    for (const Case& other : OtherShapes(tested)) EXPECT_EQ(FaultOf(other), "") << other.name();
  }
  for (const OperatorFacts& facts : AllOperators()) {
    const std::string name(facts.name);
    for (const Case& tested : CombinationsOf(name, kSeed)) EXPECT_EQ(FaultOf(tested), "") << tested.name();
    for (const Form& form : CommonForms()) {
      const std::optional<Case> tested = CaseIn(name, form, kSeed);
      EXPECT_EQ(tested ? FaultOf(*tested) : "", "") << name << ", " << form.ToString();
    }
  }
}

TEST(Definitions, ModelsHaveNothingElse) {
  for (const ModelCase& model : AllModels(kSeed)) EXPECT_EQ(FaultOf(model), "") << model.label;
  for (const deputy_dtype dtype : {kF32, kF16})
    for (const auto& make : {Patterns, RepeatedOperators})
      for (const ModelCase& model : make(dtype, kSeed)) EXPECT_EQ(FaultOf(model), "") << model.label;
  for (const std::vector<Ground>& kind : {Images(), Matrices()}) {
    std::vector<const Piece*> pieces;
    for (const Piece& piece : AllPieces()) pieces.push_back(&piece);
    for (const Piece* first : pieces)
      for (const Piece* second : pieces)
        for (const ModelCase& model : PairsOf(*first, *second, kind.front(), kSeed))
          EXPECT_EQ(FaultOf(model), "") << model.label;
    for (uint64_t seed = 0; seed < 50; ++seed) {
      const std::optional<ModelCase> model = NetworkOf(pieces, kind.front(), seed);
      EXPECT_EQ(model ? FaultOf(*model) : "", "") << "seed " << seed;
    }
  }
}

TEST(Definitions, RandomNodesHaveNothingElse) {
  for (uint64_t seed = 0; seed < 20 * RandomOperators().size(); ++seed) {
    const Case tested = DrawModel(seed).tested;
    EXPECT_EQ(FaultOf(tested), "") << "seed " << seed << ", " << tested.name();
  }
}

}  // namespace
}  // namespace deputy::conformance
