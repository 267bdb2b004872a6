/* "deputy.memory/2": the memory for the inputs and outputs of a partition, and memory of the device's own, so that
 * values need not be copied between partitions of one delegate, nor through the CPU.
 *
 * DRAFT. Without any promise: no golden table contains it, and it may change or be removed in any release. A change
 * that breaks it raises the number in its id. See sdk/docs/versioning.md.
 *
 * This host uses it, also for delegates in worker processes: wish_of, with DENSE tensors in memory of the device;
 * allocate, release; copy without a sink and fences, and of whole tensors between a buffer and host memory; import of
 * memory of memfd_create, sealed against becoming smaller, for tensors that the application has bound. Other wishes
 * are taken for host memory, and the rest is not called. Without this extension every tensor of a run is dense,
 * in host memory, and aligned to 64 bytes; with it a tensor may come so nonetheless: where no other partition of the
 * delegate touches the value, where the device has no room, and where a result is verified.
 *
 * A buffer belongs to a device, not to an instance: instances that are open on one device may have one number of a
 * domain (deputy_open_args.domain), and a handle then means the same buffer in all of them, as long as one is open.
 * After DEVICE_LOST, of a run or a copy, all handles of the domain are invalid, and the host uses none of them but in
 * release; buffers that it makes later are new ones, and have no number of one that is not released yet. */
#ifndef DEPUTY_ABI_EXT_DRAFT_MEMORY_H
#define DEPUTY_ABI_EXT_DRAFT_MEMORY_H

#include "deputy/abi/ext/draft/async.h"

#define DEPUTY_EXT_MEMORY "deputy.memory/2"

/* The requirements of a partition for one of its inputs or outputs; the host fills in its default for every delegate,
 * and the delegate changes the fields that it needs otherwise. */
typedef struct deputy_memory_wish {
  uint32_t struct_size;
  deputy_memory_kind memory; /* DEVICE: tensors come with a handle of this table's allocate or import */
  deputy_layout layout;      /* OPAQUE: only between partitions of this domain; the host converts elsewhere */
  uint32_t layout_tag;       /* OPAQUE: as in deputy_tensor */
  uint64_t alignment;        /* of the first element in bytes, a power of two */
  uint64_t byte_size;        /* at least the elements' own; more where the device reads or writes whole tiles */
  const int64_t *strides;    /* with STRIDED: one per dimension, in elements; the plugin's, until the next resize */
} deputy_memory_wish;

/* How the CPU will use a buffer. */
enum {
  DEPUTY_BUFFER_CPU_READS = 1u,
  DEPUTY_BUFFER_CPU_WRITES = 2u,
  DEPUTY_BUFFER_SHARED = 4u /* it will be exported */
};

typedef struct deputy_buffer_request {
  uint32_t struct_size;
  uint32_t uses; /* DEPUTY_BUFFER_...; 0: only the device touches it */
  uint64_t byte_size;
  uint64_t alignment; /* in bytes, a power of two */
} deputy_buffer_request;

/* One side of a copy: host memory, or a part of a buffer. */
typedef struct deputy_copy_side {
  uint32_t struct_size;
  uint32_t reserved;
  void *data;      /* host memory; NULL: the buffer */
  uint64_t handle; /* 0 with host memory */
  uint64_t offset; /* bytes from the start of the buffer; 0 with host memory */
} deputy_copy_side;

/* A copy of bytes. The structs are the call's; host memory and buffers live until the copy has ended. */
typedef struct deputy_copy_args {
  uint32_t struct_size;
  uint32_t wait_count;
  const deputy_copy_side *from; /* of the two sides, at least one is a buffer of the domain */
  const deputy_copy_side *to;
  uint64_t byte_size;
  const deputy_fence *const *waits; /* as in deputy_async_args */
  const deputy_async_sink *sink;    /* NULL: the copy has ended when the call returns, and there is no run */
  uint64_t number;                  /* for the sink */
  uint32_t queue;                   /* ordered with the runs of this queue */
  int32_t priority;
} deputy_copy_args;

typedef struct deputy_ext_memory {
  uint32_t struct_size;
  deputy_handle_kinds imports; /* kinds of deputy_memory_handle_kind that import takes; 0: none */
  deputy_handle_kinds exports; /* kinds that share makes; 0: none */
  uint32_t reserved;
  /* Requirements for the index-th of the inputs, then outputs, in the order of the partition, for the shapes of the
   * context: asked after context_create and after each resize. NOT_SUPPORTED: host memory is sufficient.
   * [one-call-per-context] */
  deputy_status *(*wish_of)(deputy_context *context, uint32_t index, deputy_memory_wish *wish);
  /* Makes a buffer of the device and puts its name, which is not 0, into *handle, as in deputy_tensor.handle; the
   * elements are undefined. The host frees it with one release. OUT_OF_MEMORY: the host uses host memory.
   * [any-thread] */
  deputy_status *(*allocate)(deputy_instance *instance, const deputy_buffer_request *request, uint64_t *handle);
  /* Gives a buffer of another owner a name here, without a copy; freed with release as well. What the plugin keeps of
   * `buffer` it duplicates or maps, without a change of its descriptor's flags and seals, until release. Bytes beside
   * the buffer are not its. Memory of a worker process is mapped: its sandbox lets it write to no file. NOT_SUPPORTED:
   * the device cannot reach this one, and the host copies. NULL: none can. [any-thread] [optional] */
  deputy_status *(*import)(deputy_instance *instance, const deputy_shared_buffer *buffer, uint64_t *handle);
  /* The reverse of import: fills *out with a handle of this kind, which the host owns and closes. The memory lives
   * until the buffer and all that was imported from it are released. NULL, or NOT_SUPPORTED: the host copies.
   * [any-thread] [optional] */
  deputy_status *(*share)(deputy_instance *instance, uint64_t handle, deputy_memory_handle_kind kind,
                          deputy_shared_buffer *out);
  /* Frees a buffer that no run or copy in flight uses. Cannot fail. [any-thread] */
  void (*release)(deputy_instance *instance, uint64_t handle);
  /* Puts the address of a part of the buffer into *data, for the CPU to read or write (`uses`, as in
   * deputy_buffer_request) until the matching unmap, and makes what the device wrote visible there. No run or copy in
   * flight writes the buffer meanwhile. NULL, or NOT_SUPPORTED: the host copies. [any-thread] [optional] */
  deputy_status *(*map)(deputy_instance *instance, uint64_t handle, uint64_t offset, uint64_t byte_size, uint32_t uses,
                        void **data);
  /* Ends one map, and makes what the CPU wrote visible to the device. [any-thread] [optional] */
  deputy_status *(*unmap)(deputy_instance *instance, uint64_t handle, void *data);
  /* Copies bytes between host memory and a buffer, or between two. With a sink it returns at once and puts the copy
   * into *out, for the functions of async.h; without one it returns when the copy has ended, and *out is unchanged. On
   * failure nothing was copied: INVALID_ARGUMENT for bytes outside of a buffer or a handle that is none, DEVICE_LOST,
   * UNAVAILABLE as in submit. The host counts copies and shows them in its report. [any-thread] */
  deputy_status *(*copy)(deputy_instance *instance, const deputy_copy_args *args, deputy_async_run **out);
} deputy_ext_memory;

#endif /* DEPUTY_ABI_EXT_DRAFT_MEMORY_H */
