/* "deputy.estimate/1": the delegate's estimate of a partition before it is compiled. The host requests it after
 * clustering, under every policy; the delegate may answer that the partition cannot run, or give nodes of it back. */
#ifndef DEPUTY_ABI_EXT_ESTIMATE_H
#define DEPUTY_ABI_EXT_ESTIMATE_H

#include "deputy/abi/delegate.h"

#define DEPUTY_EXT_ESTIMATE "deputy.estimate/1"

#define DEPUTY_AMOUNT_UNKNOWN 0xffffffffffffffffu

typedef struct deputy_estimate {
  uint32_t struct_size;
  uint32_t feasible;     /* 1: the partition, less the nodes given back, can run; 0: none of it */
  deputy_str reason;     /* why it is not feasible, or why nodes are given back: one short sentence */
  uint64_t latency_ns;   /* of one run without the nodes given back; DEPUTY_AMOUNT_UNKNOWN */
  uint64_t memory_bytes; /* of the device, weights included; DEPUTY_AMOUNT_UNKNOWN */
  uint64_t energy_nj;    /* of one run; DEPUTY_AMOUNT_UNKNOWN */
  /* Nodes of the partition that another delegate should run; each once. The host forms partitions again without them
   * and repeats the request, a bounded number of times. */
  const deputy_node_id *give_back;
  uint32_t give_back_count;
  uint32_t reserved;
} deputy_estimate;

typedef struct deputy_estimate_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *self;
  /* Copies the estimate. Called once; estimate() without an answer means that everything is unknown. Only inside
   * estimate(). [in-call] */
  void (*answer)(void *self, const deputy_estimate *estimate);
} deputy_estimate_sink;

typedef struct deputy_ext_estimate {
  uint32_t struct_size;
  uint32_t reserved;
  /* `partition->claim` is only read, not consumed. Pure: the same partition gives the same answer, but for nodes that
   * a compilation since then has shown to fail; no device memory is allocated. After a partition was refused at compile
   * the host asks once more, and refuses only the nodes that are given back, if any are. A failure is logged and counts
   * as unknown. [load-time] */
  deputy_status *(*estimate)(deputy_instance *instance, const deputy_partition *partition,
                             const deputy_estimate_sink *sink);
} deputy_ext_estimate;

#endif /* DEPUTY_ABI_EXT_ESTIMATE_H */
