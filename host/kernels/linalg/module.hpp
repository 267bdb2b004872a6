// The functions that each instruction set provides. The modules are translation units with their own compile flags;
// they are connected to the rest of the program only by these tables, because the linker could choose the wrong version
// of an inline function that they shared. That of the architecture's baseline is in the host, the others are libraries
// (library/), of which a machine opens one.
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

// Products of integers; null if the level has none.
template <class T>
struct IntegerFunctions {
  int64_t panel_width;
  size_t (*gemm_workspace)(const GemmArgs<T>& args);
  void (*gemm)(const GemmArgs<T>& args, void* workspace);
  void (*gather_rows)(const GatherArgs<T>& args);
};

struct WinogradFunctions {
  void (*pack)(const float* weights, const WinogradArgs& args, float* packed);
  size_t (*workspace)(const WinogradArgs& args);
  void (*convolve)(const WinogradArgs& args, void* workspace);
};

// The functions of rows.hpp; conversions are below.
struct RowFunctions {
  RowLoop apply[kRowFunctions];
  PairLoop apply_pairs[kPairFunctions];
  double (*sum)(const float* x, int64_t count);
  double (*sum_of_squares)(const float* x, int64_t count, double mean);
  float (*largest)(const float* x, int64_t count);
  void (*softmax)(const float* x, int64_t count, float* y);
  void (*log_softmax)(const float* x, int64_t count, float* y);
  void (*normalize)(const float* x, int64_t count, float mean, float inverse, const float* scale, const float* bias,
                    float* y);
  void (*pool)(const PoolArgs& args);
};

struct ElementFunctions {
  void (*truncate)(const float* x, int64_t count, int32_t* y);
  bool (*is_within)(const float* x, int64_t count, float limit);
  void (*dequantize)(const uint8_t* x, int64_t count, bool is_signed, int32_t zero, float scale, float* y);
  void (*quantize)(const float* x, int64_t count, float scale, ByteRange range, uint8_t* y);
  void (*requantize)(const int32_t* x, int64_t count, const float* multipliers, int64_t step, ByteRange range,
                     uint8_t* y);
  void (*requantize_floats)(const float* x, int64_t count, const float* multipliers, int64_t step, ByteRange range,
                            uint8_t* y);
  void (*widen_bytes)(const uint8_t* x, int64_t count, bool is_signed, int32_t zero, int16_t* y);
  void (*pair_bytes)(const uint8_t* x, const uint8_t* next, int64_t count, bool is_signed, int32_t zero, int32_t* y);
  void (*quad_bytes)(const uint8_t* const (&rows)[4], int64_t count, uint8_t flip, int32_t* y);
  void (*add_quads)(int32_t quad, const int32_t* x, int64_t step, int64_t count, int32_t* y);
  void (*larger_bytes)(const uint8_t* a, const uint8_t* b, int64_t count, bool is_signed, uint8_t* y);
};

// Null if the level has no instructions for them.
struct HalfFunctions {
  void (*widen)(const uint16_t* x, int64_t count, float* y);
  void (*narrow)(const float* x, int64_t count, uint16_t* y);
};

struct Module {
  Level level;
  ModuleFunctions<float> f32;
  ModuleFunctions<double> f64;
  IntegerFunctions<Int16Pair> pairs;
  IntegerFunctions<Int8Quad> quads;
  void (*pack_left)(const GemmArgs<float>& args, float* packed);
  void (*pack_right)(const GemmArgs<float>& args, float* panels);
  WinogradFunctions winograd;
  RowFunctions rows;
  ElementFunctions elements;
  HalfFunctions halves;
};

extern const Module kModuleBaseline;
extern const Module kModuleV3;
extern const Module kModuleV4;

const Module& ActiveModule();

}  // namespace deputy::host::linalg
