// The linear algebra for any CPU of the architecture.
#define Eigen Eigen_baseline
#define DEPUTY_LINALG_MODULE kModuleBaseline
#define DEPUTY_LINALG_LEVEL Level::kBaseline
#include "kernels/linalg/module.inc"
