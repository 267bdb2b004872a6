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

/* The location of the bytes. HOST is memory that the CPU reads and writes through `data`. DEVICE belongs to an opened
 * delegate, and is named by `domain`, `handle` and `offset`; no tensor is of this kind unless the delegate asked for it
 * with ext/draft/memory.h. */
typedef uint32_t deputy_memory_kind;
enum { DEPUTY_MEMORY_HOST = 0, DEPUTY_MEMORY_DEVICE = 1 };

/* The layout of the elements. DENSE: row-major, no gaps, `strides` is NULL. STRIDED: `strides` holds one stride per
 * dimension, counted in elements, and may be negative or 0: so a row may be padded, but only by whole elements.
 * Elements of less than a byte are always DENSE. OPAQUE: only the delegate that made it can read it. Every tensor is
 * DENSE unless the delegate asked for another layout with ext/draft/memory.h. */
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
  const int64_t *dims;    /* rank extents; -1 where not known before the run */
  const int64_t *strides; /* NULL unless STRIDED */
  /* NULL when not quantized. Tensors of a run have none: that of deputy_value_info holds for every run. */
  const deputy_quantization *quantization;
  deputy_memory_kind memory;
  uint32_t
      layout_tag; /* OPAQUE: the owner's number of the layout, equal for equal layouts of one domain; 0 otherwise */
  /* HOST: the first element, aligned to the element at least; NULL without elements, and for an output whose extents
   * are not known before the run. DEVICE: NULL. */
  void *data;
  uint64_t domain;    /* DEVICE: deputy_open_args.domain of the instance that owns the buffer; 0 otherwise */
  uint64_t handle;    /* DEVICE: the owner's name of the buffer; 0 otherwise */
  uint64_t offset;    /* DEVICE: bytes from the start of the buffer to the first element; 0 otherwise */
  uint64_t byte_size; /* bytes of the tensor's elements; 0 when an extent is not known */
} deputy_tensor;

#endif /* DEPUTY_ABI_TENSOR_H */
