/* Runs and requests of the C API. */
#include <pthread.h>

#include "checks.h"

void runs_are_in_place_or_owned(void) {
  DeputyContext *context = cpu_context();
  DeputyModel *model = digits_model(context, NULL);
  DeputySession *session = NULL;
  OK(DeputyModelCreateSession(model, &session));
  /* A session keeps what it needs. */
  DeputyModelFree(model);
  DeputyContextFree(context);
  DeputyTensor input = picture_tensor(0.1f), owned = {0};
  OK(DeputySessionRun(session, &input, 1, &owned, 1));
  CHECK(owned.memory != NULL && owned.rank == 2 && owned.shape[1] == 10 && owned.byte_size == 40);
  float first[10], mine[10] = {0};
  memcpy(first, owned.data, sizeof first);
  const void *before = owned.data;
  OK(DeputySessionRun(session, &input, 1, &owned, 1));
  CHECK(owned.data == before && memcmp(first, owned.data, sizeof first) == 0);

  const int64_t shape[2] = {1, 10};
  DeputyTensor borrowed = {kDeputyFloat32, 2, shape, mine, sizeof mine, NULL};
  OK(DeputySessionRun(session, &input, 1, &borrowed, 1));
  CHECK(borrowed.data == mine && memcmp(first, mine, sizeof mine) == 0);
  /* What was given out before belongs to the caller, whatever runs later. */
  DeputyTensor other = picture_tensor(0.3f), result = {0};
  OK(DeputySessionRun(session, &other, 1, &result, 1));
  CHECK(memcmp(first, owned.data, sizeof first) == 0 && memcmp(first, result.data, sizeof first) != 0);

  const int64_t wrong_shape[2] = {2, 5};
  DeputyTensor misfit = {kDeputyFloat32, 2, wrong_shape, mine, sizeof mine, NULL};
  FAILS(DeputySessionRun(session, &input, 1, &misfit, 1), kDeputyInvalidArgument, "");
  FAILS(DeputySessionRun(session, &input, 1, NULL, 0), kDeputyInvalidArgument, "the model has 1");
  FAILS(DeputySessionRun(session, NULL, 0, &result, 1), kDeputyInvalidArgument, "");
  FAILS(DeputySessionRun(session, &input, 99, &result, 1), kDeputyInvalidArgument, "99 inputs given");
  FAILS(DeputySessionRun(session, NULL, 1, &result, 1), kDeputyInvalidArgument, "inputs is null");
  misfit.byte_size = 3;
  FAILS(DeputySessionRun(session, &misfit, 1, &result, 1), kDeputyInvalidArgument, "inputs: tensor 0");

  DeputyMemoryRetain(result.memory);
  DeputyMemory *const kept = result.memory;
  const float *const values = result.data;
  const float value = values[0];
  DeputyTensorRelease(&result);
  CHECK(result.data == NULL && result.dtype == kDeputyUndefined);
  DeputySessionFree(session);
  CHECK(values[0] == value);
  DeputyMemoryRelease(kept);
  DeputyTensorRelease(&owned);
  DeputyTensorRelease(&other);
  DeputyTensorRelease(&input);
}

void another_shape_is_another_output(void) {
  DeputyContext *context = cpu_context();
  DeputyModel *model = digits_model(context, NULL);
  DeputySession *session = NULL;
  OK(DeputyModelCreateSession(model, &session));
  DeputyTensor input = picture_tensor(0.1f), output = {0}, two = {0};
  OK(DeputySessionRun(session, &input, 1, &output, 1));
  const int64_t pair[4] = {2, 1, 28, 28};
  OK(DeputyTensorAllocate(kDeputyFloat32, pair, 4, &two));
  OK(DeputySessionRun(session, &two, 1, &output, 1));
  CHECK(output.rank == 2 && output.shape[0] == 2 && output.byte_size == 80);
  const DeputyShape shapes[1] = {{picture, 4}};
  OK(DeputySessionResize(session, shapes, 1));
  FAILS(DeputySessionResize(session, shapes, 0), kDeputyInvalidArgument, "");
  DeputyTensorRelease(&output);
  DeputyTensorRelease(&two);
  DeputyTensorRelease(&input);
  DeputySessionFree(session);
  DeputyModelFree(model);
  DeputyContextFree(context);
}

struct runner {
  DeputySession *session;
  const DeputyTensor *input;
  const float *expected;
  size_t refused, wrong;
};

static void *run_again_and_again(void *argument) {
  struct runner *runner = argument;
  for (int i = 0; i < 2000; ++i) {
    DeputyTensor output = {0};
    DeputyError *error = DeputySessionRun(runner->session, runner->input, 1, &output, 1);
    if (error == NULL)
      runner->wrong += memcmp(output.data, runner->expected, 40) != 0;
    else if (DeputyErrorCode(error) == kDeputyFailedPrecondition)
      ++runner->refused;
    else
      ++runner->wrong;
    DeputyErrorFree(error);
    DeputyTensorRelease(&output);
  }
  return NULL;
}

void a_second_thread_is_refused(void) {
  DeputyContext *context = cpu_context();
  DeputyModel *model = digits_model(context, NULL);
  DeputySession *session = NULL;
  OK(DeputyModelCreateSession(model, &session));
  DeputyTensor input = picture_tensor(0.1f), expected = {0};
  OK(DeputySessionRun(session, &input, 1, &expected, 1));
  struct runner runners[2] = {{session, &input, expected.data, 0, 0}, {session, &input, expected.data, 0, 0}};
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&threads[i], NULL, run_again_and_again, &runners[i]) == 0);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  CHECK(runners[0].wrong == 0 && runners[1].wrong == 0);
  CHECK(runners[0].refused + runners[1].refused > 0);
  DeputyTensorRelease(&expected);
  DeputyTensorRelease(&input);
  DeputySessionFree(session);
  DeputyModelFree(model);
  DeputyContextFree(context);
}

struct requests {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  size_t ended, failed;
  uint64_t last;
  float first[10];
  DeputyTensor kept;
};

static void on_end(void *user, const DeputyRequestResult *result) {
  struct requests *requests = user;
  pthread_mutex_lock(&requests->mutex);
  ++requests->ended;
  requests->last = result->request;
  if (result->error != NULL) {
    ++requests->failed;
  } else {
    memcpy(requests->first, result->outputs[0].data, sizeof requests->first);
    DeputyTensorRelease(&requests->kept);
    requests->kept = result->outputs[0];
    DeputyMemoryRetain(requests->kept.memory);
  }
  pthread_cond_signal(&requests->changed);
  pthread_mutex_unlock(&requests->mutex);
}

void requests_end_in_their_callback(void) {
  DeputyContext *context = cpu_context();
  DeputyModel *model = digits_model(context, NULL);
  DeputySession *session = NULL;
  OK(DeputyModelCreateSession(model, &session));
  OK(DeputySessionSetInFlight(session, 2, 0));
  DeputyTensor input = picture_tensor(0.1f), expected = {0};
  OK(DeputySessionRun(session, &input, 1, &expected, 1));
  struct requests requests = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0, {0}, {0}};
  DeputyRequest request = {sizeof request, &input, 1, NULL, 0, 0, 0, 0};
  uint64_t number = 0;
  for (size_t i = 0; i < 50; ++i) {
    DeputyError *error = NULL;
    do {
      DeputyErrorFree(error);
      error = DeputySessionSubmit(session, &request, on_end, &requests, &number);
    } while (DeputyErrorCode(error) == kDeputyUnavailable);
    OK(error);
  }
  pthread_mutex_lock(&requests.mutex);
  while (requests.ended != 50) pthread_cond_wait(&requests.changed, &requests.mutex);
  pthread_mutex_unlock(&requests.mutex);
  CHECK(requests.failed == 0 && requests.last == number);
  CHECK(memcmp(requests.first, expected.data, sizeof requests.first) == 0);
  /* In the caller's memory; a header that knew only the first fields is still understood. */
  const int64_t shape[2] = {1, 10};
  float mine[10] = {0};
  DeputyTensor borrowed = {kDeputyFloat32, 2, shape, mine, sizeof mine, NULL};
  request.outputs = &borrowed;
  request.output_count = 1;
  request.struct_size = offsetof(DeputyRequest, timeout_ns);
  request.timeout_ns = 1; /* not read */
  OK(DeputySessionSubmit(session, &request, on_end, &requests, NULL));
  pthread_mutex_lock(&requests.mutex);
  while (requests.ended != 51) pthread_cond_wait(&requests.changed, &requests.mutex);
  pthread_mutex_unlock(&requests.mutex);
  CHECK(requests.failed == 0 && memcmp(mine, expected.data, sizeof mine) == 0);
  request.struct_size = sizeof request;
  OK(DeputySessionSubmit(session, &request, on_end, &requests, NULL));
  pthread_mutex_lock(&requests.mutex);
  while (requests.ended != 52) pthread_cond_wait(&requests.changed, &requests.mutex);
  pthread_mutex_unlock(&requests.mutex);
  CHECK(requests.failed == 1); /* its time was over */
  /* A request that says nothing has the limit of the session, and one may have none. */
  DeputySessionSetTimeout(session, 1);
  for (size_t i = 0; i < 2; ++i) {
    request.timeout_ns = i == 0 ? 0 : -1;
    OK(DeputySessionSubmit(session, &request, on_end, &requests, NULL));
    pthread_mutex_lock(&requests.mutex);
    while (requests.ended != 53 + i) pthread_cond_wait(&requests.changed, &requests.mutex);
    pthread_mutex_unlock(&requests.mutex);
    CHECK(requests.failed == 2);
  }
  FAILS(DeputySessionSubmit(session, &request, NULL, NULL, NULL), kDeputyInvalidArgument, "done is null");
  DeputySessionCancel(session);
  DeputySessionCancelRequest(session, 12345);
  /* Outputs outlive their session. */
  request.outputs = NULL;
  request.timeout_ns = -1;
  OK(DeputySessionSubmit(session, &request, on_end, &requests, NULL));
  DeputySessionFree(session); /* waits for the callback */
  CHECK(requests.ended == 55);
  DeputyTensorRelease(&requests.kept);
  DeputyTensorRelease(&expected);
  DeputyTensorRelease(&input);
  DeputyModelFree(model);
  DeputyContextFree(context);
}
