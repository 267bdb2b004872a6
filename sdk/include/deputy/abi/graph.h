/* The model as a delegate sees it: nodes and values by number, filled by the host into structs of the caller.
 *
 * A node's number names the same node in every graph handle of one model, and so does a value's. A handle, and the data
 * that these structs point to, live until the function that received the handle returns. Only `primitive` and
 * `constant` live on, where that function makes claims or an executable: as long as these. The functions that fill
 * these structs are members of deputy_host. */
#ifndef DEPUTY_ABI_GRAPH_H
#define DEPUTY_ABI_GRAPH_H

#include "deputy/abi/tensor.h"

typedef struct deputy_graph deputy_graph; /* host-owned */

typedef uint32_t deputy_node_id;
typedef uint32_t deputy_value_id;
#define DEPUTY_NO_VALUE 0xffffffffu /* an optional input or output that is left out */

enum {
  DEPUTY_NODE_OFFERED = 1u,    /* the delegate may claim it; without this flag it is visible but not available */
  DEPUTY_NODE_HAS_REGIONS = 2u /* If, Loop or Scan */
};

typedef struct deputy_node_info {
  uint32_t struct_size;
  deputy_node_id id;
  deputy_str domain; /* "" is ONNX's own */
  deputy_str op_type;
  deputy_str name;
  uint32_t since_version; /* the oldest definition that means the same for this node's attributes and types */
  uint32_t flags;         /* DEPUTY_NODE_... */
  uint32_t input_count;
  uint32_t output_count;
  const deputy_value_id *inputs;  /* DEPUTY_NO_VALUE where left out */
  const deputy_value_id *outputs; /* DEPUTY_NO_VALUE where left out */
  /* A verified FlatBuffer whose root is deputy.schema.Primitive (schema/primitive.fbs). */
  const void *primitive;
  uint64_t primitive_size;
} deputy_node_info;

enum {
  DEPUTY_VALUE_GRAPH_INPUT = 1u,
  DEPUTY_VALUE_GRAPH_OUTPUT = 2u,
  DEPUTY_VALUE_CONSTANT = 4u, /* `constant` points to the elements (NULL if there are none) */
  DEPUTY_VALUE_SHAPE_KNOWN = 8u,
  /* A constant that has elements and no pointer: deputy_host.constant_read copies them, constant_file names the file
   * that they are in. Only for delegates with DEPUTY_DELEGATE_STREAMS_CONSTANTS. */
  DEPUTY_VALUE_NOT_RESIDENT = 16u
};

#define DEPUTY_NO_SYMBOL 0u

/* Frozen. One extent of a value. Extents of one symbol are equal in every run. */
typedef struct deputy_extent {
  int64_t value;   /* -1: not known before the run */
  int64_t minimum; /* of all runs; 0 if no limit is known */
  int64_t maximum; /* of all runs; -1 if no limit is known */
  uint32_t symbol; /* the same number for the same symbol of the model; DEPUTY_NO_SYMBOL where known or without one */
  uint32_t reserved;
  deputy_str name; /* of the symbol in the model ("batch"); may be empty */
} deputy_extent;

typedef struct deputy_value_info {
  uint32_t struct_size;
  deputy_value_id id;
  deputy_str name;
  deputy_dtype dtype;
  uint32_t rank;       /* meaningful when dims != NULL or SHAPE_KNOWN */
  const int64_t *dims; /* -1: not known before the run. NULL with rank 0 and no SHAPE_KNOWN: unknown rank */
  uint32_t flags;      /* DEPUTY_VALUE_... */
  uint32_t reserved;
  /* Dense row-major elements, owned by the model and never changed: an application that replaces weights between runs
   * passes them as inputs. Aligned to the element; to 64 bytes when they are not mapped from a file of the model. */
  const void *constant;
  uint64_t byte_size;                      /* of the constant's elements */
  const deputy_extent *extents;            /* one for each of `dims`; NULL where dims is */
  const deputy_quantization *quantization; /* of the value's elements, where the model states it; NULL otherwise */
} deputy_value_info;

/* Kinds of attribute. */
typedef uint32_t deputy_attribute_type;
enum {
  DEPUTY_ATTRIBUTE_NONE = 0,
  DEPUTY_ATTRIBUTE_INT = 1,
  DEPUTY_ATTRIBUTE_FLOAT = 2,
  DEPUTY_ATTRIBUTE_STRING = 3,
  DEPUTY_ATTRIBUTE_INTS = 4,
  DEPUTY_ATTRIBUTE_FLOATS = 5,
  DEPUTY_ATTRIBUTE_STRINGS = 6,
  DEPUTY_ATTRIBUTE_TENSOR = 7
};

typedef struct deputy_attribute {
  uint32_t struct_size;
  deputy_attribute_type type;
  int64_t i;
  float f;
  uint32_t reserved;
  deputy_str s;
  uint64_t count; /* elements of ints, floats or strings */
  const int64_t *ints;
  const float *floats;
  const deputy_str *strings;
  const deputy_tensor *tensor;
} deputy_attribute;

/* Nodes that run together on one delegate. `inputs` and `outputs` are exact: the non-constant values that the nodes
 * read from outside, and the values that nodes outside read or the model returns; no duplicates. execute() gets its
 * tensors in this order. */
typedef struct deputy_partition {
  uint32_t struct_size;
  uint32_t node_count;
  const deputy_graph *graph;
  const deputy_node_id *nodes; /* in topological order */
  const deputy_value_id *inputs;
  const deputy_value_id *outputs;
  uint32_t input_count;
  uint32_t output_count;
  void *claim; /* the handle of the claim (ext/propose.h); NULL if the host formed the partition */
  deputy_str name;
} deputy_partition;

#endif /* DEPUTY_ABI_GRAPH_H */
