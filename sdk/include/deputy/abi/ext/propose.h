/* "deputy.propose/1": a delegate that forms its own partitions, as MindSpore's Build/Replace, ExecuTorch's tags and
 * Tengine's split do, or that answers per node and names nodes which must stay together. The host keeps the last word:
 * it adopts a claim whole or refuses it whole, and never splits a group. */
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
   * claim_release (refused), exactly once. On failure the handle stays the delegate's. Only inside propose().
   * [in-call] */
  deputy_status *(*add)(void *self, const deputy_claim *claim);
} deputy_claim_sink;

/* Nodes that run on this delegate together or not at all. */
typedef struct deputy_group {
  uint32_t struct_size;
  uint32_t node_count; /* two or more */
  const deputy_node_id *nodes;
} deputy_group;

typedef struct deputy_group_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *self;
  /* Copies the array. INVALID_ARGUMENT, and no group, for nodes that there are not, a node named twice, or one that is
   * in a group already. [in-call] */
  deputy_status *(*add)(void *self, const deputy_group *group);
} deputy_group_sink;

/* A table has propose with claim_release, or groups, or all three; what it lacks is NULL. */
typedef struct deputy_ext_propose {
  uint32_t struct_size;
  uint32_t reserved;
  /* Sees a topological order of the current quotient graph: what others hold is visible and not offered. May be called
   * again for other shapes, or for a rest of the graph. A delegate with this function is not asked query_support.
   * [load-time] */
  deputy_status *(*propose)(deputy_instance *instance, const deputy_graph *graph, const deputy_claim_sink *sink);
  void (*claim_release)(deputy_instance *instance, void *handle);
  /* Asked after query_support about the same graph, for a delegate without propose. A group may name nodes that are not
   * on offer or that the delegate does not support: it is incomplete then, and all of its nodes go to the next
   * delegate. The same happens to a group that loses a node later or would make a cycle. Whole groups and single nodes
   * are joined to larger partitions. Pure: same graph, same groups. [load-time] */
  deputy_status *(*groups)(deputy_instance *instance, const deputy_graph *graph, const deputy_group_sink *sink);
} deputy_ext_propose;

#endif /* DEPUTY_ABI_EXT_PROPOSE_H */
