/* What the tests of the C API share. */
#ifndef DEPUTY_TESTS_CAPI_CHECKS_H
#define DEPUTY_TESTS_CAPI_CHECKS_H

#include <deputy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int failures; /* checks that have failed */

static inline void check(int ok, const char *what, const char *file, int line) {
  if (ok) return;
  fprintf(stderr, "%s:%d: %s\n", file, line, what);
  ++failures;
}
#define CHECK(condition) check((condition) != 0, #condition, __FILE__, __LINE__)

/* A call that must succeed. */
static inline void succeed(DeputyError *error, const char *what, const char *file, int line) {
  if (error == NULL) return;
  fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, DeputyErrorText(error));
  DeputyErrorFree(error);
  exit(1);
}
#define OK(call) succeed((call), #call, __FILE__, __LINE__)

/* A call that must fail with this code, and a text in its message. */
static inline void fail(DeputyError *error, DeputyCode code, const char *text, const char *what, const char *file,
                        int line) {
  if (DeputyErrorCode(error) != code || strstr(DeputyErrorText(error), text) == NULL) {
    fprintf(stderr, "%s:%d: %s: %d \"%s\"\n", file, line, what, (int)DeputyErrorCode(error), DeputyErrorText(error));
    ++failures;
  }
  DeputyErrorFree(error);
}
#define FAILS(call, code, text) fail((call), (code), (text), #call, __FILE__, __LINE__)

extern const char *digits;
static const int64_t picture[4] = {1, 1, 28, 28};

static inline DeputyContext *cpu_context(void) {
  DeputyContext *context = NULL;
  OK(DeputyContextFromYaml("", NULL, 0, &context));
  return context;
}

static inline DeputyModel *digits_model(const DeputyContext *context, const char *options) {
  DeputyModel *model = NULL;
  OK(DeputyModelFromFile(digits, context, options, &model));
  return model;
}

static inline DeputyTensor picture_tensor(float value) {
  DeputyTensor tensor = {0};
  OK(DeputyTensorAllocate(kDeputyFloat32, picture, 4, &tensor));
  for (size_t i = 0; i < tensor.byte_size / sizeof(float); ++i) ((float *)tensor.data)[i] = value * (float)(i % 7);
  return tensor;
}

/* c_api_runs.c */
void runs_are_in_place_or_owned(void);
void another_shape_is_another_output(void);
void a_second_thread_is_refused(void);
void requests_end_in_their_callback(void);

#endif
