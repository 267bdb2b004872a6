/* A tensor as it crosses the boundary: the memory and the layout of its elements. */
#ifndef DEPUTY_ABI_TENSOR_H
#define DEPUTY_ABI_TENSOR_H

#include "deputy/abi/base.h"

/* Element types; the numbers are ONNX TensorProto.DataType. Elements of 4 and of 2 bits are packed, the first in the
 * low bits of the first byte; a tensor's last byte may have bits to spare, which are 0. */
typedef int32_t deputy_dtype;
enum {
  DEPUTY_DTYPE_UNDEFINED = 0,
  DEPUTY_DTYPE_FLOAT32 = 1,
  DEPUTY_DTYPE_UINT8 = 2,
  DEPUTY_DTYPE_INT8 = 3,
  DEPUTY_DTYPE_UINT16 = 4,
  DEPUTY_DTYPE_INT16 = 5,
  DEPUTY_DTYPE_INT32 = 6,
  DEPUTY_DTYPE_INT64 = 7,
  DEPUTY_DTYPE_STRING = 8,
  DEPUTY_DTYPE_BOOL = 9, /* one byte, 0 or 1 */
  DEPUTY_DTYPE_FLOAT16 = 10,
  DEPUTY_DTYPE_FLOAT64 = 11,
  DEPUTY_DTYPE_UINT32 = 12,
  DEPUTY_DTYPE_UINT64 = 13,
  DEPUTY_DTYPE_BFLOAT16 = 16,
  DEPUTY_DTYPE_FLOAT8E4M3FN = 17,
  DEPUTY_DTYPE_FLOAT8E4M3FNUZ = 18,
  DEPUTY_DTYPE_FLOAT8E5M2 = 19,
  DEPUTY_DTYPE_FLOAT8E5M2FNUZ = 20,
  DEPUTY_DTYPE_UINT4 = 21,
  DEPUTY_DTYPE_INT4 = 22,
  DEPUTY_DTYPE_FLOAT4E2M1 = 23,
  DEPUTY_DTYPE_FLOAT8E8M0 = 24,
  DEPUTY_DTYPE_UINT2 = 25,
  DEPUTY_DTYPE_INT2 = 26
};

/* The location of the bytes. HOST is memory that the CPU reads and writes through `data`; every other kind belongs to a
 * delegate, is named by `handle` and `offset`, and may have data == NULL. */
typedef uint32_t deputy_memory_kind;
enum { DEPUTY_MEMORY_HOST = 0, DEPUTY_MEMORY_DEVICE = 1 };

/* The layout of the elements. DENSE: row-major, no gaps, `strides` may be NULL. STRIDED: `strides` holds one stride per
 * dimension, counted in elements. OPAQUE: only the delegate that made it can read it. */
typedef uint32_t deputy_layout;
enum { DEPUTY_LAYOUT_DENSE = 0, DEPUTY_LAYOUT_STRIDED = 1, DEPUTY_LAYOUT_OPAQUE = 2 };

/* real = (stored - zero_point) * scale. With axis < 0 there is one scale, otherwise one for each index along axis. */
typedef struct deputy_quantization {
  uint32_t struct_size;
  int32_t axis;
  uint64_t count;
  const float *scales;
  const int32_t *zero_points;
} deputy_quantization;

typedef struct deputy_tensor {
  uint32_t struct_size;
  deputy_dtype dtype;
  uint32_t rank; /* 0: a scalar */
  deputy_layout layout;
  const int64_t *dims;                     /* rank extents; -1 where not known before the run */
  const int64_t *strides;                  /* NULL when dense */
  const deputy_quantization *quantization; /* NULL when not quantized */
  deputy_memory_kind memory;
  uint32_t reserved;
  void *data;         /* NULL is legal for device memory and for tensors without elements */
  uint64_t handle;    /* device memory: the delegate's own name for the buffer */
  uint64_t offset;    /* bytes from the start of data or of the buffer behind handle */
  uint64_t byte_size; /* bytes of the tensor's elements */
} deputy_tensor;

#endif /* DEPUTY_ABI_TENSOR_H */
