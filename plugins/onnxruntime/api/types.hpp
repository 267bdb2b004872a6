// What ONNX Runtime's C API passes, as its documentation describes it: opaque objects, numbers, and the tables that an
// execution provider (EP) fills. Declared here, so that no header of ONNX Runtime is needed to build. Slots that a
// version appended are read only where `version` of a table is at least the one named beside them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ort {

struct Status;  // NULL: success
struct Env;
struct Session;
struct SessionOptions;
struct RunOptions;
struct Value;
struct ValueInfo;
struct TypeInfo;
struct TensorTypeAndShapeInfo;
struct MemoryInfo;
struct MemoryDevice;
struct KeyValuePairs;
struct ExternalInitializerInfo;
struct Logger;
struct Graph;
struct Node;
struct OpAttr;
struct KernelContext;
struct HardwareDevice;
struct EpDevice;
struct EpGraphSupportInfo;
struct NodeComputeContext;
struct DataTransfer;
struct SyncStream;
struct KernelRegistry;
struct ModelCompilationOptions;
struct Api;    // the table of slots.inc
struct EpApi;  // the table of ep_slots.inc
struct CompileApi;

enum ErrorCode : int32_t {
  kOk = 0,
  kFail = 1,
  kInvalidArgument = 2,
  kNotImplemented = 9,
  kInvalidGraph = 10,
  kEpFail = 11,
  kNotFound = 14,
};

enum LoggingLevel : int32_t { kVerbose = 0, kInfo = 1, kWarning = 2, kError = 3, kFatal = 4 };
enum ValueKind : int32_t { kUnknownKind = 0, kTensorKind = 1 };
enum AllocatorType : int32_t { kDeviceAllocator = 0, kArenaAllocator = 1 };
enum MemType : int32_t { kDefaultMem = 0 };
// Of MemoryInfoGetDeviceType, where the NPU has another number than in HardwareDeviceType.
enum MemoryDeviceType : int32_t { kCpuMemory = 0, kGpuMemory = 1, kNpuMemory = 3 };
enum OptimizationLevel : int32_t { kDisableAll = 0, kBasic = 1, kExtended = 2, kEnableAll = 99 };
enum HardwareDeviceType : int32_t { kCpu = 0, kGpu = 1, kNpu = 2 };
enum AttributeType : int32_t {
  kUndefinedAttribute = 0,
  kIntAttribute = 1,
  kIntsAttribute = 2,
  kFloatAttribute = 3,
  kFloatsAttribute = 4,
  kStringAttribute = 5,
  kStringsAttribute = 6,
  kGraphAttribute = 7,
  kTensorAttribute = 8,
};
// Element types have the numbers of ONNX's TensorProto.DataType up to FLOAT4E2M1, and then UINT2, INT2 and FLOAT8E8M0,
// where ONNX has FLOAT8E8M0, UINT2 and INT2.
using ElementType = int32_t;
constexpr int32_t ToOnnx(ElementType type) {
  if (type == 26) return 24;
  return type == 24 || type == 25 ? type + 1 : type;
}
constexpr ElementType FromOnnx(int32_t type) {
  if (type == 24) return 26;
  return type == 25 || type == 26 ? type - 1 : type;
}

using LoggingFunction = void (*)(void* param, LoggingLevel level, const char* category, const char* id,
                                 const char* location, const char* message);

struct ApiBase {
  // NULL: this library has no such version.
  const Api* (*GetApi)(uint32_t version);
  const char* (*GetVersionString)();
};

struct Allocator {
  uint32_t version;
  void* (*Alloc)(Allocator*, size_t size);
  void (*Free)(Allocator*, void* memory);
  const MemoryInfo* (*Info)(const Allocator*);
  void* (*Reserve)(Allocator*, size_t size);                     // 18; may be NULL, as those below
  Status* (*GetStats)(const Allocator*, KeyValuePairs**);        // 23
  void* (*AllocOnStream)(Allocator*, size_t size, SyncStream*);  // 23
};

struct NodeFusionOptions {
  uint32_t version;
  bool drop_constant_initializers;
};

struct NodeComputeInfo {
  uint32_t version;
  Status* (*CreateState)(NodeComputeInfo*, NodeComputeContext*, void** state);
  Status* (*Compute)(NodeComputeInfo*, void* state, KernelContext*);
  void (*ReleaseState)(NodeComputeInfo*, void* state);
};

struct Ep {
  uint32_t version;
  const char* (*GetName)(const Ep*);
  Status* (*GetCapability)(Ep*, const Graph*, EpGraphSupportInfo*);
  Status* (*Compile)(Ep*, const Graph** graphs, const Node** fused_nodes, size_t count, NodeComputeInfo** infos,
                     Node** ep_context_nodes);
  void (*ReleaseNodeComputeInfos)(Ep*, NodeComputeInfo** infos, size_t count);
  Status* (*GetPreferredDataLayout)(Ep*, int32_t* layout);
  Status* (*ShouldConvertDataLayoutForOp)(Ep*, const char* domain, const char* type, int32_t layout, int* convert);
  Status* (*SetDynamicOptions)(Ep*, const char* const* keys, const char* const* values, size_t count);
  Status* (*OnRunStart)(Ep*, const RunOptions*);
  Status* (*OnRunEnd)(Ep*, const RunOptions*, bool sync_stream);
  Status* (*CreateAllocator)(Ep*, const MemoryInfo*, Allocator**);
  Status* (*CreateSyncStreamForDevice)(Ep*, const MemoryDevice*, SyncStream**);
  const char* (*GetCompiledModelCompatibilityInfo)(Ep*, const Graph*);
  Status* (*GetKernelRegistry)(Ep*, const KernelRegistry**);  // 24; NULL or none: the EP compiles
};

struct EpFactory {
  uint32_t version;
  const char* (*GetName)(const EpFactory*);
  const char* (*GetVendor)(const EpFactory*);
  Status* (*GetSupportedDevices)(EpFactory*, const HardwareDevice* const* devices, size_t count, EpDevice** ep_devices,
                                 size_t most, size_t* ep_device_count);
  Status* (*CreateEp)(EpFactory*, const HardwareDevice* const* devices, const KeyValuePairs* const* metadata,
                      size_t count, const SessionOptions*, const Logger*, Ep**);
  void (*ReleaseEp)(EpFactory*, Ep*);
  uint32_t (*GetVendorId)(const EpFactory*);
  const char* (*GetVersion)(const EpFactory*);
  Status* (*ValidateCompiledModelCompatibilityInfo)(EpFactory*, const HardwareDevice* const* devices, size_t count,
                                                    const char* info, int32_t* compatibility);
  Status* (*CreateAllocator)(EpFactory*, const MemoryInfo*, const KeyValuePairs* options, Allocator**);
  void (*ReleaseAllocator)(EpFactory*, Allocator*);
  Status* (*CreateDataTransfer)(EpFactory*, DataTransfer**);
  bool (*IsStreamAware)(const EpFactory*);
  Status* (*CreateSyncStreamForDevice)(EpFactory*, const MemoryDevice*, const KeyValuePairs* options, SyncStream**);
};

// What the library of an EP exports: "CreateEpFactories" and "ReleaseEpFactory".
using CreateEpFactories = Status* (*)(const char* registered_name, const ApiBase*, const Logger*, EpFactory** factories,
                                      size_t most, size_t* count);
using ReleaseEpFactory = Status* (*)(EpFactory*);

enum class Slot : size_t {
#define DEPUTY_ORT_SLOT(name) name,
#include "slots.inc"
#undef DEPUTY_ORT_SLOT
  kCount
};
enum class EpSlot : size_t {
#define DEPUTY_ORT_SLOT(name) name,
#include "ep_slots.inc"
#undef DEPUTY_ORT_SLOT
  kCount
};

using Function = void (*)();

// Numbers that ONNX Runtime's sources state, or that its library shows: GetExperimentalFunction finds a function there.
static_assert(static_cast<size_t>(Slot::ReleaseCustomOpDomain) == 101, "a slot is missing before it");
static_assert(static_cast<size_t>(Slot::GetEpApi) == 317, "a slot is missing before it");
static_assert(static_cast<size_t>(Slot::RunOptionsSetSyncStream) == 413, "a slot is missing before it");
static_assert(static_cast<size_t>(Slot::GetExperimentalFunction) == 422, "a slot is missing before it");
static_assert(static_cast<size_t>(EpSlot::GetSyncIdForLastWaitOnSyncStream) == 15, "a slot is missing before it");
static_assert(static_cast<size_t>(EpSlot::GetEnvConfigEntries) == 49, "a slot is missing before it");
static_assert(static_cast<size_t>(EpSlot::ProfilingEventsContainer_AddEvents) == 72, "a slot is missing before it");

}  // namespace ort
