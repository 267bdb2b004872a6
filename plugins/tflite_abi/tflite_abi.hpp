// The C structs through which TensorFlow Lite's interpreter and its delegates meet, in the order of their fields as
// TFLite 2.17 and LiteRT 1 and 2 document it: fields are added at the end only.
// tests/integration/tflite_delegate_test.py checks them against the library itself. Pointers belong to the interpreter
// unless a field says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deputy::tflite_abi {

enum Outcome : int { kOk = 0, kError = 1, kDelegateError = 2 };

// Of elements. The numbers in a file are others (tflite_delegate/model_writer.hpp).
enum Type : int {
  kNoType = 0,
  kFloat32 = 1,
  kInt32 = 2,
  kUInt8 = 3,
  kInt64 = 4,
  kString = 5,
  kBool = 6,
  kInt16 = 7,
  kComplex64 = 8,
  kInt8 = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUInt64 = 13,
  kResource = 14,
  kVariant = 15,
  kUInt32 = 16,
  kUInt16 = 17,
  kInt4 = 18,
  kBFloat16 = 19,
};

// Bytes of one element, at least; 0: it has no fixed size.
constexpr size_t SizeOf(Type type) {
  switch (type) {
    case kUInt8:
    case kInt8:
    case kInt4:
    case kBool: return 1;
    case kInt16:
    case kUInt16:
    case kFloat16:
    case kBFloat16: return 2;
    case kFloat32:
    case kInt32:
    case kUInt32: return 4;
    case kInt64:
    case kUInt64:
    case kFloat64:
    case kComplex64: return 8;
    default: return 0;
  }
}

// `size` numbers follow. Allocated by malloc where ownership passes.
struct IntArray {
  int32_t size;
};
struct FloatArray {
  int32_t size;
};

// The numbers of a list; none of a null one.
template <class T>
struct ListView {
  const T* first = nullptr;
  size_t count = 0;
  const T* begin() const { return first; }
  const T* end() const { return first + count; }
  size_t size() const { return count; }
  const T& operator[](size_t i) const { return first[i]; }
};

inline ListView<int32_t> Values(const IntArray* array) {
  if (array == nullptr || array->size <= 0) return {};
  return {&array->size + 1, static_cast<size_t>(array->size)};
}
inline ListView<float> Values(const FloatArray* array) {
  if (array == nullptr || array->size <= 0) return {};
  return {reinterpret_cast<const float*>(&array->size + 1), static_cast<size_t>(array->size)};
}

enum QuantizationType : int { kNotQuantized = 0, kAffine = 1 };

struct Quantization {
  QuantizationType type;
  void* params;  // AffineQuantization, or another struct for other types
};

struct AffineQuantization {
  FloatArray* scale;
  IntArray* zero_point;
  int32_t quantized_dimension;
};

enum AllocationType : int {
  kMemNone = 0,
  kMmapRo = 1,  // a constant of the file
  kArenaRw = 2,
  kArenaRwPersistent = 3,
  kDynamic = 4,
  kPersistentRo = 5,
  kCustom = 6,
};

struct Delegate;
struct Context;

struct Tensor {
  Type type;
  void* data;
  IntArray* dims;
  float legacy_scale;
  int32_t legacy_zero_point;
  AllocationType allocation_type;
  size_t bytes;
  const void* allocation;
  const char* name;
  Delegate* delegate;
  int buffer_handle;
  bool data_is_stale;
  bool is_variable;
  Quantization quantization;
  void* sparsity;
  const IntArray* dims_signature;  // -1 for extents that are unknown in the file; may be null
};

struct EvalTensor {
  void* data;
  IntArray* dims;
  Type type;
};

struct Node {
  IntArray* inputs;  // -1: omitted
  IntArray* outputs;
  IntArray* intermediates;
  IntArray* temporaries;
  void* user_data;
  void* builtin_data;  // a struct of builtin_params.hpp, by the operator; null without parameters
  const void* custom_initial_data;
  int custom_initial_data_size;
  Delegate* delegate;
  bool might_have_side_effect;
};

// What `Registration::init` gets as `buffer` for a node that replaces others.
struct DelegateParams {
  Delegate* delegate;
  IntArray* nodes_to_replace;
  IntArray* input_tensors;
  IntArray* output_tensors;
};

struct Registration {
  void* (*init)(Context* context, const char* buffer,
                size_t length);  // kInitFailed: fails the application of a delegate
  void (*free)(Context* context, void* user_data);
  Outcome (*prepare)(Context* context, Node* node);
  Outcome (*invoke)(Context* context, Node* node);
  const char* (*profiling_string)(const Context* context, const Node* node);
  int32_t builtin_code;
  const char* custom_name;
  int version;
  void* registration_external;
  void* async_kernel;
  uint64_t inplace_operator;
};

// As a delegate passes it: by value, on the stack, with zeros where later versions may have fields.
struct PaddedRegistration {
  Registration registration;
  void* reserved[8];
};

inline void* const kInitFailed = reinterpret_cast<void*>(intptr_t{-1});

struct Context {
  size_t tensors_size;
  // The array belongs to the interpreter, until the next call.
  Outcome (*GetExecutionPlan)(Context* context, IntArray** plan);
  Tensor* tensors;
  void* impl;
  Outcome (*ResizeTensor)(Context* context, Tensor* tensor, IntArray* dims);  // takes ownership of `dims`
  void (*ReportError)(Context* context, const char* format, ...);
  Outcome (*AddTensors)(Context* context, int count, int* first);
  Outcome (*GetNodeAndRegistration)(Context* context, int index, Node** node, Registration** registration);
  Outcome (*ReplaceNodeSubsetsWithDelegateKernels)(Context* context, Registration registration, const IntArray* nodes,
                                                   Delegate* delegate);
  int recommended_num_threads;
  void* (*GetExternalContext)(Context* context, int type);
  void (*SetExternalContext)(Context* context, int type, void* external);
  bool allow_fp32_relax_to_fp16;
  void* profiler;
  void* (*AllocatePersistentBuffer)(Context* context, size_t bytes);
  Outcome (*AllocateBufferForEval)(Context* context, size_t bytes, void** data);
  Outcome (*RequestScratchBufferInArena)(Context* context, size_t bytes, int* index);
  void* (*GetScratchBuffer)(Context* context, int index);
  Outcome (*ResizeTensorExplicit)(Context* context, Tensor* tensor, int rank, const int* dims);
  // One entry for each node that would replace some of `nodes`; they belong to the interpreter, until the next call.
  Outcome (*PreviewDelegatePartitioning)(Context* context, const IntArray* nodes, DelegateParams** params, int* count);
  Tensor* (*GetTensor)(const Context* context, int index);  // this and what follows may be null
  EvalTensor* (*GetEvalTensor)(const Context* context, int index);
  Outcome (*GetModelMetadata)(const Context* context, const char* name, const char** data, size_t* bytes);
  Outcome (*AcquireSubgraphContext)(Context* context, int index, Context** acquired);
  Outcome (*ReleaseSubgraphContext)(Context* context, int index);
  void* reserved[8];  // null, for functions of later versions
};

enum DelegateFlags : int64_t { kAllowDynamicTensors = 1 };

// Belongs to its maker. The reserved words are zero, for fields of later versions.
struct Delegate {
  void* data;
  Outcome (*Prepare)(Context* context, Delegate* delegate);
  Outcome (*CopyFromBufferHandle)(Context* context, Delegate* delegate, int handle, Tensor* tensor);
  Outcome (*CopyToBufferHandle)(Context* context, Delegate* delegate, int handle, Tensor* tensor);
  void (*FreeBufferHandle)(Context* context, Delegate* delegate, int* handle);
  int64_t flags;
  void* opaque_delegate_builder;
  void* reserved[8];
};

static_assert(sizeof(void*) != 8 || (sizeof(Tensor) == 112 && offsetof(Tensor, quantization) == 80));
static_assert(sizeof(void*) != 8 || (offsetof(Node, custom_initial_data) == 48 && sizeof(Node) == 80));
static_assert(sizeof(void*) != 8 || sizeof(Registration) == 88);
static_assert(sizeof(void*) != 8 || offsetof(Context, PreviewDelegatePartitioning) == 152);
static_assert(sizeof(void*) != 8 || offsetof(Delegate, reserved) == 56);

}  // namespace deputy::tflite_abi
