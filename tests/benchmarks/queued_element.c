/* first_element with a queue, whose thread polls for the next run, as a device does that needs no interrupt. */
#define FIXTURE_ID "queued_element"
#define FIXTURE_OPERATOR "ReduceMax"
#define FIXTURE_OPSET 20
#define FIXTURE_EXECUTE                                                     \
  *(float *)args->outputs[0]->data = *(const float *)args->inputs[0]->data; \
  return NULL
#define QUEUE_IDLE                                                                     \
  do {                                                                                 \
    pthread_mutex_unlock(&instance->mutex);                                            \
    while (__atomic_load_n(&instance->first, __ATOMIC_ACQUIRE) == NULL && !IsOver()) { \
    }                                                                                  \
    pthread_mutex_lock(&instance->mutex);                                              \
  } while (0)
#define IsOver() __atomic_load_n(&instance->quits, __ATOMIC_ACQUIRE)
#include "fixtures/plugins/has_queue.h"
