/* first_element with a queue whose runs have ended when submit returns: what remains is the host's part. */
#define FIXTURE_ID "instant_element"
#define FIXTURE_OPERATOR "ReduceMax"
#define FIXTURE_OPSET 20
#define FIXTURE_EXECUTE                                                     \
  *(float *)args->outputs[0]->data = *(const float *)args->inputs[0]->data; \
  return NULL
#define QUEUE_SUBMITTED (void)Enqueue, End(run, Execute(run->context, &run->args))
#include "fixtures/plugins/has_queue.h"
