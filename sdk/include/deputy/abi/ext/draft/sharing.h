/* What crosses between devices, processes and drivers: names of memory, and fences, which are points in the work of a
 * device. Used by async.h and memory.h.
 *
 * DRAFT. Without any promise, as these two: see sdk/docs/versioning.md. */
#ifndef DEPUTY_ABI_EXT_DRAFT_SHARING_H
#define DEPUTY_ABI_EXT_DRAFT_SHARING_H

#include "deputy/abi/delegate.h"

/* How a handle names memory. */
typedef uint32_t deputy_memory_handle_kind;
enum {
  DEPUTY_MEMORY_HANDLE_MEMFD = 1,     /* a file descriptor of memfd_create: host memory that processes share */
  DEPUTY_MEMORY_HANDLE_DMA_BUF = 2,   /* a file descriptor of Linux' dma-buf */
  DEPUTY_MEMORY_HANDLE_OPAQUE_FD = 3, /* a file descriptor that only drivers with the same `driver` text understand */
  DEPUTY_MEMORY_HANDLE_PLUGIN = 4     /* a number that only delegates of the same plugin in this process understand */
};

/* The meaning of a fence's handle. */
typedef uint32_t deputy_fence_kind;
enum {
  DEPUTY_FENCE_SYNC_FILE = 1, /* a file descriptor of Linux' sync_file: passed once, `value` is 0 */
  DEPUTY_FENCE_SYNCOBJ = 2,   /* a file descriptor of a DRM timeline: passed when its point has reached `value` */
  DEPUTY_FENCE_OPAQUE_FD = 3, /* a timeline of drivers with the same `driver` text, by file descriptor */
  DEPUTY_FENCE_PLUGIN = 4     /* a timeline that only delegates of the same plugin in this process understand */
};

/* Bits of the kinds that a delegate takes or makes: 1 << kind. */
typedef uint32_t deputy_handle_kinds;

/* A point in the work of a device, for another one to wait for without the CPU. Timelines count up: a fence whose value
 * has been reached stays passed. A file descriptor belongs to the holder of the struct; a receiver duplicates what it
 * keeps, except where a function says that the fence changes its owner. */
typedef struct deputy_fence {
  uint32_t struct_size;
  deputy_fence_kind kind;
  int64_t handle;
  uint64_t value;
  deputy_str driver; /* OPAQUE_FD: equal texts understand each other, such as a driver's UUID; empty otherwise */
} deputy_fence;

/* Rows of a picture from a camera or a decoder, which no strides in elements describe. */
typedef struct deputy_plane {
  uint64_t offset; /* bytes from the start of the buffer to the first row */
  uint64_t pitch;  /* bytes from one row to the next */
} deputy_plane;

/* Memory of one owner, for another one to import. */
typedef struct deputy_shared_buffer {
  uint32_t struct_size;
  deputy_memory_handle_kind kind;
  int64_t handle;
  uint64_t offset; /* bytes from the start of what the handle names */
  uint64_t byte_size;
  deputy_str driver;          /* as in deputy_fence */
  const deputy_plane *planes; /* NULL: elements follow each other as the tensor's strides say */
  uint32_t plane_count;
  uint32_t pixel_format; /* with planes: the FOURCC of Linux' drm_fourcc.h; 0 otherwise */
  uint64_t modifier;     /* with planes: the format modifier of drm_fourcc.h; 0 is linear */
} deputy_shared_buffer;

#endif /* DEPUTY_ABI_EXT_DRAFT_SHARING_H */
