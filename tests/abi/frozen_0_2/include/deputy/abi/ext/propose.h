/* "deputy.propose/1": a delegate that forms its own partitions, as MindSpore's Build/Replace, ExecuTorch's tags and
 * Tengine's split do, or that answers per node and names nodes which must stay together. The host decides: it adopts a
 * claim whole or refuses it whole, and never splits a group. */
#ifndef DEPUTY_ABI_EXT_PROPOSE_H
#define DEPUTY_ABI_EXT_PROPOSE_H

#include "deputy/abi/delegate.h"

#define DEPUTY_EXT_PROPOSE "deputy.propose/1"

/* Nodes that the delegate wants to run as one partition. The claim's inputs and outputs list the values in the order in
 * which execute() binds them; with both counts 0 the host determines them. */
typedef struct deputy_claim {
  uint32_t struct_size;
  uint32_t node_count;
  const deputy_node_id *nodes;
  const deputy_value_id *inputs;
  const deputy_value_id *outputs;
  uint32_t input_count;
  uint32_t output_count;
  void *handle; /* passed to compile in deputy_partition.claim */
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

/* Nodes of which this delegate runs all or none. */
typedef struct deputy_group {
  uint32_t struct_size;
  uint32_t node_count; /* two or more */
  const deputy_node_id *nodes;
} deputy_group;

typedef struct deputy_group_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *self;
  /* Copies the array. INVALID_ARGUMENT, and no group, for nodes that do not exist, a node named twice, or one that is
   * in a group already. [in-call] */
  deputy_status *(*add)(void *self, const deputy_group *group);
} deputy_group_sink;

/* A table has propose with claim_release, or groups, or all three. */
typedef struct deputy_ext_propose {
  uint32_t struct_size;
  uint32_t reserved;
  /* `graph` lists the current quotient graph in topological order: nodes of other delegates are visible and not
   * offered. May be called again for other shapes, or for the rest of the graph. query_support of a delegate with this
   * function is not called. claim_release ends a claim that was refused, or whose partition was restored from a blob;
   * it cannot fail. NULL, both: the delegate answers per node. [load-time] [optional] */
  deputy_status *(*propose)(deputy_instance *instance, const deputy_graph *graph, const deputy_claim_sink *sink);
  void (*claim_release)(deputy_instance *instance, void *handle);
  /* Called after query_support for the same graph, if the delegate has no propose. A group may name nodes that are not
   * offered or that the delegate does not support: it is incomplete then, and all of its nodes go to the next delegate.
   * The same happens to a group that loses a node later or would make a cycle. Whole groups and single nodes are merged
   * into larger partitions. Pure: the same graph gives the same groups. NULL: it names no groups. [load-time]
   * [optional] */
  deputy_status *(*groups)(deputy_instance *instance, const deputy_graph *graph, const deputy_group_sink *sink);
} deputy_ext_propose;

#endif /* DEPUTY_ABI_EXT_PROPOSE_H */
