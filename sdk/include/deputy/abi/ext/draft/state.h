/* "deputy.state/1": values that a model keeps from one run to the next (the cache of keys and values of a language
 * model) and that stay on the delegate that owns them, instead of leaving and entering with every run.
 *
 * DRAFT. Without any promise: this host does not request it, no golden table contains it, and it may change or be
 * removed in any release. A change that breaks it raises the number in its id. See sdk/docs/versioning.md.
 *
 * Without this extension such values are inputs and outputs of the partition, and the host passes them from run to
 * run. */
#ifndef DEPUTY_ABI_EXT_DRAFT_STATE_H
#define DEPUTY_ABI_EXT_DRAFT_STATE_H

#include "deputy/abi/delegate.h"

#define DEPUTY_EXT_STATE "deputy.state/1"

/* A value that is read at the start of a run and written at its end. Exactly one delegate owns it: the host offers it
 * only where every reader and the writer are in one partition. */
typedef struct deputy_state_value {
  uint32_t struct_size;
  deputy_value_id read_as;    /* an input of the partition */
  deputy_value_id written_as; /* an output of the partition, of the same element type and shape */
  uint32_t reserved;
  deputy_str name;            /* unique in the model, and the same in every version of it */
  const deputy_tensor *first; /* the elements before the first run; NULL: zeros */
} deputy_state_value;

/* Receives the owned values. */
typedef struct deputy_state_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *self;
  /* The delegate keeps the index-th of the offered values. INVALID_ARGUMENT for an index that does not exist, or one
   * given twice. [in-call] */
  deputy_status *(*keep)(void *self, uint32_t index);
} deputy_state_sink;

typedef struct deputy_ext_state {
  uint32_t struct_size;
  uint32_t reserved;
  /* Selects the values that the executable keeps. Called once, after compile and before its first context. A kept value
   * has data == NULL in every run from then on. `values` and everything they point to live as long as the executable.
   * Any failure: it keeps none. [load-time] */
  deputy_status *(*own)(deputy_executable *executable, const deputy_state_value *const *values, uint32_t count,
                        const deputy_state_sink *sink);
  /* Resets the context's values to those before the first run. A new context begins with them. After a failure the
   * context is unusable: the host destroys it. [one-call-per-context] */
  deputy_status *(*reset)(deputy_context *context);
  /* Copies the elements of the index-th value into `out`, which is the host's, dense and large enough: to save a
   * session and to move it to another delegate. The state stays as it is. INVALID_ARGUMENT for a value that is not
   * kept. [one-call-per-context] */
  deputy_status *(*save)(deputy_context *context, uint32_t index, const deputy_tensor *out);
  /* The reverse of save: the next run reads these elements, which are copied. A failure has the effect of a failed
   * reset. [one-call-per-context] */
  deputy_status *(*restore)(deputy_context *context, uint32_t index, const deputy_tensor *from);
} deputy_ext_state;

#endif /* DEPUTY_ABI_EXT_DRAFT_STATE_H */
