/* The C API, used from C: c_api_test DIGITS.onnx SEQUENCE.onnx. Exit status 1 if a check fails; each is named. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "checks.h"

int failures;
const char *digits;

static void errors_have_code_place_and_advice(void) {
  DeputyContext *context = NULL;
  const char *text = "version: 1\ndelegates:\n  - {name: npu0, delegat: sim_npu}\n";
  DeputyError *error = DeputyContextFromYamlText("edge.yaml", text, NULL, 0, &context);
  CHECK(DeputyErrorCode(error) == kDeputyConfig);
  CHECK(strstr(DeputyErrorText(error), "edge.yaml:3:18") != NULL);
  CHECK(strstr(DeputyErrorText(error), "delegate") != NULL);
  CHECK(context == NULL);
  DeputyErrorFree(error);
  CHECK(strcmp(DeputyErrorCodeName(kDeputyConfig), "configuration") == 0);
  CHECK(DeputyErrorCode(NULL) == kDeputyOk && DeputyErrorText(NULL)[0] == 0 && DeputyErrorPlace(NULL)[0] == 0);
  DeputyErrorFree(NULL);

  DeputyModel *model = NULL;
  context = cpu_context();
  FAILS(DeputyModelFromFile("absent.onnx", context, NULL, &model), kDeputyModelError, "absent.onnx: cannot open");
  FAILS(DeputyModelFromMemory("nothing", 7, kDeputyOnnx, context, NULL, &model), kDeputyModelError, "");
  FAILS(DeputyModelFromMemory("nothing", 7, 9, context, NULL, &model), kDeputyInvalidArgument, "format 9");
  FAILS(DeputyModelFromFile(NULL, context, NULL, &model), kDeputyInvalidArgument, "path is null");
  FAILS(DeputyModelFromFile(digits, NULL, NULL, &model), kDeputyInvalidArgument, "context is null");
  FAILS(DeputyModelFromFile(digits, context, NULL, NULL), kDeputyInvalidArgument, "model is null");
  CHECK(model == NULL);
  DeputyContextFree(context);
}

static void options_are_strict(void) {
  DeputyContext *context = cpu_context();
  DeputyModel *model = NULL;
  const struct {
    const char *options, *text;
  } wrong[] = {
      {"{\"input_shaps\": {}}", "unknown key 'input_shaps'; did you mean 'input_shapes'?"},
      {"{\"input_shapes\": {\"image\": 4}}", "input_shapes.image: a list is expected"},
      {"{\"input_shapes\": {\"image\": [1, \"a\"]}}", "input_shapes.image[1]: an integer is expected"},
      {"{\"input_shapes\": {\"image\": [1, 99999999999999999999]}}", "input_shapes.image[1]: an integer"},
      {"{\"extra_outputs\": [true]}", "extra_outputs[0]: a text in quotes is expected"},
      {"{\"extra_outputs\": [], \"extra_outputs\": []}", "'extra_outputs' is given twice"},
      {"[]", "a map in braces is expected"},
      {"{\"extra_outputs\": [", "is not valid JSON"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
    FAILS(DeputyModelFromFile(digits, context, wrong[i].options, &model), kDeputyInvalidArgument, wrong[i].text);
  model = digits_model(context, "{\n\t\"extra_outputs\": [\"conv1\"]\n}");
  CHECK(DeputyModelOutputCount(model) == 2 && strcmp(DeputyModelOutput(model, 1)->name, "conv1") == 0);
  DeputyModelFree(model);
  DeputyContextFree(context);
}

static void models_tell_their_inputs(void) {
  DeputyContext *context = cpu_context();
  DeputyModel *model = digits_model(context, NULL);
  CHECK(DeputyModelInputCount(model) == 1 && DeputyModelOutputCount(model) == 1);
  const DeputyValueInfo *input = DeputyModelInput(model, 0);
  CHECK(strcmp(input->name, "image") == 0 && input->dtype == kDeputyFloat32 && input->is_ranked && input->kind == 0);
  CHECK(input->rank == 4 && input->shape[0] == -1 && input->shape[3] == 28);
  CHECK(strcmp(input->dims[0], "batch") == 0 && strcmp(input->dims[3], "28") == 0);
  CHECK(DeputyModelOutput(model, 0)->rank == 2);
  CHECK(DeputyModelInput(model, 1) == NULL && DeputyModelOutput(model, 1) == NULL && DeputyModelInput(NULL, 0) == NULL);
  DeputyModelFree(model);
  DeputyContextFree(context);
}

static void reports_are_trees_and_json(void) {
  DeputyContext *context = cpu_context();
  DeputyModel *model = digits_model(context, NULL);
  DeputyReport *report = NULL;
  const DeputyShape shapes[1] = {{picture, 4}};
  FAILS(DeputyModelPlacement(model, NULL, 0, 0, &report), kDeputyInvalidArgument, "dynamic shapes");
  OK(DeputyModelPlacement(model, shapes, 1, 0, &report));
  const DeputyField *root = DeputyReportRoot(report);
  CHECK(DeputyFieldKindOf(root) == kDeputyMap);
  const DeputyField *nodes = DeputyFieldNamed(root, "nodes");
  CHECK(DeputyFieldKindOf(nodes) == kDeputyList && DeputyFieldCount(nodes) == 8);
  size_t size = 0;
  CHECK(strcmp(DeputyFieldText(DeputyFieldNamed(DeputyFieldAt(nodes, 0), "delegate"), &size), "cpu") == 0 && size == 3);
  CHECK(DeputyFieldInteger(DeputyFieldNamed(root, "multiply_adds")) == 322560);
  CHECK(DeputyFieldNumber(DeputyFieldNamed(root, "multiply_adds")) == 322560);
  CHECK(DeputyFieldAt(nodes, 8) == NULL && DeputyFieldNamed(root, "absent") == NULL);
  CHECK(DeputyFieldNamed(nodes, "name") == NULL && DeputyFieldKindOf(NULL) == kDeputyNone);
  CHECK(strcmp(DeputyFieldName(root, 0), "summary") == 0 && DeputyFieldName(nodes, 0) == NULL);
  CHECK(strstr(DeputyReportJson(report), "\"multiply_adds\": 322560") != NULL);
  DeputyReportFree(report);
  OK(DeputyModelPlacement(model, shapes, 1, 1, &report));
  int arrays = 0;
  nodes = DeputyFieldNamed(DeputyReportRoot(report), "nodes");
  for (size_t i = 0; i < DeputyFieldCount(nodes); ++i) {
    const DeputyField *inputs = DeputyFieldNamed(DeputyFieldAt(nodes, i), "inputs");
    for (size_t j = 0; j < DeputyFieldCount(inputs); ++j) {
      DeputyTensor constant = {0};
      arrays += DeputyFieldArray(DeputyFieldNamed(DeputyFieldAt(inputs, j), "constant"), &constant);
    }
  }
  CHECK(arrays == 6); /* weights and biases of two convolutions and a product */
  DeputyReportFree(report);
  OK(DeputyContextConfig(context, 0, &report));
  CHECK(DeputyFieldKindOf(DeputyReportRoot(report)) == kDeputyText);
  CHECK(strstr(DeputyFieldText(DeputyReportRoot(report), NULL), "fallback: cpu") != NULL);
  DeputyReportFree(report);
  OK(DeputyContextHealth(context, &report));
  CHECK(DeputyFieldKindOf(DeputyFieldNamed(DeputyReportRoot(report), "degraded")) == kDeputyBool);
  CHECK(!DeputyFieldBool(DeputyFieldNamed(DeputyReportRoot(report), "degraded")));
  DeputyReportFree(report);
  OK(DeputyInspectModel(digits, NULL, &report));
  CHECK(strcmp(DeputyFieldText(DeputyFieldNamed(DeputyReportRoot(report), "format"), NULL), "ONNX") == 0);
  DeputyReportFree(report);
  OK(DeputyCheckConfig("{\"settings\": [\"cpu.threads=x\"], \"offline\": true}", &report));
  const DeputyField *problems = DeputyFieldNamed(DeputyReportRoot(report), "problems");
  CHECK(DeputyFieldCount(problems) == 1);
  DeputyReportFree(report);
  FAILS(DeputyInspectModel(digits, "{\"input_shapes\": {\"picture\": [1]}}", &report), kDeputyNotFound, "picture");
  FAILS(DeputyInspectModel(digits, NULL, NULL), kDeputyInvalidArgument, "report is null");
  DeputyReportFree(NULL);
  DeputyModelFree(model);
  DeputyContextFree(context);
}

static void delegates_come_from_yaml_and_code(void) {
  DeputyContext *context = NULL, *copy = NULL;
  const char *yaml = "version: 1\ndelegates: [{name: npu0, delegate: sim_npu}]\n";
  const char *const settings[] = {"delegates.npu0.options.frequency=low"};
  OK(DeputyContextFromYamlText("edge.yaml", yaml, settings, 1, &context));
  OK(DeputyContextCopy(context, &copy));
  OK(DeputyContextSetDelegates(copy,
                               "{\"delegates\": [{\"name\": \"second\", \"delegate\": \"sim_npu\", \"device\": 0, "
                               "\"options\": {\"frequency\": \"high\"}}]}"));
  DeputyReport *report = NULL;
  OK(DeputyContextDelegates(copy, &report));
  const DeputyField *delegates = DeputyFieldNamed(DeputyReportRoot(report), "delegates");
  CHECK(DeputyFieldCount(delegates) == 3);
  const DeputyField *second = DeputyFieldAt(delegates, 1);
  CHECK(strcmp(DeputyFieldText(DeputyFieldNamed(second, "name"), NULL), "second") == 0);
  CHECK(strcmp(DeputyFieldText(DeputyFieldNamed(DeputyFieldNamed(second, "options"), "frequency"), NULL), "900MHz") ==
        0);
  CHECK(DeputyFieldInteger(DeputyFieldNamed(DeputyFieldNamed(second, "device"), "level_requested")) == 3);
  DeputyReportFree(report);
  OK(DeputyContextSetOption(copy, "second", "frequency", "low"));
  FAILS(DeputyContextSetOption(copy, "third", "frequency", "low"), kDeputyNotFound, "third");
  OK(DeputyContextConfiguredDelegates(context, &report));
  CHECK(DeputyFieldCount(DeputyReportRoot(report)) == 1);
  DeputyReportFree(report);
  FAILS(DeputyContextSetDelegates(copy, "{\"delegates\": [{\"nam\": \"x\"}]}"), kDeputyInvalidArgument,
        "delegates[0].nam");
  DeputyModel *model = digits_model(context, NULL);
  DeputySession *session = NULL;
  OK(DeputyModelCreateSession(model, &session));
  DeputySessionEnableProfiling(session, 1);
  const DeputyRunHints hints = {sizeof hints, 3, kDeputyUndefined, 5};
  OK(DeputySessionSetHints(session, &hints));
  DeputyTensor input = picture_tensor(0.1f), output = {0};
  OK(DeputySessionRun(session, &input, 1, &output, 1));
  OK(DeputySessionStatistics(session, &report));
  CHECK(DeputyFieldInteger(DeputyFieldNamed(DeputyReportRoot(report), "total_ns")) > 0);
  CHECK(DeputyFieldInteger(DeputyFieldNamed(DeputyFieldNamed(DeputyReportRoot(report), "delegate_nodes"), "npu0")) > 0);
  DeputyReportFree(report);
  DeputyTensorRelease(&input);
  DeputyTensorRelease(&output);
  DeputySessionFree(session);
  DeputyModelFree(model);
  DeputyContextFree(copy);
  DeputyContextFree(context);
}

static void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void reloads_change_live_sessions(void) {
  char folder[] = "/tmp/deputy-c-api-XXXXXX", path[64];
  CHECK(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/edge.yaml", folder);
  write_text(path, "version: 1\n");
  DeputyContext *context = NULL;
  OK(DeputyContextFromYaml(path, NULL, 0, &context));
  DeputyModel *model = digits_model(context, NULL);
  DeputySession *session = NULL;
  OK(DeputyModelCreateSession(model, &session));
  DeputyTensor input = picture_tensor(0.1f), output = {0};
  OK(DeputySessionRun(session, &input, 1, &output, 1));
  write_text(path, "version: 1\ndelegates: [{name: npu0, delegate: sim_npu}]\n");
  OK(DeputyContextReload(context, NULL));
  OK(DeputySessionRun(session, &input, 1, &output, 1));
  DeputyReport *report = NULL;
  OK(DeputySessionPlacement(session, 1, &report));
  CHECK(strstr(DeputyReportJson(report), "\"delegate\": \"npu0\"") != NULL);
  DeputyReportFree(report);
  write_text(path, "version: 1\ndelegate: []\n");
  FAILS(DeputyContextReload(context, NULL), kDeputyConfig, "edge.yaml:2:1");
  OK(DeputySessionRun(session, &input, 1, &output, 1));
  OK(DeputyContextHealth(context, &report));
  const DeputyField *configuration = DeputyFieldNamed(DeputyReportRoot(report), "configuration");
  CHECK(DeputyFieldInteger(DeputyFieldNamed(configuration, "generation")) == 2);
  CHECK(DeputyFieldInteger(DeputyFieldNamed(configuration, "failed")) == 1);
  CHECK(strstr(DeputyFieldText(DeputyFieldNamed(configuration, "error"), NULL), "edge.yaml:2:1") != NULL);
  DeputyReportFree(report);
  DeputyContext *next = cpu_context();
  OK(DeputyContextReload(context, next));
  FAILS(DeputyContextWatchFiles(next, NULL, NULL, NULL), kDeputyFailedPrecondition, "");
  DeputyContextFree(next);
  remove(path);
  remove(folder);
  DeputyTensorRelease(&input);
  DeputyTensorRelease(&output);
  DeputySessionFree(session);
  DeputyModelFree(model);
  DeputyContextFree(context);
}

static void buffers_are_bound(void) {
  DeputyContext *context = cpu_context();
  DeputyModel *model = digits_model(context, NULL);
  DeputySession *session = NULL;
  OK(DeputyModelCreateSession(model, &session));
  DeputyTensor input = picture_tensor(0.1f), expected = {0}, none = {0}, read = {0};
  OK(DeputySessionRun(session, &input, 1, &expected, 1));
  DeputyBuffer *given = NULL, *made = NULL;
  OK(DeputyBufferMakeShared(kDeputyFloat32, picture, 4, &given));
  DeputyBufferInfo info = {sizeof info, 0, 0, NULL, 0, 0, 0, 0};
  DeputyBufferDescribe(given, &info);
  CHECK(info.dtype == kDeputyFloat32 && info.rank == 4 && info.shape[3] == 28 && info.byte_size == 3136);
  CHECK(info.descriptor >= 0 && !info.is_on_device);
  void *mapped = mmap(NULL, 3136, PROT_READ | PROT_WRITE, MAP_SHARED, info.descriptor, 0);
  CHECK(mapped != MAP_FAILED);
  memcpy(mapped, input.data, 3136);
  munmap(mapped, 3136);
  OK(DeputySessionOutputBuffer(session, DeputyModelOutput(model, 0)->name, &made));
  OK(DeputySessionBindInput(session, "image", given));
  OK(DeputySessionBindOutput(session, DeputyModelOutput(model, 0)->name, made));
  DeputyTensor output = {0};
  OK(DeputySessionRun(session, &none, 1, &output, 1));
  CHECK(output.data == NULL);
  OK(DeputyBufferRead(made, &read));
  CHECK(memcmp(read.data, expected.data, 40) == 0);
  OK(DeputyBufferWrite(given, &input));
  FAILS(DeputyBufferWrite(given, &read), kDeputyInvalidArgument, "");
  FAILS(DeputySessionBindInput(session, "picture", given), kDeputyNotFound, "picture");
  OK(DeputySessionBindInput(session, "image", NULL));
  DeputyBuffer *imported = NULL;
  OK(DeputyBufferImport(info.descriptor, 0, kDeputyFloat32, picture, 4, &imported));
  FAILS(DeputyBufferImport(-1, 0, kDeputyFloat32, picture, 4, &imported), kDeputyInvalidArgument, "");
  DeputyBufferFree(imported);
  DeputyBufferFree(given);
  DeputyBufferFree(made);
  DeputyTensorRelease(&read);
  DeputyTensorRelease(&expected);
  DeputyTensorRelease(&input);
  DeputySessionFree(session);
  DeputyModelFree(model);
  DeputyContextFree(context);
}

static size_t log_lines, stages, released;
static void on_log(void *user, DeputyLogLevel level, const char *source, const char *message) {
  (void)user;
  if (level >= kDeputyLogDebug && strcmp(source, "host") == 0 && message[0] != 0) ++log_lines;
}
static void on_progress(void *user, const DeputyProgress *progress) {
  (void)user;
  if (strcmp(progress->stage, "import") == 0) ++stages;
}
static void on_release(void *user) {
  (void)user;
  ++released;
}

static void log_and_progress_go_to_the_application(void) {
  OK(DeputySetLogSink(on_log, NULL, on_release));
  DeputyContext *context = cpu_context();
  OK(DeputyContextSetProgress(context, on_progress, NULL, on_release));
  DeputyModel *model = digits_model(context, NULL);
  const DeputyShape shapes[1] = {{picture, 4}};
  DeputyReport *report = NULL;
  OK(DeputyModelPlacement(model, shapes, 1, 0, &report)); /* its summary is logged */
  DeputyReportFree(report);
  CHECK(released == 0);
  OK(DeputySetLogSink(NULL, NULL, NULL));
  CHECK(released == 1);
  DeputyModelFree(model);
  DeputyContextFree(context);
  CHECK(stages == 1 && released == 2 && log_lines == 1);
}

static void tensors_are_read_and_written(void) {
  char path[] = "/tmp/deputy-c-api-XXXXXX.npy";
  const int descriptor = mkstemps(path, 4);
  CHECK(descriptor >= 0);
  DeputyTensor made = picture_tensor(1.0f), read = {0};
  OK(DeputyTensorWrite(path, &made));
  OK(DeputyTensorRead(path, kDeputyUndefined, NULL, 0, &read));
  CHECK(read.rank == 4 && memcmp(read.data, made.data, 3136) == 0);
  remove(path);
  uint64_t bytes = 0;
  OK(DeputyByteSize(kDeputyInt4, picture, 4, &bytes));
  CHECK(bytes == 392);
  const int64_t negative[1] = {-1};
  FAILS(DeputyByteSize(kDeputyFloat32, negative, 1, &bytes), kDeputyInvalidArgument, "");
  FAILS(DeputyByteSize(kDeputyString, picture, 4, &bytes), kDeputyNotSupported, "");
  FAILS(DeputyTensorAllocate(kDeputyFloat32, NULL, 4, &read), kDeputyInvalidArgument, "shape is null");
  CHECK(strcmp(DeputyDTypeName(kDeputyBFloat16), "bfloat16") == 0);
  DeputyTensorRelease(&made);
  DeputyTensorRelease(&read);
}

static void sequences_are_values(const char *path) {
  DeputyContext *context = cpu_context();
  DeputyModel *model = NULL;
  OK(DeputyModelFromFile(path, context, NULL, &model));
  CHECK(DeputyModelInput(model, 0)->kind == 1);
  DeputySession *session = NULL;
  OK(DeputyModelCreateSession(model, &session));
  float numbers[3] = {1, 2, 3};
  const int64_t shapes[2] = {2, 1};
  const DeputyTensor elements[2] = {{kDeputyFloat32, 1, &shapes[0], numbers, 8, NULL},
                                    {kDeputyFloat32, 1, &shapes[1], numbers + 2, 4, NULL}};
  const DeputyValue input = {1, kDeputyFloat32, elements, 2, NULL};
  DeputyValue output = {0};
  OK(DeputySessionRunValues(session, &input, 1, &output, 1));
  /* ConcatFromSequence */
  CHECK(!output.is_sequence && output.count == 1 && output.tensors[0].byte_size == 12);
  CHECK(memcmp(output.tensors[0].data, numbers, 12) == 0);
  DeputyTensor none = {0};
  FAILS(DeputySessionRun(session, &none, 1, &none, 1), kDeputyFailedPrecondition, "PredictValues");
  DeputyValueRelease(&output);
  CHECK(output.tensors == NULL);
  DeputySessionFree(session);
  DeputyModelFree(model);
  DeputyContextFree(context);
}

static void versions_are_those_of_the_header(void) {
  CHECK(DeputyApiVersion() == DEPUTY_C_API_VERSION);
  DeputyReport *report = NULL;
  OK(DeputyInstallation(&report));
  CHECK(strcmp(DeputyFieldText(DeputyFieldNamed(DeputyReportRoot(report), "version"), NULL), DeputyVersion()) == 0);
  DeputyReportFree(report);
}

int main(int count, char **arguments) {
  if (count != 3) return 2;
  digits = arguments[1];
  versions_are_those_of_the_header();
  errors_have_code_place_and_advice();
  options_are_strict();
  models_tell_their_inputs();
  runs_are_in_place_or_owned();
  another_shape_is_another_output();
  a_second_thread_is_refused();
  requests_end_in_their_callback();
  reports_are_trees_and_json();
  delegates_come_from_yaml_and_code();
  reloads_change_live_sessions();
  buffers_are_bound();
  log_and_progress_go_to_the_application();
  tensors_are_read_and_written();
  sequences_are_values(arguments[2]);
  if (failures == 0) puts("all checks passed");
  return failures != 0;
}
