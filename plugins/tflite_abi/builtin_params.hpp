// The parameters of operators as the interpreter keeps them in Node::builtin_data: C structs whose fields are added at
// the end only. Enumerations are ints: kPaddingSame and kPaddingValid, and the activations of files.
#pragma once

#include <cstdint>

namespace deputy::tflite_abi {

enum PaddingKind : int { kPaddingSame = 1, kPaddingValid = 2 };

struct ConvParams {
  int padding, stride_width, stride_height, activation, dilation_width, dilation_height, quantized_bias_type;
};

struct DepthwiseConvParams {
  int padding, stride_width, stride_height, depth_multiplier, activation, dilation_width, dilation_height;
};

struct TransposeConvParams {
  int padding, stride_width, stride_height, activation, quantized_bias_type;
};

struct PoolParams {
  int padding, stride_width, stride_height, filter_width, filter_height, activation;
  int computed_width, computed_height, computed_width_offset, computed_height_offset;
};

struct FullyConnectedParams {
  int activation, weights_format;
  bool keep_num_dims, asymmetric_quantize_inputs;
  int quantized_bias_type;
  const uint8_t* quantization_text;  // of other kinds of quantization; null
  int quantization_size;
};

struct FloatParams {  // SOFTMAX: beta; LEAKY_RELU: alpha
  float value;
};

struct ConcatenationParams {
  int axis, activation;
};

struct ActivationParams {  // ADD, SUB, MUL, DIV, L2_NORMALIZATION
  int activation;
  bool pot_scale_int16;  // of ADD and SUB
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
  bool adj_x, adj_y, asymmetric_quantize_inputs;
};

struct CumsumParams {
  bool exclusive, reverse;
};

}  // namespace deputy::tflite_abi
