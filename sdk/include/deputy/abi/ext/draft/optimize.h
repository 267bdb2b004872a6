/* "deputy.optimize/1": mixed precision. The delegate says for each node of a partition in which element type it had
 * better compute, and the host decides, inserts the casts at borders, and can hold the result against full precision.
 *
 * DRAFT. Promised to nobody: this host does not ask for it, no golden table holds it, and it may change or vanish with
 * any release. A change that breaks it raises the number in its id. See sdk/docs/versioning.md.
 *
 * Without this extension a node computes in the element types of the model. */
#ifndef DEPUTY_ABI_EXT_DRAFT_OPTIMIZE_H
#define DEPUTY_ABI_EXT_DRAFT_OPTIMIZE_H

#include "deputy/abi/delegate.h"

#define DEPUTY_EXT_OPTIMIZE "deputy.optimize/1"

/* How far the user lets the delegate go. */
typedef struct deputy_precision_wish {
  uint32_t struct_size;
  deputy_dtype default_dtype; /* in which nodes may compute that are not named otherwise; UNDEFINED: the model's */
  double relative_tolerance;  /* of the partition's outputs against the model's own precision; 0: not said */
  double absolute_tolerance;
} deputy_precision_wish;

/* Where the delegate's plan goes. */
typedef struct deputy_precision_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *self;
  /* One node of the partition, the element type in which it computes, and that in which it sums. A node that is not
   * named keeps the model's types. INVALID_ARGUMENT, and no change, for a node of somebody else's, one named twice, or
   * an element type that the user did not allow. Only inside plan(). [load-time] */
  deputy_status *(*set)(void *self, deputy_node_id node, deputy_dtype compute, deputy_dtype accumulate);
} deputy_precision_sink;

typedef struct deputy_ext_optimize {
  uint32_t struct_size;
  uint32_t reserved;
  /* Which plan would suit these nodes? Asked between clustering and compile, and maybe again with a smaller tolerance.
   * Pure, and takes nothing of the device. `partition`, `wish` and `sink` live as long as the call. Any failure: the
   * model's types. [load-time] */
  deputy_status *(*plan)(deputy_instance *instance, const deputy_partition *partition,
                         const deputy_precision_wish *wish, const deputy_precision_sink *sink);
  /* Compiles with the plan that the host adopted, given as one compute and one accumulate type for each node of the
   * partition, in its order; UNDEFINED is the model's. Inputs and outputs have the types that the partition's values
   * have: casts at its border are nodes of the host's. Result, ownership and failures as of deputy_delegate.compile.
   * [load-time] */
  deputy_status *(*compile_with)(deputy_instance *instance, const deputy_partition *partition,
                                 const deputy_dtype *compute, const deputy_dtype *accumulate, deputy_executable **out);
} deputy_ext_optimize;

#endif /* DEPUTY_ABI_EXT_DRAFT_OPTIMIZE_H */
