/* "deputy.operators/1": a vendor's own operators, in a domain of the vendor's. A model may use them; their shapes come
 * from the delegate, their nodes are placed on delegates that support them, and the fallback can run those that have a
 * kernel. */
#ifndef DEPUTY_ABI_EXT_OPERATORS_H
#define DEPUTY_ABI_EXT_OPERATORS_H

#include "deputy/abi/delegate.h"

#define DEPUTY_EXT_OPERATORS "deputy.operators/1"

/* Frozen. An attribute that an operator has. */
typedef struct deputy_operator_attribute {
  deputy_str name;
  deputy_str help; /* one sentence */
  deputy_attribute_type type;
  uint32_t required; /* 0 or 1; an optional one has a default that `help` names */
} deputy_operator_attribute;

/* One definition of an operator. Pointers live as long as the plugin. */
typedef struct deputy_operator_info {
  uint32_t struct_size;
  uint32_t since_version; /* the first version of the domain that has this definition */
  deputy_str domain;      /* reverse domain ("com.example"); "" and "ai.onnx..." are ONNX's and refused */
  deputy_str op_type;
  deputy_str help; /* one sentence */
  uint32_t min_inputs;
  uint32_t max_inputs; /* 0xffffffff: any number */
  uint32_t min_outputs;
  uint32_t max_outputs;
  const deputy_operator_attribute *attributes;
  uint64_t attribute_count;
  uint32_t flags; /* DEPUTY_OPERATOR_... */
  uint32_t reserved;
} deputy_operator_info;

enum {
  DEPUTY_OPERATOR_HAS_KERNEL = 1u /* compute() runs it */
};

/* Receives inferred types. */
typedef struct deputy_type_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *self;
  /* Type of the node's `output`-th output. `dims` has `rank` extents, -1 where not known; NULL with rank 0 means that
   * the rank is unknown too; a scalar has dims != NULL. Copies the array. INVALID_ARGUMENT for an output that the node
   * does not have. Only inside infer(). [in-call] */
  deputy_status *(*set_output)(void *self, uint32_t output, deputy_dtype dtype, const int64_t *dims, uint32_t rank);
} deputy_type_sink;

typedef struct deputy_ext_operators {
  uint32_t struct_size;
  uint32_t reserved;
  /* Constant over the life of the plugin. [any-thread] [any-state] */
  uint32_t (*operator_count)(const deputy_delegate *self);
  const deputy_operator_info *(*operator_at)(const deputy_delegate *self, uint32_t index);
  /* Infers the types of the outputs of a node of one of the operators, from the known facts about its inputs (values,
   * constants) and from its attributes, which have been checked against operator_at. `graph` contains only the node and
   * its values. Pure; needs no open instance. INVALID_ARGUMENT: the node is invalid, with the reason as the message. An
   * output that is not set keeps the type that the model declares. [any-thread] */
  deputy_status *(*infer)(const deputy_delegate *self, const deputy_host *host, const deputy_graph *graph,
                          deputy_node_id node, const deputy_type_sink *sink);
  /* Runs one node on the CPU: the custom-operator kernel, for a node that no delegate supports. Inputs and outputs are
   * in the node's order, NULL where left out; outputs have the shapes of infer. Pure. Called only for operators with
   * DEPUTY_OPERATOR_HAS_KERNEL. NULL: no operator has it. [any-thread] [optional] */
  deputy_status *(*compute)(const deputy_delegate *self, const deputy_host *host, const deputy_graph *graph,
                            deputy_node_id node, const deputy_run_args *args);
} deputy_ext_operators;

#endif /* DEPUTY_ABI_EXT_OPERATORS_H */
