#include "own/tables.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "own/status.hpp"

namespace ort::own {
namespace {

constexpr const char* kApiNames[] = {
#define DEPUTY_ORT_SLOT(name) #name,
#include "api/slots.inc"
#undef DEPUTY_ORT_SLOT
};
constexpr const char* kEpApiNames[] = {
#define DEPUTY_ORT_SLOT(name) #name,
#include "api/ep_slots.inc"
#undef DEPUTY_ORT_SLOT
};

// The tables that have stubs. The last two have no known functions here, and as many stubs as they may ever need.
struct ApiTable {
  static constexpr const char* kName = "OrtApi";
  static constexpr size_t kSlots = kApiSlots;
  static const char* NameOf(size_t slot) { return slot < std::size(kApiNames) ? kApiNames[slot] : nullptr; }
};
struct EpApiTable {
  static constexpr const char* kName = "OrtEpApi";
  static constexpr size_t kSlots = kEpApiSlots;
  static const char* NameOf(size_t slot) { return slot < std::size(kEpApiNames) ? kEpApiNames[slot] : nullptr; }
};
struct ModelEditorTable {
  static constexpr const char* kName = "OrtModelEditorApi";
  static constexpr size_t kSlots = kReserve;
  static const char* NameOf(size_t) { return nullptr; }
};
struct CompileTable {
  static constexpr const char* kName = "OrtCompileApi";
  static constexpr size_t kSlots = kReserve;
  static const char* NameOf(size_t) { return nullptr; }
};
struct InteropTable {
  static constexpr const char* kName = "OrtInteropApi";
  static constexpr size_t kSlots = kReserve;
  static const char* NameOf(size_t) { return nullptr; }
};

// `name`: NULL for a function that only has a number.
std::string FullName(const char* table, const char* name, size_t slot) {
  return std::string(table) + "::" + (name == nullptr ? "function " + std::to_string(slot) : name);
}

Status* Missing(const char* table, const char* name, size_t slot) noexcept {
  if (name != nullptr && !ReturnsStatus(name)) return nullptr;
  return Guarded([&] {
    return Fail(kNotImplemented,
                FullName(table, name, slot) + " is not implemented by Deputy; ONNX Runtime's library has it");
  });
}

// Which stubs were called since the last question.
template <class Table>
std::array<std::atomic<bool>, Table::kSlots> called{};

// In place of a function that does not exist. Callable as any: arguments are ignored, and the result is zero where it
// would not be read as a status.
template <class Table, size_t kSlot>
Status* Stub() noexcept {
  called<Table>[kSlot] = true;
  return Missing(Table::kName, Table::NameOf(kSlot), kSlot);
}

template <class Table, size_t... kNumbers>
void FillStubs(std::array<Function, Table::kSlots>& slots, std::index_sequence<kNumbers...>) {
  ((slots[kNumbers] = reinterpret_cast<Function>(&Stub<Table, kNumbers>)), ...);
}
template <class Table>
void FillStubs(std::array<Function, Table::kSlots>& slots) {
  FillStubs<Table>(slots, std::make_index_sequence<Table::kSlots>());
}

// A table of stubs alone.
template <class Table>
const void* OnlyStubs() {
  static const std::array<Function, Table::kSlots> slots = [] {
    std::array<Function, Table::kSlots> made{};
    FillStubs<Table>(made);
    return made;
  }();
  return slots.data();
}

template <class Table>
void TakeCalled(std::string& names) {
  for (size_t slot = 0; slot < Table::kSlots; ++slot)
    if (called<Table>[slot].exchange(false))
      names += (names.empty() ? "" : ", ") + FullName(Table::kName, Table::NameOf(slot), slot);
}

const Api* GetApi(uint32_t version) {
  return version < kFirstVersion || version > kLastVersion ? nullptr : Tables::Get().api();
}
// Of the version whose functions the tables have, because EPs compare it with the one they were built for.
const char* GetVersionString() { return "1.32.0"; }
const char* GetBuildInfoString() { return "Deputy's tables for execution providers"; }
const EpApi* GetEpApi() { return Tables::Get().ep_api(); }
const void* GetTrainingApi(uint32_t) { return nullptr; }
Function GetExperimentalFunction(const char*) { return nullptr; }

}  // namespace

bool ReturnsStatus(std::string_view name) {
  // All functions that release an object return nothing, but for one.
  if (name.substr(0, 7) == "Release") return name == "ReleaseAvailableProviders";
  constexpr std::string_view kOthers[] = {"ClearBoundInputs",
                                          "ClearBoundOutputs",
                                          "GetErrorCode",
                                          "GetErrorMessage",
                                          "GetTrainingApi",
                                          "MemoryInfoGetDeviceType",
                                          "GetBuildInfoString",
                                          "GetModelEditorApi",
                                          "GetCompileApi",
                                          "CreateKeyValuePairs",
                                          "AddKeyValuePair",
                                          "GetKeyValue",
                                          "GetKeyValuePairs",
                                          "RemoveKeyValuePair",
                                          "HardwareDevice_Type",
                                          "HardwareDevice_VendorId",
                                          "HardwareDevice_Vendor",
                                          "HardwareDevice_DeviceId",
                                          "HardwareDevice_Metadata",
                                          "EpDevice_EpName",
                                          "EpDevice_EpVendor",
                                          "EpDevice_EpMetadata",
                                          "EpDevice_EpOptions",
                                          "EpDevice_Device",
                                          "GetEpApi",
                                          "MemoryInfoGetDeviceMemType",
                                          "MemoryInfoGetVendorId",
                                          "ExternalInitializerInfo_GetFilePath",
                                          "ExternalInitializerInfo_GetFileOffset",
                                          "ExternalInitializerInfo_GetByteSize",
                                          "GetRunConfigEntry",
                                          "EpDevice_MemoryInfo",
                                          "SyncStream_GetHandle",
                                          "TensorTypeAndShape_HasShape",
                                          "GetInteropApi",
                                          "RunOptionsSetSyncStream",
                                          "GetExperimentalFunction",
                                          "NodeComputeContext_NodeName",
                                          "MemoryInfo_GetMemoryDevice",
                                          "Value_GetMemoryDevice",
                                          "MemoryDevice_AreEqual",
                                          "MemoryDevice_GetDeviceType",
                                          "MemoryDevice_GetMemoryType",
                                          "MemoryDevice_GetVendorId",
                                          "MemoryDevice_GetDeviceId",
                                          "SyncStream_GetImpl",
                                          "SyncStream_GetSyncId",
                                          "GetSyncIdForLastWaitOnSyncStream",
                                          "KernelDef_GetOperatorType",
                                          "KernelDef_GetDomain",
                                          "KernelDef_GetExecutionProvider"};
  return std::find(std::begin(kOthers), std::end(kOthers), name) == std::end(kOthers);
}

std::string TakeMissingFunctions() {
  std::string names;
  TakeCalled<ApiTable>(names);
  TakeCalled<EpApiTable>(names);
  TakeCalled<ModelEditorTable>(names);
  TakeCalled<CompileTable>(names);
  TakeCalled<InteropTable>(names);
  return names;
}

const Tables& Tables::Get() {
  static const Tables tables;
  return tables;
}

Tables::Tables() : base_{GetApi, GetVersionString} {
  FillStubs<ApiTable>(api_);
  FillStubs<EpApiTable>(ep_api_);
  Set(Slot::GetBuildInfoString, GetBuildInfoString);
  Set(Slot::GetEpApi, GetEpApi);
  Set(Slot::GetTrainingApi, GetTrainingApi);
  Set(Slot::GetExperimentalFunction, GetExperimentalFunction);
  Set(Slot::GetModelEditorApi, OnlyStubs<ModelEditorTable>);
  Set(Slot::GetCompileApi, OnlyStubs<CompileTable>);
  Set(Slot::GetInteropApi, OnlyStubs<InteropTable>);
  SetStatusFunctions(*this);
  SetKeyValueFunctions(*this);
  SetTypeFunctions(*this);
  SetValueFunctions(*this);
  SetMemoryFunctions(*this);
  SetGraphFunctions(*this);
  SetNodeFunctions(*this);
  SetKernelFunctions(*this);
  SetLoggerFunctions(*this);
  SetOptionFunctions(*this);
  SetDeviceFunctions(*this);
  SetCapabilityFunctions(*this);
}

}  // namespace ort::own
