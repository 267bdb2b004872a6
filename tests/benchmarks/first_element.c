/* A delegate for measuring what surrounds a run: its ReduceMax reads one element of its input and writes one. */
#define FIXTURE_ID "first_element"
#define FIXTURE_OPERATOR "ReduceMax"
#define FIXTURE_OPSET 20
#define FIXTURE_EXECUTE                                                     \
  *(float *)args->outputs[0]->data = *(const float *)args->inputs[0]->data; \
  return NULL
#include "fixtures/plugins/minimal.h"
