// What each instruction set provides. The modules are translation units with compile flags of their own; they meet the
// rest of the program only in these tables, since any inline function that they shared with it could be linked in the
// wrong version.
#pragma once

#include <stddef.h>

#include "kernels/linalg/linalg.hpp"

namespace deputy::host::linalg {

template <class T>
struct ModuleFunctions {
  int64_t panel_width;
  // Bytes, aligned to 64, that `gemm` wants for packing; 0 when it works in place.
  size_t (*gemm_workspace)(const GemmArgs<T>& args);
  // Without a workspace a product without panels is only slower.
  void (*gemm)(const GemmArgs<T>& args, void* workspace);
  void (*gather_rows)(const GatherArgs<T>& args);
  void (*convolve_plane)(const PlaneArgs<T>& args);
  void (*sum_taps)(const TapsArgs<T>& args);
};

struct Module {
  ModuleFunctions<float> f32;
  ModuleFunctions<double> f64;
};

extern const Module kModuleBaseline;
extern const Module kModuleV3;
extern const Module kModuleV4;

}  // namespace deputy::host::linalg
