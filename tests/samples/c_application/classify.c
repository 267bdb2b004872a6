// Classifies one picture of a digit: classify MODEL.onnx CONFIGURATION.yaml
#include <deputy.h>
#include <stdio.h>
#include <stdlib.h>

// Ends the program after an error, which says where it happened and what to do.
static void check(DeputyError *error) {
  if (error == NULL) return;
  fprintf(stderr, "classify: %s\n", DeputyErrorText(error));
  DeputyErrorFree(error);
  exit(EXIT_FAILURE);
}

static void print_placement(const DeputySession *session) {
  DeputyReport *report = NULL;
  check(DeputySessionPlacement(session, 1, &report));
  const DeputyField *nodes = DeputyFieldNamed(DeputyReportRoot(report), "nodes");
  for (size_t i = 0; i < DeputyFieldCount(nodes); ++i) {
    const DeputyField *node = DeputyFieldAt(nodes, i);
    printf("%-8s %s\n", DeputyFieldText(DeputyFieldNamed(node, "op_type"), NULL),
           DeputyFieldText(DeputyFieldNamed(node, "delegate"), NULL));
  }
  DeputyReportFree(report);
}

int main(int count, char **arguments) {
  if (count != 3) return EXIT_FAILURE;
  DeputyContext *context = NULL;
  DeputyModel *model = NULL;
  DeputySession *session = NULL;
  check(DeputyContextFromYaml(arguments[2], NULL, 0, &context));
  check(DeputyModelFromFile(arguments[1], context, NULL, &model));
  check(DeputyModelCreateSession(model, &session));

  float pixels[28 * 28] = {0};
  for (int row = 4; row < 24; ++row) pixels[row * 28 + 14] = 1;  // a stroke from top to bottom: a one
  const int64_t shape[4] = {1, 1, 28, 28};
  const DeputyTensor picture = {kDeputyFloat32, 4, shape, pixels, sizeof pixels, NULL};
  DeputyTensor scores = {0};
  check(DeputySessionRun(session, &picture, 1, &scores, 1));

  int best = 0;
  for (int digit = 1; digit < 10; ++digit)
    if (((const float *)scores.data)[digit] > ((const float *)scores.data)[best]) best = digit;
  printf("digit %d\n", best);
  print_placement(session);

  DeputyTensorRelease(&scores);
  DeputySessionFree(session);
  DeputyModelFree(model);
  DeputyContextFree(context);
  return EXIT_SUCCESS;
}
