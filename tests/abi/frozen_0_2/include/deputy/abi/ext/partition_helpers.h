/* "deputy.partition_helpers/1", an extension of the host: its functions that form partitions, and the data of a model
 * beside its nodes, for delegates that form their own partitions (ext/propose.h). Requested with
 * deputy_host.get_extension. */
#ifndef DEPUTY_ABI_EXT_PARTITION_HELPERS_H
#define DEPUTY_ABI_EXT_PARTITION_HELPERS_H

#include "deputy/abi/ext/propose.h"

#define DEPUTY_EXT_PARTITION_HELPERS "deputy.partition_helpers/1"

#define DEPUTY_NO_CLUSTER 0xffffffffu

typedef struct deputy_ext_partition_helpers {
  uint32_t struct_size;
  uint32_t reserved;
  void *self; /* first argument of every function below */

  /* The host's default partitioning: grows the wanted nodes into clusters, as large as possible without a cycle between
   * partitions. `wanted` and `clusters` have one entry per node in the graph's order (graph_node_at). In `wanted` 0 is
   * not wanted, 1 is wanted, and every number above 1 is a group that stays together and may grow. Writes cluster
   * numbers from 0 on, DEPUTY_NO_CLUSTER for nodes that are not wanted, and the number of clusters. A group that would
   * make a cycle is left out whole. INVALID_ARGUMENT when `count` is not the graph's number of nodes, or a wanted node
   * is not offered. [load-time] */
  deputy_status *(*cluster)(void *self, const deputy_graph *graph, const uint32_t *wanted, uint32_t count,
                            uint32_t *clusters, uint32_t *cluster_count);

  /* Quantized operators: passes every node that reads DequantizeLinear or is read by QuantizeLinear to the sink,
   * together with those of these neighbours that serve only this node. Every node is in at most one group.
   * [load-time] */
  deputy_status *(*quantized_groups)(void *self, const deputy_graph *graph, const deputy_group_sink *sink);

  /* A hint that the delegate has its own form of a constant and will not read the model's soon, so that the host may
   * page the bytes out. The pointer and the bytes stay valid. INVALID_ARGUMENT for a value that is no constant.
   * [load-time] */
  deputy_status *(*constant_release)(void *self, const deputy_graph *graph, deputy_value_id value);

  /* Bytes that travel with the model under a name (its metadata): calibration tables, a vendor's hints. They live as
   * long as constants do (graph.h). *data is NULL if there is nothing under that name. [load-time] */
  deputy_status *(*named_data)(void *self, const deputy_graph *graph, deputy_str key, const void **data,
                               uint64_t *size);
} deputy_ext_partition_helpers;

#endif /* DEPUTY_ABI_EXT_PARTITION_HELPERS_H */
