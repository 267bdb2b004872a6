// The generators of random nodes, by family of operators as the cases are. Each builds one valid node of an operator:
// shapes, attributes, inputs, in the draft's definition.
#pragma once

#include <vector>

#include "random/draft.hpp"

namespace deputy::conformance {

struct DraftRow {
  const char* op_type;
  void (*write)(Draft&);
};
using DraftRows = std::vector<DraftRow>;

DraftRows ElementwiseDrafts();
DraftRows BinaryDrafts();
DraftRows ShapeDrafts();
DraftRows MovementDrafts();
DraftRows IndexingDrafts();
DraftRows ReductionDrafts();
DraftRows GenerationDrafts();
DraftRows SelectionDrafts();
DraftRows MatrixDrafts();
DraftRows QuantizationDrafts();
DraftRows WindowDrafts();
DraftRows PoolingDrafts();
DraftRows NormalizationDrafts();
DraftRows RecurrentDrafts();
DraftRows ResizeDrafts();
DraftRows SamplingDrafts();
DraftRows SignalDrafts();
DraftRows LossDrafts();
DraftRows AttentionDrafts();

}  // namespace deputy::conformance
