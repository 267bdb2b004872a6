// What each instruction set provides. The modules are translation units with compile flags of their own; they meet the
// rest of the program only in these tables, since any inline function that they shared with it could be linked in the
// wrong version.
#pragma once

#include <stddef.h>

#include "kernels/linalg/linalg.hpp"
#include "kernels/linalg/rows.hpp"

namespace deputy::host::linalg {

template <class T>
struct ModuleFunctions {
  int64_t panel_width;
  size_t (*gemm_workspace)(const GemmArgs<T>& args);
  void (*gemm)(const GemmArgs<T>& args, void* workspace);
  void (*gather_rows)(const GatherArgs<T>& args);
  void (*convolve_plane)(const PlaneArgs<T>& args);
  void (*sum_taps)(const TapsArgs<T>& args);
};

// The functions of rows.hpp.
struct RowFunctions {
  RowLoop apply[kRowFunctions];
  PairLoop apply_pairs[kPairFunctions];
  double (*sum)(const float* x, int64_t count);
  double (*sum_of_squares)(const float* x, int64_t count, double mean);
  float (*largest)(const float* x, int64_t count);
  void (*softmax)(const float* x, int64_t count, float* y);
  void (*normalize)(const float* x, int64_t count, float mean, float inverse, const float* scale, const float* bias,
                    float* y);
  void (*pool)(const PoolArgs& args);
};

// The functions of halves.hpp; null where the level has no instructions for them.
struct HalfFunctions {
  void (*widen)(const uint16_t* x, int64_t count, float* y);
  void (*narrow)(const float* x, int64_t count, uint16_t* y);
};

struct Module {
  ModuleFunctions<float> f32;
  ModuleFunctions<double> f64;
  RowFunctions rows;
  HalfFunctions halves;
};

extern const Module kModuleBaseline;
extern const Module kModuleV3;
extern const Module kModuleV4;

const Module& ActiveModule();

}  // namespace deputy::host::linalg
