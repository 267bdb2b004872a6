/* "deputy.resize/1": a context accepts other input shapes than those that its executable was compiled for, so that a
 * change of shapes needs no new placement and compilation. */
#ifndef DEPUTY_ABI_EXT_RESIZE_H
#define DEPUTY_ABI_EXT_RESIZE_H

#include "deputy/abi/delegate.h"

#define DEPUTY_EXT_RESIZE "deputy.resize/1"

/* The outcome for the context. */
typedef uint32_t deputy_resize_outcome;
enum {
  DEPUTY_RESIZE_DONE = 0, /* execute is called with the new shapes from now on */
  DEPUTY_RESIZE_RECOMPILE =
      1 /* the nodes can run here, but need compile() for these shapes; the context is as before */
};

/* The new shapes, in the order of deputy_partition. Tensors carry dtype, rank and known extents; they have no data.
 * Both are the results of shape inference for the partition's own operators, so the delegate need not infer the
 * outputs. */
typedef struct deputy_resize_args {
  uint32_t struct_size;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t flags; /* 0 */
  const deputy_tensor *const *inputs;
  const deputy_tensor *const *outputs;
} deputy_resize_args;

typedef struct deputy_ext_resize {
  uint32_t struct_size;
  uint32_t reserved;
  /* *outcome is DEPUTY_RESIZE_DONE when called. NOT_SUPPORTED: the delegate cannot tell whether these nodes run here
   * with these shapes; the host places the model again. After any failure the context is as it was before the call. For
   * an executable that was compiled for one set of shapes, resize may be called right after context_create.
   * [one-call-per-context] */
  deputy_status *(*resize)(deputy_context *context, const deputy_resize_args *args, deputy_resize_outcome *outcome);
} deputy_ext_resize;

#endif /* DEPUTY_ABI_EXT_RESIZE_H */
