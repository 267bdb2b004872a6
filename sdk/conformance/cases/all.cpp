#include <algorithm>

#include "cases/families.hpp"

namespace deputy::conformance {

std::vector<Case> AllCases(uint64_t seed) {
  std::vector<Case> cases;
  for (const auto add : {AddElementwiseCases,
                         AddBinaryCases,
                         AddConvolutionCases,
                         AddPoolingCases,
                         AddMatrixCases,
                         AddNormalizationCases,
                         AddMovementCases,
                         AddIndexingCases,
                         AddReductionCases,
                         AddResizeCases,
                         AddQuantizationCases,
                         AddRecurrentCases,
                         AddEinsumCases,
                         AddAttentionCases,
                         AddSamplingCases,
                         AddDetectionCases,
                         AddSignalCases,
                         AddLossCases,
                         AddSelectionCases,
                         AddGenerationCases,
                         AddPatchCases,
                         AddOldCases,
                         AddFirstCases,
                         AddMicrosoftCases,
                         AddMicrosoftAttentionCases,
                         AddMicrosoftQuantizedCases})
    add(cases, seed);
  std::stable_sort(cases.begin(), cases.end(),
                   [](const Case& a, const Case& b) { return a.node.name() < b.node.name(); });
  return cases;
}

}  // namespace deputy::conformance
