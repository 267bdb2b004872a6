#include "random/families.hpp"
namespace deputy::conformance {
DraftRows MatrixDrafts() { return {}; }
DraftRows QuantizationDrafts() { return {}; }
DraftRows WindowDrafts() { return {}; }
DraftRows PoolingDrafts() { return {}; }
DraftRows NormalizationDrafts() { return {}; }
DraftRows RecurrentDrafts() { return {}; }
DraftRows ResizeDrafts() { return {}; }
DraftRows SamplingDrafts() { return {}; }
DraftRows SignalDrafts() { return {}; }
DraftRows LossDrafts() { return {}; }
DraftRows AttentionDrafts() { return {}; }
}  // namespace deputy::conformance
