// The linear algebra for AVX-512 F, BW, CD, DQ and VL. Empty on other architectures.
#if defined(__x86_64__)
#if !defined(__AVX512F__) || !defined(__AVX512BW__) || !defined(__AVX512CD__) || !defined(__AVX512DQ__) || \
    !defined(__AVX512VL__)
#error "host/CMakeLists.txt gives this file its instruction set"
#endif
#define Eigen Eigen_v4
#define DEPUTY_LINALG_MODULE kModuleV4
#define DEPUTY_LINALG_LEVEL Level::kV4
#include "kernels/linalg/module.inc"
#endif
