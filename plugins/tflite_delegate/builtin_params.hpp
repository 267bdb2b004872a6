// The parameters of operators as the interpreter keeps them in Node::builtin_data: C structs whose fields are added at
// the end only, cut after the last field that is read here. Enumerations are ints with 0 for "unknown" where the file
// has none.
#pragma once

#include <cstdint>

namespace deputy::tflite_delegate {

struct ConvParams {
  int padding, stride_width, stride_height, activation, dilation_width, dilation_height;
};

struct DepthwiseConvParams {
  int padding, stride_width, stride_height, depth_multiplier, activation, dilation_width, dilation_height;
};

struct TransposeConvParams {
  int padding, stride_width, stride_height, activation;
};

struct PoolParams {
  int padding, stride_width, stride_height, filter_width, filter_height, activation;
};

struct FullyConnectedParams {
  int activation, weights_format;
  bool keep_num_dims;
};

struct FloatParams {  // SOFTMAX: beta; LEAKY_RELU: alpha
  float value;
};

struct ConcatenationParams {
  int axis, activation;
};

struct ActivationParams {  // ADD, SUB, MUL, DIV, L2_NORMALIZATION
  int activation;
};

struct LocalResponseNormParams {
  int radius;
  float bias, alpha, beta;
};

struct ResizeParams {
  bool align_corners, half_pixel_centers;
};

struct ReshapeParams {
  int32_t shape[8];
  int rank;
};

struct IntParams {  // SPACE_TO_DEPTH, DEPTH_TO_SPACE: block size; SPLIT: number; ONE_HOT: axis
  int value;
};

struct GatherParams {
  int axis, batch_dims;
};

struct BoolParams {  // reductions: keep_dims; GELU: approximate
  bool value;
};

struct SqueezeParams {
  int32_t dims[8];
  int count;
};

struct StridedSliceParams {
  int begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask;
  bool offset;
};

struct PackParams {  // PACK and UNPACK
  int count, axis;
};

struct MirrorPadParams {
  int mode;
};

struct BatchMatMulParams {
  bool adj_x, adj_y;
};

struct CumsumParams {
  bool exclusive, reverse;
};

}  // namespace deputy::tflite_delegate
