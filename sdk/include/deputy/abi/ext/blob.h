/* "deputy.blob/1": an executable as bytes, so that a partition is compiled once, also on a machine without the device
 * (compile-only open), and restored afterwards, for example from the host's cache at the next start. The bytes are the
 * delegate's own; the host stores them with a checksum and returns them unchanged, for a partition that is equal in
 * operators, attributes, shapes and constants, under the same options and the same version of the plugin. */
#ifndef DEPUTY_ABI_EXT_BLOB_H
#define DEPUTY_ABI_EXT_BLOB_H

#include "deputy/abi/delegate.h"

#define DEPUTY_EXT_BLOB "deputy.blob/1"

/* Receives a serialized executable. */
typedef struct deputy_blob_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *self;
  /* Appends `size` bytes, which it copies. The bytes of one blob are written in order, from one thread. A failure (too
   * large, no memory) ends the call: serialize returns it. Only inside serialize(). [in-call] */
  deputy_status *(*write)(void *self, const void *data, uint64_t size);
} deputy_blob_sink;

/* Bytes that change owner. `data` is aligned to 64 and never written. The receiver of the blob calls release(owner)
 * exactly once, from any thread, and does not access the bytes afterwards: before restore returns if that fails, before
 * executable_destroy returns otherwise. */
typedef struct deputy_blob {
  uint32_t struct_size;
  uint32_t reserved;
  const void *data;
  uint64_t size;
  void *owner;
  /* Once. [any-thread] */
  void (*release)(void *owner);
} deputy_blob;

enum {
  DEPUTY_BLOB_COMPILE_ONLY = 1u /* open supports DEPUTY_OPEN_COMPILE_ONLY */
};

typedef struct deputy_ext_blob {
  uint32_t struct_size;
  uint32_t flags; /* DEPUTY_BLOB_... */
  /* All that a blob of this instance depends on beside its partition and the options, as text of at most 1023 bytes for
   * people and for check: format of the bytes, driver, firmware, kind of device ("sim_npu format 1, driver 2.4, soc
   * X1"). Written into `buffer` with a NUL; *size is its length without the NUL (also when it did not fit, then
   * OUT_OF_MEMORY). Constant over the life of the instance. NOT_SUPPORTED: this instance serializes nothing; the host
   * identifies none of its partitions, and the message takes the place of the text. [load-time] */
  deputy_status *(*compatibility)(deputy_instance *instance, char *buffer, uint64_t capacity, uint64_t *size);
  /* Checks whether blobs with this text can be restored here, without an instance and so without the device.
   * INCOMPATIBLE, with the reason as its message, if they cannot. NULL slot: only a text equal to that of
   * compatibility() is accepted. [load-time] [optional] */
  deputy_status *(*check)(const deputy_delegate *self, const deputy_host *host, deputy_str compatibility);
  /* Writes the executable. The same executable gives the same bytes. NOT_SUPPORTED: this executable cannot be
   * serialized, and is compiled each time. [any-thread] */
  deputy_status *(*serialize)(deputy_executable *executable, const deputy_blob_sink *sink);
  /* Creates the executable again, as compile with these arguments would, for a partition and a precision equal to the
   * serialized ones; the numbers of nodes and values may differ. The blob is consumed in every case. A claim in the
   * partition is not: the host passes it to claim_release after success, or to compile after failure. INCOMPATIBLE or
   * any other failure: the host compiles. The bytes may be damaged on purpose; restore checks everything it reads.
   * [load-time] */
  deputy_status *(*restore)(deputy_instance *instance, const deputy_compile_args *args, const deputy_blob *blob,
                            deputy_executable **out);
} deputy_ext_blob;

#endif /* DEPUTY_ABI_EXT_BLOB_H */
