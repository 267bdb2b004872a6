/* "deputy.capabilities/1": the operators that a delegate can run, as a table that is read without a model and without a
 * device, for listings and for the choice of a delegate. It promises nothing about a single node; query_support
 * decides. */
#ifndef DEPUTY_ABI_EXT_CAPABILITIES_H
#define DEPUTY_ABI_EXT_CAPABILITIES_H

#include "deputy/abi/delegate.h"

#define DEPUTY_EXT_CAPABILITIES "deputy.capabilities/1"

#define DEPUTY_ANY_RANK 0xffffffffu /* as max_rank: no limit */

/* One operator. Rows of the same operator add up: "float32 of ranks 2 to 4" and "float16 of rank 4" are two rows. */
typedef struct deputy_capability {
  uint32_t struct_size;
  uint32_t min_version; /* oldest supported definition; 0: any */
  uint32_t max_version; /* newest supported definition; 0: any */
  uint32_t min_rank;    /* of the tensors that carry data */
  uint32_t max_rank;    /* not below min_rank; DEPUTY_ANY_RANK: no limit */
  uint32_t layouts;     /* bits 1u << DEPUTY_LAYOUT_...; 0: dense alone */
  deputy_str domain;    /* "" is ONNX's own */
  deputy_str op_type;   /* never empty */
  const deputy_dtype *dtypes;
  uint32_t dtype_count; /* 0: any */
  uint32_t reserved;
  deputy_str note; /* one short sentence for people on further conditions ("weights are constant"); may be empty */
} deputy_capability;

typedef struct deputy_ext_capabilities {
  uint32_t struct_size;
  uint32_t reserved;
  /* Constant over the life of the plugin, as is everything that the rows point to. At most 1024 rows.
   * [any-thread] [any-state] */
  uint32_t (*capability_count)(const deputy_delegate *self);
  const deputy_capability *(*capability_at)(const deputy_delegate *self, uint32_t index);
} deputy_ext_capabilities;

#endif /* DEPUTY_ABI_EXT_CAPABILITIES_H */
