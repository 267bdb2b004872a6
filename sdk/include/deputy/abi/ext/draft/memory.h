/* "deputy.memory/1": the memory for the inputs and outputs of a partition, and memory of the device's own, so that
 * values need not be copied between partitions of one delegate, nor through the CPU.
 *
 * DRAFT. Without any promise: this host does not request it, no golden table contains it, and it may change or be
 * removed in any release. A change that breaks it raises the number in its id. See sdk/docs/versioning.md.
 *
 * Without this extension every tensor of a run is dense, in host memory, and aligned to 64 bytes. */
#ifndef DEPUTY_ABI_EXT_DRAFT_MEMORY_H
#define DEPUTY_ABI_EXT_DRAFT_MEMORY_H

#include "deputy/abi/delegate.h"

#define DEPUTY_EXT_MEMORY "deputy.memory/1"

/* The requirements of a partition for one of its inputs or outputs; the host fills in its default for every delegate,
 * and the delegate changes the fields that it needs otherwise. */
typedef struct deputy_memory_wish {
  uint32_t struct_size;
  deputy_memory_kind memory; /* DEVICE: tensors come with a handle of this table's allocate or import */
  deputy_layout layout;      /* OPAQUE: only between partitions of this delegate; the host converts elsewhere */
  uint32_t reserved;
  uint64_t alignment;     /* of the first element in bytes, a power of two */
  uint64_t byte_size;     /* at least the elements' own; more where the device reads or writes whole tiles */
  const int64_t *strides; /* with STRIDED: one per dimension, in elements; the plugin's, as long as the executable */
} deputy_memory_wish;

/* A buffer of another owner, for import: a dma-buf file descriptor, which stays its owner's and is duplicated. */
typedef struct deputy_shared_buffer {
  uint32_t struct_size;
  int32_t dma_buf;
  uint64_t offset;
  uint64_t byte_size;
} deputy_shared_buffer;

typedef struct deputy_ext_memory {
  uint32_t struct_size;
  uint32_t reserved;
  /* Requirements for the index-th of the inputs, then outputs, in the order of the partition. Constant over the life of
   * the executable. NOT_SUPPORTED: host memory is sufficient. [any-thread] */
  deputy_status *(*wish_of)(deputy_executable *executable, uint32_t index, deputy_memory_wish *wish);
  /* Makes a buffer of the device and puts its name into *handle, as in deputy_tensor.handle; the elements are
   * undefined. The host frees it with one release, before close. OUT_OF_MEMORY: the host uses host memory.
   * [any-thread] */
  deputy_status *(*allocate)(deputy_instance *instance, uint64_t byte_size, uint64_t alignment, uint64_t *handle);
  /* Gives a buffer of another owner a name here, without a copy; freed with release as well. NOT_SUPPORTED: this one
   * cannot be reached by the device, and the host copies. NULL: none can. [any-thread] [optional] */
  deputy_status *(*import)(deputy_instance *instance, const deputy_shared_buffer *buffer, uint64_t *handle);
  /* The reverse of import: fills *out with a descriptor that the host owns and closes. The buffer stays valid until
   * both are released. NULL, or NOT_SUPPORTED: the host copies. [any-thread] [optional] */
  deputy_status *(*share)(deputy_instance *instance, uint64_t handle, deputy_shared_buffer *out);
  /* Frees a buffer that no run in flight uses. Cannot fail. [any-thread] */
  void (*release)(deputy_instance *instance, uint64_t handle);
  /* Copy elements between host memory and a buffer, starting offset bytes into the buffer; done when they return.
   * INVALID_ARGUMENT for bytes outside of the buffer, DEVICE_LOST. The host counts them and shows them in its report.
   * [any-thread] */
  deputy_status *(*write)(deputy_instance *instance, uint64_t handle, uint64_t offset, const void *from, uint64_t size);
  deputy_status *(*read)(deputy_instance *instance, uint64_t handle, uint64_t offset, void *to, uint64_t size);
} deputy_ext_memory;

#endif /* DEPUTY_ABI_EXT_DRAFT_MEMORY_H */
