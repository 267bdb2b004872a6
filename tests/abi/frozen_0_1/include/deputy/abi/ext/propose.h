/* "deputy.propose/1": a delegate that forms its own partitions, as MindSpore's Build/Replace, ExecuTorch's tags and
 * Tengine's split do. The host keeps the last word: it adopts a claim whole or refuses it whole. */
#ifndef DEPUTY_ABI_EXT_PROPOSE_H
#define DEPUTY_ABI_EXT_PROPOSE_H

#include "deputy/abi/delegate.h"

#define DEPUTY_EXT_PROPOSE "deputy.propose/1"

/* Nodes that the delegate wants to run as one partition. The claim's inputs and outputs name the values in the order
 * in which execute() is to bind them; with both counts 0 the host works them out. */
typedef struct deputy_claim {
  uint32_t struct_size;
  uint32_t node_count;
  const deputy_node_id *nodes;
  const deputy_value_id *inputs;
  const deputy_value_id *outputs;
  uint32_t input_count;
  uint32_t output_count;
  void *handle; /* comes back in deputy_partition.claim */
} deputy_claim;

typedef struct deputy_claim_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *self;
  /* Copies the arrays. On success the host owns claim->handle until it passes it to compile (adopted) or to
   * claim_release (refused), exactly once. On failure the handle stays the delegate's. Only inside propose(). */
  deputy_status *(*add)(void *self, const deputy_claim *claim);
} deputy_claim_sink;

typedef struct deputy_ext_propose {
  uint32_t struct_size;
  uint32_t reserved;
  /* Sees a topological order of the current quotient graph: what others hold is visible and not offered. May be called
   * again for other shapes. [load-time] */
  deputy_status *(*propose)(deputy_instance *instance, const deputy_graph *graph, const deputy_claim_sink *sink);
  void (*claim_release)(deputy_instance *instance, void *handle);
} deputy_ext_propose;

#endif /* DEPUTY_ABI_EXT_PROPOSE_H */
