// The linear algebra for AVX2 with FMA. Empty on other architectures.
#if defined(__x86_64__)
#if !defined(__AVX2__) || !defined(__FMA__)
#error "host/CMakeLists.txt gives this file its instruction set"
#endif
#define Eigen Eigen_v3
#define DEPUTY_LINALG_MODULE kModuleV3
#define DEPUTY_LINALG_LEVEL Level::kV3
#include "kernels/linalg/module.inc"
#endif
