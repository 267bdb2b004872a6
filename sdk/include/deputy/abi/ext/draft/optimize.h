/* "deputy.optimize/2": mixed precision. The delegate proposes for each node of a partition the element type in which it
 * should compute, and the host decides, inserts the casts at inputs and outputs, and can compare the result with full
 * precision.
 *
 * DRAFT. Without any promise: this host does not request it, no golden table contains it, and it may change or be
 * removed in any release. A change that breaks it raises the number in its id. See sdk/docs/versioning.md.
 *
 * Without this extension a node computes in the element types of the model. */
#ifndef DEPUTY_ABI_EXT_DRAFT_OPTIMIZE_H
#define DEPUTY_ABI_EXT_DRAFT_OPTIMIZE_H

#include "deputy/abi/delegate.h"

#define DEPUTY_EXT_OPTIMIZE "deputy.optimize/2"

/* The limits that the user sets. */
typedef struct deputy_precision_wish {
  uint32_t struct_size;
  deputy_dtype default_dtype; /* for nodes that are not named otherwise; UNDEFINED: the model's */
  double relative_tolerance;  /* of the partition's outputs against the model's own precision; 0: not said */
  double absolute_tolerance;
} deputy_precision_wish;

/* Receives the delegate's plan. */
typedef struct deputy_precision_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *self;
  /* One node of the partition, and the element type in which it computes: deputy_compile_args.precision, if the host
   * adopts it. A node that is not named keeps the model's types. INVALID_ARGUMENT, and no change, for a node of another
   * delegate, one named twice, or an element type that the user did not allow. [in-call] */
  deputy_status *(*set)(void *self, deputy_node_id node, deputy_dtype compute);
} deputy_precision_sink;

typedef struct deputy_ext_optimize {
  uint32_t struct_size;
  uint32_t reserved;
  /* Plans the precision of these nodes. Called between clustering and compile, and possibly again with a smaller
   * tolerance. Pure, and uses nothing of the device. `partition`, `wish` and `sink` live as long as the call. Any
   * failure: the model's types. [load-time] */
  deputy_status *(*plan)(deputy_instance *instance, const deputy_partition *partition,
                         const deputy_precision_wish *wish, const deputy_precision_sink *sink);
} deputy_ext_optimize;

#endif /* DEPUTY_ABI_EXT_DRAFT_OPTIMIZE_H */
