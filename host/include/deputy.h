/* Deputy's C API: a host for neural-network inference delegates. C11; this header is all that a program needs.
 *
 *   DeputyContext *context = NULL;
 *   DeputyModel *model = NULL;
 *   DeputySession *session = NULL;
 *   DeputyError *error = DeputyContextFromLayers(NULL, 0, NULL, 0, &context);
 *   if (!error) error = DeputyModelFromFile("model.onnx", context, NULL, &model);
 *   if (!error) error = DeputyModelCreateSession(model, &session);
 *   DeputyTensor output = {0};
 *   if (!error) error = DeputySessionRun(session, &input, 1, &output, 1);
 *
 * Conventions, for all functions:
 *  1. A function that can fail returns an error that the caller frees, or NULL. Results are written on success only.
 *  2. Handles are opaque, and freed by the function of their name. Free functions accept NULL. A handle keeps what it
 *     needs: a session its model, a model the delegates of its context.
 *  3. Texts are UTF-8 and end with a zero byte. Those that are given are copied, those that are returned belong to the
 *     handle that they come from.
 *  4. `options` is a JSON object whose keys the function's comment lists; NULL: all defaults. Numbers may also be NaN,
 *     Infinity and -Infinity. An unknown key, a key that is given twice and a value of another type are errors,
 *     kDeputyInvalidArgument, that name it. What a function reports is a tree of fields, which can be read field by
 *     field or as JSON.
 *  5. The API only grows: functions and enumerators are added, and fields at the end of structs that begin with
 *     `struct_size`, which the caller sets to the size that its header knows. Structs without one are frozen. Programs
 *     accept enumerators and fields of reports that they do not know.
 *  6. Functions are called by one thread at a time for a handle, except those with [any-thread].
 *
 * The C++ API (deputy/deputy.hpp) has the same functions, whose comments say more. */
#ifndef DEPUTY_H
#define DEPUTY_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define DEPUTY_C_API __attribute__((visibility("default")))
#else
#define DEPUTY_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this API, and of the library that the program runs with: "0.2.0". [any-thread] */
#define DEPUTY_C_API_VERSION 1
DEPUTY_C_API uint32_t DeputyApiVersion(void);
DEPUTY_C_API const char *DeputyVersion(void);

/* ---- Errors ---------------------------------------------------------------------------------------------------- */

typedef int32_t DeputyCode;
enum {
  kDeputyOk = 0,
  kDeputyCancelled = 1,
  kDeputyUnknown = 2,
  kDeputyInvalidArgument = 3, /* a caller's value is wrong (shape, dtype, name, option) */
  kDeputyDeadlineExceeded = 4,
  kDeputyNotFound = 5,          /* a file, plugin, tensor or node that does not exist */
  kDeputyResourceExhausted = 8, /* out of memory, or a budget or limit was hit */
  kDeputyFailedPrecondition = 9,
  kDeputyAborted = 10,
  kDeputyNotSupported = 12, /* valid, but not supported here */
  kDeputyInternal = 13,     /* a violated invariant inside Deputy; please report it */
  kDeputyUnavailable = 14,
  kDeputyDeviceLost = 15,
  kDeputyIncompatible = 16, /* a blob or plugin made for another version */
  kDeputyConfig = 17,       /* the YAML or an option is wrong */
  kDeputyModelError = 18,   /* the model file is damaged, foreign or not valid */
  kDeputyPlugin = 19        /* a plugin is unusable or broke its contract */
};

typedef struct DeputyError DeputyError;

/* Of NULL: kDeputyOk and empty texts. [any-thread] */
DEPUTY_C_API DeputyCode DeputyErrorCode(const DeputyError *error);
/* "invalid argument" */
DEPUTY_C_API const char *DeputyErrorCodeName(DeputyCode code);
/* The failure in one sentence. */
DEPUTY_C_API const char *DeputyErrorMessage(const DeputyError *error);
/* The place: "model.onnx: node 'conv1'", "default.yaml:3:5"; may be empty. */
DEPUTY_C_API const char *DeputyErrorPlace(const DeputyError *error);
/* The remedy; may be empty. */
DEPUTY_C_API const char *DeputyErrorAdvice(const DeputyError *error);
/* "place: message; advice" */
DEPUTY_C_API const char *DeputyErrorText(const DeputyError *error);
DEPUTY_C_API void DeputyErrorFree(DeputyError *error);

/* ---- Reports --------------------------------------------------------------------------------------------------- */

/* A tree of fields. Reports are immutable; fields belong to their report. [any-thread] */
typedef struct DeputyReport DeputyReport;
typedef struct DeputyField DeputyField;

typedef int32_t DeputyFieldKind;
enum {
  kDeputyNone = 0,
  kDeputyBool = 1,
  kDeputyInteger = 2,
  kDeputyNumber = 3,
  kDeputyText = 4,
  kDeputyList = 5,
  kDeputyMap = 6,   /* fields with names, in a fixed order */
  kDeputyArray = 7, /* a tensor; in JSON its dtype and shape */
};

struct DeputyTensor;
DEPUTY_C_API const DeputyField *DeputyReportRoot(const DeputyReport *report);
/* The whole tree as JSON text in one line. */
DEPUTY_C_API const char *DeputyReportJson(const DeputyReport *report);
DEPUTY_C_API void DeputyReportFree(DeputyReport *report);

/* Of NULL: kDeputyNone, and zeros. A field of another kind reads as 0 or "". */
DEPUTY_C_API DeputyFieldKind DeputyFieldKindOf(const DeputyField *field);
DEPUTY_C_API int DeputyFieldBool(const DeputyField *field);
DEPUTY_C_API int64_t DeputyFieldInteger(const DeputyField *field); /* the bits, where it is above INT64_MAX */
DEPUTY_C_API double DeputyFieldNumber(const DeputyField *field);   /* integers too */
/* `size` (may be NULL) gets the bytes without the last zero; a text may hold zeros. */
DEPUTY_C_API const char *DeputyFieldText(const DeputyField *field, size_t *size);
DEPUTY_C_API int DeputyFieldArray(const DeputyField *field, struct DeputyTensor *tensor); /* 0: not one */
/* Of lists and maps; NULL beyond the last, and for a name that is not there. */
DEPUTY_C_API size_t DeputyFieldCount(const DeputyField *field);
DEPUTY_C_API const DeputyField *DeputyFieldAt(const DeputyField *field, size_t index);
DEPUTY_C_API const char *DeputyFieldName(const DeputyField *map, size_t index);
DEPUTY_C_API const DeputyField *DeputyFieldNamed(const DeputyField *map, const char *name);

/* ---- The log --------------------------------------------------------------------------------------------------- */

typedef int32_t DeputyLogLevel;
enum { kDeputyLogDebug = 1, kDeputyLogInfo = 2, kDeputyLogWarning = 3, kDeputyLogError = 4 };
/* `source` is "host" or the name of a delegate. Called by every thread that logs, several at once. */
typedef void (*DeputyLogSink)(void *user, DeputyLogLevel level, const char *source, const char *message);
/* Process-wide; NULL logs to stderr again. When it returns, the previous sink is not running any more, unless it is the
 * caller. `release` is called with `user` when the sink is not used any more, or the call fails; it may be NULL.
 * [any-thread] */
DEPUTY_C_API DeputyError *DeputySetLogSink(DeputyLogSink sink, void *user, void (*release)(void *user));
/* The line that is written on stderr for a message, in the format of the configuration that was used last; a text.
 * [any-thread] */
DEPUTY_C_API DeputyError *DeputyLogText(DeputyLogLevel level, const char *source, const char *message,
                                        DeputyReport **text);
/* "debug", "info", "warning", "error", as in JSON. [any-thread] */
DEPUTY_C_API const char *DeputyLogLevelName(DeputyLogLevel level);
/* The form of these lines: text; text behind its priority for the journal of systemd ("<4>"); an object of JSON.
 * [any-thread] */
typedef int32_t DeputyLogLineForm;
enum { kDeputyLineText = 1, kDeputyLineJournal = 2, kDeputyLineJson = 3 };
DEPUTY_C_API DeputyLogLineForm DeputyLogLineFormInUse(void);

/* ---- Tensors --------------------------------------------------------------------------------------------------- */

/* The numbers of ONNX TensorProto.DataType. Elements of less than a byte are packed, the first in the low bits. */
typedef int32_t DeputyDType;
enum {
  kDeputyUndefined = 0,
  kDeputyFloat32 = 1,
  kDeputyUint8 = 2,
  kDeputyInt8 = 3,
  kDeputyUint16 = 4,
  kDeputyInt16 = 5,
  kDeputyInt32 = 6,
  kDeputyInt64 = 7,
  kDeputyString = 8,
  kDeputyBoolean = 9,
  kDeputyFloat16 = 10,
  kDeputyFloat64 = 11,
  kDeputyUint32 = 12,
  kDeputyUint64 = 13,
  kDeputyBFloat16 = 16,
  kDeputyFloat8E4M3FN = 17,
  kDeputyFloat8E4M3FNUZ = 18,
  kDeputyFloat8E5M2 = 19,
  kDeputyFloat8E5M2FNUZ = 20,
  kDeputyUint4 = 21,
  kDeputyInt4 = 22,
  kDeputyFloat4E2M1 = 23,
  kDeputyFloat8E8M0 = 24,
  kDeputyUint2 = 25,
  kDeputyInt2 = 26
};
/* "float32"; "unknown" for another number. [any-thread] */
DEPUTY_C_API const char *DeputyDTypeName(DeputyDType dtype);

/* Counted ownership of memory that the library made. */
typedef struct DeputyMemory DeputyMemory;
DEPUTY_C_API void DeputyMemoryRetain(DeputyMemory *memory);  /* [any-thread] */
DEPUTY_C_API void DeputyMemoryRelease(DeputyMemory *memory); /* [any-thread] */

/* For memory of the caller: `release` is called with `keep` when it has no owner any more. NULL: out of memory, and
 * `release` was not called. [any-thread] */
DEPUTY_C_API DeputyMemory *DeputyMemoryWrap(void *keep, void (*release)(void *keep));

/* A dense row-major tensor. Frozen. All zeros is no tensor. */
typedef struct DeputyTensor {
  DeputyDType dtype;
  uint32_t rank;        /* 0: a scalar */
  const int64_t *shape; /* `rank` extents, outermost first */
  void *data;
  uint64_t byte_size;
  DeputyMemory *memory; /* owns shape and data; NULL: they are the caller's */
} DeputyTensor;

/* Bytes of this dtype and shape. kDeputyNotSupported for a dtype without a size; kDeputyInvalidArgument for a negative
 * extent or more than 2^48 elements. [any-thread] */
DEPUTY_C_API DeputyError *DeputyByteSize(DeputyDType dtype, const int64_t *shape, uint32_t rank, uint64_t *bytes);
/* Zeroed memory, aligned to 64 bytes. [any-thread] */
DEPUTY_C_API DeputyError *DeputyTensorAllocate(DeputyDType dtype, const int64_t *shape, uint32_t rank,
                                               DeputyTensor *tensor);
/* Releases what `memory` owns, and sets all to zero. */
DEPUTY_C_API void DeputyTensorRelease(DeputyTensor *tensor);
/* Files by their names: .npy and .pb (ONNX TensorProto) contain dtype and shape; any other is raw, and needs both. */
DEPUTY_C_API DeputyError *DeputyTensorRead(const char *path, DeputyDType dtype, const int64_t *shape, uint32_t rank,
                                           DeputyTensor *tensor);
/* Whether dtype, shape, data and byte_size fit together. [any-thread] */
DEPUTY_C_API DeputyError *DeputyTensorCheck(const DeputyTensor *tensor);
/* Writes .npy. */
DEPUTY_C_API DeputyError *DeputyTensorWrite(const char *path, const DeputyTensor *tensor);

/* An input or output that may be a sequence or an optional. Frozen. All zeros is an optional without an element. */
typedef struct DeputyValue {
  int32_t is_sequence;         /* 0: a tensor, or nothing where `count` is 0 */
  DeputyDType dtype;           /* of the elements of a sequence */
  const DeputyTensor *tensors; /* 1 for a tensor */
  size_t count;
  DeputyMemory *memory; /* owns `tensors`; NULL: they are the caller's */
} DeputyValue;
DEPUTY_C_API void DeputyValueRelease(DeputyValue *value);
/* From a file: a tensor as DeputyTensorRead, other kinds (those of DeputyValueInfo) as ONNX's SequenceProto or
 * OptionalProto. `dtype` is that of a sequence without elements. */
DEPUTY_C_API DeputyError *DeputyValueRead(const char *path, int32_t kind, DeputyDType dtype, DeputyValue *value);

/* ---- Contexts: configurations, and the delegates that they open -------------------------------------------------- */

typedef struct DeputyContext DeputyContext;

/* The configuration of this machine and user with these files, or names of shipped configurations, and settings
 * ("path.to.key=value") over it, as the command `deputy` reads it. [any-thread] */
DEPUTY_C_API DeputyError *DeputyContextFromLayers(const char *const *files, size_t file_count,
                                                  const char *const *settings, size_t setting_count,
                                                  DeputyContext **context);
/* One file alone, with its conf.d; an empty path: the settings over the built-in defaults, which are the CPU alone. */
DEPUTY_C_API DeputyError *DeputyContextFromYaml(const char *path, const char *const *settings, size_t setting_count,
                                                DeputyContext **context);
/* `name` is the file's name in messages. */
DEPUTY_C_API DeputyError *DeputyContextFromYamlText(const char *name, const char *text, const char *const *settings,
                                                    size_t setting_count, DeputyContext **context);
/* An installed bundle by its name, or an unpacked folder (a path with '/'); empty: $DEPUTY_BUNDLE. */
DEPUTY_C_API DeputyError *DeputyContextFromBundle(const char *bundle, const char *const *settings, size_t setting_count,
                                                  DeputyContext **context);
/* A copy, which shares the opened delegates. A change of the one does not change the other. */
DEPUTY_C_API DeputyError *DeputyContextCopy(const DeputyContext *context, DeputyContext **copy);
DEPUTY_C_API void DeputyContextFree(DeputyContext *context);

/* The delegates made in code, after those of the YAML: {"delegates": [{"name", "delegate", "device", "device_name",
 * "required", "options": {"frequency": "high"}}]}, with the meaning of the YAML keys. Replaces an earlier list. */
DEPUTY_C_API DeputyError *DeputyContextSetDelegates(DeputyContext *context, const char *options);
/* That list, as it is in force. */
DEPUTY_C_API DeputyError *DeputyContextDelegatesInCode(const DeputyContext *context, DeputyReport **report);
/* An object of the application that implements the plugin ABI (deputy/abi/delegate.h): in front of the delegate
 * `before`, or last where it is NULL; with `alone` instead of all others but the CPU. `release` is called with `keep`
 * when the context and its models are gone, or the call fails; it may be NULL. Null `plugin`: with `alone` the CPU
 * only, else an error of Load. */
struct deputy_plugin;
DEPUTY_C_API DeputyError *DeputyContextAddInProcess(DeputyContext *context, const struct deputy_plugin *plugin,
                                                    const char *delegate_id, const char *before, int alone, void *keep,
                                                    void (*release)(void *keep));
/* The name that the next such delegate gets: "in_process". */
DEPUTY_C_API DeputyError *DeputyContextNextInProcess(const DeputyContext *context, DeputyReport **name);
/* Changes a settable option of an opened delegate, for runs that begin afterwards. [any-thread] */
DEPUTY_C_API DeputyError *DeputyContextSetOption(DeputyContext *context, const char *delegate, const char *option,
                                                 const char *value);

/* Reads the sources of the context again, or with `next` those of another context, opens the delegates beside those
 * that are open, makes plans of all models, and puts all of that in force: runs of all sessions that begin from then on
 * use it. An error, of all that is wrong, changes nothing. Health says which configuration is in force. [any-thread] */
DEPUTY_C_API DeputyError *DeputyContextReload(DeputyContext *context, const DeputyContext *next);
/* From now on, until the context is changed or freed, reloads it after its files have changed. `reloaded` (may be NULL)
 * gets the error, or NULL, on a thread of the context; it must neither change nor free it. `release` is called with
 * `user` when the callback is not used any more, or the call fails; it may be NULL. */
DEPUTY_C_API DeputyError *DeputyContextWatchFiles(DeputyContext *context,
                                                  void (*reloaded)(void *user, const DeputyError *error), void *user,
                                                  void (*release)(void *user));

/* A stage of loading or of a first run. `stage` is "scan", "open", "import", "passes", "placement", "compile",
 * "verification" or "measurement". Valid during the call. */
typedef struct DeputyProgress {
  size_t struct_size;
  const char *stage, *delegate, *subject;
  size_t number, count, nodes;
  uint32_t permille;
  const char *step;
} DeputyProgress;
typedef void (*DeputyProgressSink)(void *user, const DeputyProgress *progress);
/* For delegates and models that are opened afterwards. NULL: none. `release` is called with `user` when the callback is
 * not used any more, or the call fails; it may be NULL. */
DEPUTY_C_API DeputyError *DeputyContextSetProgress(DeputyContext *context, DeputyProgressSink sink, void *user,
                                                   void (*release)(void *user));

/* Whether every delegate that a rule or a log level names is configured, without a scan. */
DEPUTY_C_API DeputyError *DeputyContextCheck(const DeputyContext *context);
/* Finds and opens the delegates now. Idempotent. */
DEPUTY_C_API DeputyError *DeputyContextLoad(DeputyContext *context);
/* [any-thread] for all of these. */
DEPUTY_C_API DeputyError *DeputyContextConfiguredDelegates(const DeputyContext *context, DeputyReport **report);
DEPUTY_C_API DeputyError *DeputyContextDelegates(const DeputyContext *context, DeputyReport **report);
/* {"probe": [ids], "probe_all": false} */
DEPUTY_C_API DeputyError *DeputyContextPlugins(const DeputyContext *context, const char *options,
                                               DeputyReport **report);
DEPUTY_C_API DeputyError *DeputyContextHealth(const DeputyContext *context, DeputyReport **report);
/* The configuration in force as YAML, with the origin of each value; a text. */
DEPUTY_C_API DeputyError *DeputyContextConfig(const DeputyContext *context, int plugin_defaults, DeputyReport **text);
/* Whether the policy is `measured`, and whether the CPU runs what no delegate runs. */
DEPUTY_C_API int DeputyContextMeasuresPlacements(const DeputyContext *context);
DEPUTY_C_API int DeputyContextHasFallback(const DeputyContext *context);
DEPUTY_C_API DeputyError *DeputyContextCache(const DeputyContext *context, int check, DeputyReport **report);
/* {"kinds": [], "unused_for_s": 0}; reports what was removed. */
DEPUTY_C_API DeputyError *DeputyContextPurgeCache(const DeputyContext *context, const char *options,
                                                  DeputyReport **report);
/* `name` NULL: all. */
DEPUTY_C_API DeputyError *DeputyContextQuarantine(const DeputyContext *context, const char *name,
                                                  DeputyReport **report);
DEPUTY_C_API DeputyError *DeputyContextClearQuarantine(const DeputyContext *context, const char *name,
                                                       DeputyReport **report);

/* ---- Models ---------------------------------------------------------------------------------------------------- */

/* Immutable. [any-thread] for all functions of a model. */
typedef struct DeputyModel DeputyModel;

typedef int32_t DeputyFormat;
enum { kDeputyAuto = 0, kDeputyOnnx = 1, kDeputyDpm = 2, kDeputyTflite = 3 };

/* ONNX, TensorFlow Lite or .dpm. {"input_shapes": {"x": [1, 3, -1, -1]}, "extra_outputs": [], "given_inputs": []} */
DEPUTY_C_API DeputyError *DeputyModelFromFile(const char *path, const DeputyContext *context, const char *options,
                                              DeputyModel **model);
/* The bytes may be freed right after. */
DEPUTY_C_API DeputyError *DeputyModelFromMemory(const void *data, size_t size, DeputyFormat format,
                                                const DeputyContext *context, const char *options, DeputyModel **model);
DEPUTY_C_API void DeputyModelFree(DeputyModel *model);

/* An input or output; -1 is an extent that may differ from run to run. Belongs to the model. */
typedef struct DeputyValueInfo {
  size_t struct_size;
  const char *name;
  DeputyDType dtype; /* of a sequence: of its elements */
  int32_t is_ranked;
  uint32_t rank;
  int32_t kind; /* 0 tensor, 1 sequence, 2 optional tensor, 3 optional sequence */
  const int64_t *shape;
  const char *const *dims; /* a name for each extent: "batch", "4" */
} DeputyValueInfo;
DEPUTY_C_API size_t DeputyModelInputCount(const DeputyModel *model);
DEPUTY_C_API size_t DeputyModelOutputCount(const DeputyModel *model);
/* NULL beyond the last. */
DEPUTY_C_API const DeputyValueInfo *DeputyModelInput(const DeputyModel *model, size_t index);
DEPUTY_C_API const DeputyValueInfo *DeputyModelOutput(const DeputyModel *model, size_t index);
/* {"inputs_with_default", "metadata", "has_states"} */
DEPUTY_C_API DeputyError *DeputyModelTraits(const DeputyModel *model, DeputyReport **report);
/* A tensor in memory that the worker processes of delegates read in place. */
DEPUTY_C_API DeputyError *DeputyModelAllocate(const DeputyModel *model, DeputyDType dtype, const int64_t *shape,
                                              uint32_t rank, DeputyTensor *tensor);

/* The extents of one input. Frozen. */
typedef struct DeputyShape {
  const int64_t *extents;
  uint32_t rank;
} DeputyShape;
/* For the model's own shapes where `shapes` is NULL, or for one shape per input. Compiles missing partitions. With
 * `graph` also the values and attributes of all nodes. */
DEPUTY_C_API DeputyError *DeputyModelPlacement(const DeputyModel *model, const DeputyShape *shapes, size_t count,
                                               int graph, DeputyReport **report);
/* Compares each delegate's partitions with the CPU. {"rtol", "atol", "atol_scale", "outliers", "computes_in",
 * "folder"} */
DEPUTY_C_API DeputyError *DeputyModelVerify(const DeputyModel *model, const DeputyTensor *inputs, size_t count,
                                            const char *options, DeputyReport **report);
/* The text of MODEL.placement.yaml. */
DEPUTY_C_API DeputyError *DeputyModelMeasuredPlacements(const DeputyModel *model, DeputyReport **text);
DEPUTY_C_API DeputyError *DeputyModelHealth(const DeputyModel *model, DeputyReport **report);
/* Writes .dpm. */
DEPUTY_C_API DeputyError *DeputyModelSave(const DeputyModel *model, const char *path);

/* ---- Sessions -------------------------------------------------------------------------------------------------- */

/* One thread at a time; any number of sessions of one model may run at once. */
typedef struct DeputySession DeputySession;
typedef struct DeputyBuffer DeputyBuffer;

DEPUTY_C_API DeputyError *DeputyModelCreateSession(const DeputyModel *model, DeputySession **session);
/* Cancels runs and requests, and waits for them and their callbacks. */
DEPUTY_C_API void DeputySessionFree(DeputySession *session);

/* Inputs in the model's order, read in place. `outputs` has one tensor per output: one with `data` of the right dtype
 * and shape is written in place, an empty one (all zeros) gets memory of the library. One that does not fit is
 * replaced where it has a `memory`, and else kDeputyInvalidArgument. A caller that passes the same tensors again
 * causes no allocation. Of bound inputs and outputs the tensor is empty. */
DEPUTY_C_API DeputyError *DeputySessionRun(DeputySession *session, const DeputyTensor *inputs, size_t input_count,
                                           DeputyTensor *outputs, size_t output_count);
/* The same for models with sequences and optionals. `outputs` is written; what was there is not released. */
DEPUTY_C_API DeputyError *DeputySessionRunValues(DeputySession *session, const DeputyValue *inputs, size_t input_count,
                                                 DeputyValue *outputs, size_t output_count);

/* A request. The inputs, and outputs without a `memory`, must stay valid until the callback. */
typedef struct DeputyRequest {
  size_t struct_size;
  const DeputyTensor *inputs;
  size_t input_count;
  const DeputyTensor *outputs; /* as those of Run; NULL: the library's memory */
  size_t output_count;
  int64_t timeout_ns; /* from the call on; 0: that of the session; negative: no limit */
  int32_t has_priority;
  int32_t priority;
} DeputyRequest;
/* Valid during the callback, which retains the memory of outputs that it keeps. */
typedef struct DeputyRequestResult {
  size_t struct_size;
  uint64_t request;
  const DeputyError *error;    /* NULL: success */
  const DeputyTensor *outputs; /* undefined after an error */
  size_t output_count;
  uint64_t submitted_ns, begun_ns, ended_ns; /* CLOCK_MONOTONIC; begun 0: never */
} DeputyRequestResult;
typedef void (*DeputyRequestDone)(void *user, const DeputyRequestResult *result);
/* Returns at once; the result goes to `done`, on a thread of the session. kDeputyUnavailable: as many are in flight as
 * SetInFlight allows (4 without it). [any-thread] */
DEPUTY_C_API DeputyError *DeputySessionSubmit(DeputySession *session, const DeputyRequest *request,
                                              DeputyRequestDone done, void *user, uint64_t *number);
/* 1 to 1024; with `as_they_end` callbacks do not follow the order of the requests. */
DEPUTY_C_API DeputyError *DeputySessionSetInFlight(DeputySession *session, size_t most, int as_they_end);
DEPUTY_C_API void DeputySessionCancelRequest(DeputySession *session, uint64_t number); /* [any-thread] */
/* Ends the current run and all requests with kDeputyCancelled. [any-thread] */
DEPUTY_C_API void DeputySessionCancel(DeputySession *session);
/* Of later runs; 0: no limit. */
DEPUTY_C_API void DeputySessionSetTimeout(DeputySession *session, int64_t timeout_ns);

/* Wishes that a delegate may follow or ignore. */
typedef struct DeputyRunHints {
  size_t struct_size;
  int32_t power_level;   /* 1 low, 2 balanced, 3 high, 4 extreme; 0: as configured */
  DeputyDType precision; /* the least precise float type that may compute; 0: as compiled */
  int32_t priority;
} DeputyRunHints;
DEPUTY_C_API DeputyError *DeputySessionSetHints(DeputySession *session, const DeputyRunHints *hints);
/* Prepares for inputs of these shapes. */
DEPUTY_C_API DeputyError *DeputySessionResize(DeputySession *session, const DeputyShape *shapes, size_t count);
DEPUTY_C_API DeputyError *DeputySessionResetStates(DeputySession *session);
DEPUTY_C_API void DeputySessionEnableProfiling(DeputySession *session, int on);
DEPUTY_C_API void DeputySessionEnableEvents(DeputySession *session, int on);
/* Of the last run. */
DEPUTY_C_API DeputyError *DeputySessionStatistics(const DeputySession *session, DeputyReport **report);
DEPUTY_C_API DeputyError *DeputySessionEvents(const DeputySession *session, DeputyReport **report);
/* Of the current plan; without `nodes` only the shares of the delegates. */
DEPUTY_C_API DeputyError *DeputySessionPlacement(const DeputySession *session, int nodes, DeputyReport **report);
/* What the tolerance of a comparison depends on. */
DEPUTY_C_API DeputyError *DeputySessionTraits(const DeputySession *session, DeputyReport **report);

/* Limits of a search for the fastest placement. */
typedef struct DeputyMeasureOptions {
  size_t struct_size;
  int64_t budget_ns; /* of the whole search */
  double margin;     /* the least share of the time that a change must gain */
  void (*progress)(void *user, const char *candidate, double used); /* may be NULL */
  void *user;
} DeputyMeasureOptions;
/* Searches for the fastest placement. NULL options: 60 s, 0.03. */
DEPUTY_C_API DeputyError *DeputySessionMeasurePlacement(DeputySession *session, const DeputyTensor *inputs,
                                                        size_t count, const DeputyMeasureOptions *options,
                                                        DeputyReport **report);

/* ---- Buffers: memory that outlives runs, of a device where its delegate keeps values there ----------------------- */

/* For an input or output of the current plan. */
DEPUTY_C_API DeputyError *DeputySessionInputBuffer(DeputySession *session, const char *name, DeputyBuffer **buffer);
DEPUTY_C_API DeputyError *DeputySessionOutputBuffer(DeputySession *session, const char *name, DeputyBuffer **buffer);
/* Until another one or NULL is bound. The session keeps it. */
DEPUTY_C_API DeputyError *DeputySessionBindInput(DeputySession *session, const char *name, const DeputyBuffer *buffer);
DEPUTY_C_API DeputyError *DeputySessionBindOutput(DeputySession *session, const char *name, const DeputyBuffer *buffer);
/* On memory of memfd_create that is sealed with F_SEAL_SHRINK; the descriptor is duplicated. [any-thread] */
DEPUTY_C_API DeputyError *DeputyBufferImport(int descriptor, uint64_t offset, DeputyDType dtype, const int64_t *shape,
                                             uint32_t rank, DeputyBuffer **buffer);
DEPUTY_C_API DeputyError *DeputyBufferMakeShared(DeputyDType dtype, const int64_t *shape, uint32_t rank,
                                                 DeputyBuffer **buffer);
/* What a buffer is; `shape` belongs to the buffer. */
typedef struct DeputyBufferInfo {
  size_t struct_size;
  DeputyDType dtype;
  uint32_t rank;
  const int64_t *shape;
  uint64_t byte_size;
  int32_t is_on_device;
  int32_t descriptor; /* of shared memory, the buffer's; -1: not shared */
  uint64_t offset;
} DeputyBufferInfo;
/* Fills as much as `struct_size` says. [any-thread] */
DEPUTY_C_API void DeputyBufferDescribe(const DeputyBuffer *buffer, DeputyBufferInfo *info);
/* Copies all elements. [any-thread] */
DEPUTY_C_API DeputyError *DeputyBufferWrite(DeputyBuffer *buffer, const DeputyTensor *values);
DEPUTY_C_API DeputyError *DeputyBufferRead(const DeputyBuffer *buffer, DeputyTensor *values);
DEPUTY_C_API void DeputyBufferFree(DeputyBuffer *buffer);

/* ---- Tools ----------------------------------------------------------------------------------------------------- */

/* A model file, read but not placed. {"input_shapes": {}} gives extents to dynamic inputs. [any-thread] */
DEPUTY_C_API DeputyError *DeputyInspectModel(const char *path, const char *options, DeputyReport **report);
/* All problems of a configuration at once. {"files": [], "settings": [], "offline": false, "model": ""} */
DEPUTY_C_API DeputyError *DeputyCheckConfig(const char *options, DeputyReport **report);
DEPUTY_C_API DeputyError *DeputyConfigKeys(DeputyReport **report);
/* {"path", "value"} of each value, by these layers over the built-in defaults. {"layers": [{"name": "", "text": ""}]}
 */
DEPUTY_C_API DeputyError *DeputyConfigValues(const char *options, DeputyReport **report);
/* The JSON Schema of configuration files; a text. */
DEPUTY_C_API DeputyError *DeputyConfigSchema(DeputyReport **text);
/* {"name", "file"} of each shipped configuration. */
DEPUTY_C_API DeputyError *DeputyShippedConfigs(DeputyReport **report);
DEPUTY_C_API DeputyError *DeputyInstallation(DeputyReport **report);
DEPUTY_C_API DeputyError *DeputyCacheKinds(DeputyReport **report);

/* The bounds of a comparison: {"given": {"rtol", "atol", "atol_scale", "outliers", "computes_in"}, "output": "float32",
 * "model": what DeputySessionTraits reports}. */
DEPUTY_C_API DeputyError *DeputyToleranceFor(const char *options, DeputyReport **report);
/* The difference of two tensors. {"rtol", "atol", "atol_scale", "least_magnitude", "outliers", "step", "step_scale"} */
DEPUTY_C_API DeputyError *DeputyCompare(const DeputyTensor *got, const DeputyTensor *want, const char *options,
                                        DeputyReport **report);
/* The element at the flat index as a number; 0 for a dtype without numbers. It must be within the tensor. */
DEPUTY_C_API double DeputyElementAt(const DeputyTensor *tensor, int64_t index);
/* Rounded towards zero for integers, in whose range it must be. */
DEPUTY_C_API void DeputySetElement(const DeputyTensor *tensor, int64_t index, double value);
/* One line of valid UTF-8 without control characters, of at most `limit` bytes; a text. */
DEPUTY_C_API DeputyError *DeputyPrintable(const char *text, size_t size, size_t limit, DeputyReport **printable);
/* "; did you mean 'image'?" with the nearest candidate, or nothing; a text. */
DEPUTY_C_API DeputyError *DeputyDidYouMean(const char *word, const char *const *candidates, size_t count,
                                           DeputyReport **text);
/* A file that is written whole or not at all; whether it may be. */
DEPUTY_C_API DeputyError *DeputyOutputFileWrite(const char *path, const void *data, size_t size);
DEPUTY_C_API DeputyError *DeputyOutputFileCheck(const char *path);

/* For programs (deputy/process.hpp says more). Signals that end the process first remove its unfinished files. */
DEPUTY_C_API void DeputyRemoveUnfinishedFilesOnSignals(void);
/* A signal that is received in a plugin is reported with the plugin's name. */
DEPUTY_C_API void DeputyReportFatalSignals(void);
/* A plugin that calls exit() ends the process with this status, until DeputyAcceptExit. */
DEPUTY_C_API void DeputyRefuseExit(int status);
DEPUTY_C_API void DeputyAcceptExit(void);
DEPUTY_C_API void DeputyCheckExit(const void *caller);

/* Bundles: deputy/bundle.hpp says what each does. A `bundle` is a file, an unpacked folder (a path with '/') or the
 * name of an installed one. Texts may be NULL where an empty one means a default. */
/* {"name", "version", "configurations", "models", "secret_key", "expires"} */
DEPUTY_C_API DeputyError *DeputyBundlePack(const char *contents, const char *output, DeputyReport **report);
DEPUTY_C_API DeputyError *DeputyBundleInspect(const char *bundle, DeputyReport **report);
DEPUTY_C_API DeputyError *DeputyBundleVerify(const char *bundle, const char *key, DeputyReport **report);
/* {"key", "root", "allow_downgrade"} */
DEPUTY_C_API DeputyError *DeputyBundleInstall(const char *file, const char *options, DeputyReport **report);
DEPUTY_C_API DeputyError *DeputyBundleRollBack(const char *name, const char *version, const char *root,
                                               DeputyReport **report);
DEPUTY_C_API DeputyError *DeputyBundleRemove(const char *name, const char *version, const char *root);
DEPUTY_C_API DeputyError *DeputyBundleList(const char *root, DeputyReport **report);
DEPUTY_C_API DeputyError *DeputyBundleFind(const char *bundle, const char *root, DeputyReport **report);
DEPUTY_C_API DeputyError *DeputyBundleFolder(const char *root, DeputyReport **text);
DEPUTY_C_API DeputyError *DeputyBundleMakeKeys(const char *secret_key, const char *public_key);

#ifdef __cplusplus
}
#endif

#endif /* DEPUTY_H */
