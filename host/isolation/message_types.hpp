// The types of messages between the host and a worker process: a function, and the kind of frame that carries it.
// Beside each, what a frame of it may carry at most.
#pragma once

#include <cstdint>

namespace deputy::host {

enum class FrameKind : uint32_t { kCall = 1, kReturn = 2, kCallback = 3, kCallbackReturn = 4, kNotice = 5 };

enum class Function : uint32_t {
  // Calls: a slot of a table each.
  kDescribe = 1,
  kInit,
  kShutdown,
  kProbe,
  kOpen,
  kClose,
  kQuerySupport,
  kCompile,
  kExecutableDestroy,
  kContextCreate,
  kContextDestroy,
  kScratchSize,
  kExecute,
  kBlobCompatibility,
  kBlobCheck,
  kBlobSerialize,
  kBlobRestore,
  kConcurrency,
  kDeviceState,
  kEnumerate,
  kEstimate,
  kInfer,
  kCompute,
  kGetOption,
  kSetOption,
  kDebugMap,
  kSetProfiling,
  kCollect,
  kCorrelate,
  kPropose,
  kClaimRelease,
  kGroups,
  kResize,
  kWishOf,
  kAllocateBuffer,
  kImportBuffer,
  kReleaseBuffer,
  kCopyBytes,
  kQueueLimits,
  kChooseRun,
  // Not of a table: a region of the host's memory for inputs, whose descriptor comes along.
  kShareRegion,
  // Not of a table: kExecute with the tensors of the last one of the context but for their places.
  kExecuteAgain,
  // Callbacks.
  kGraphOrder = 64,
  kNodeInfo,
  kValueInfo,
  kGraphInputs,
  kGraphOutputs,
  kConstantBytes,
  kConstantRead,
  kConstantFile,
  kNodeAttribute,
  kCluster,
  kQuantizedGroups,
  kConstantRelease,
  kNamedData,
  kAddClaim,
  kAddGroup,
  kAddDevice,
  kSetOutputType,
  kAddDebugIds,
  kWriteBlob,
  kAllocateOutput,
  // Notices.
  kSupportAnswer = 128,
  kEstimateAnswer,
  kProgress,
  kLog,
  // On the control channel.
  kHello = 160,
  kNewChannel,
  kCancel,
  kCancelSubmitted,
  kFreeRegion,
  kEnding  // of the worker: the signal that ends it
};
inline constexpr uint32_t kFunctionsEnd = 256;  // all numbers are below

// The most words of a frame: what is larger is cut into several, or lies in shared memory.
inline constexpr uint64_t kMaxFrameWords = (256u << 20) / sizeof(uint64_t);

// The most that a frame of one type carries. A frame with more is not of the protocol, whichever side sends it.
struct FrameLimits {
  uint32_t descriptors = 0;
  uint64_t words = 0;
};

// Without a default, so that a function without a line does not compile. Numbers that are no function have no line.
struct FunctionLimits {
  bool known = false;
  FrameLimits asked, answered;  // of a call or a callback, and of its return; a notice is asked
};
constexpr FunctionLimits LimitsOf(Function function) {
  // Numbers, a token, a message of an error (8 KiB at most).
  constexpr FrameLimits kSmall{0, 4096};
  // Texts of a plugin, which its worker cuts off, and lists of texts.
  constexpr FrameLimits kTexts{0, uint64_t{1} << 18};
  constexpr FrameLimits kAny{0, kMaxFrameWords};
  constexpr FrameLimits kOne{1, kMaxFrameWords};
  switch (function) {
    case Function::kDescribe: return {true, kSmall, {0, uint64_t{1} << 23}};
    case Function::kInit:
    case Function::kShutdown:
    case Function::kProbe:
    case Function::kClose:
    case Function::kQuerySupport:
    case Function::kExecutableDestroy:
    case Function::kContextCreate:
    case Function::kContextDestroy:
    case Function::kScratchSize:
    case Function::kBlobSerialize:
    case Function::kConcurrency:
    case Function::kEnumerate:
    case Function::kInfer:
    case Function::kDebugMap:
    case Function::kCorrelate:
    case Function::kPropose:
    case Function::kClaimRelease:
    case Function::kGroups:
    case Function::kWishOf:
    case Function::kAllocateBuffer:
    case Function::kReleaseBuffer: return {true, kSmall, kSmall};
    case Function::kQueueLimits: return {true, kSmall, kTexts};
    case Function::kImportBuffer:
    case Function::kCopyBytes: return {true, {1, kSmall.words}, kSmall};
    case Function::kOpen:
    case Function::kCompile:
    case Function::kBlobCheck:
    case Function::kEstimate:
    case Function::kSetOption:
    case Function::kResize:
    case Function::kChooseRun: return {true, kAny, kSmall};
    case Function::kBlobCompatibility:
    case Function::kGetOption: return {true, kAny, kTexts};
    case Function::kDeviceState: return {true, kSmall, kTexts};
    case Function::kBlobRestore:
    case Function::kCompute: return {true, kOne, kSmall};
    case Function::kSetProfiling:
    case Function::kCollect: return {true, kSmall, kAny};
    case Function::kExecute:
    case Function::kExecuteAgain: return {true, kOne, kAny};
    case Function::kShareRegion: return {true, {1, kSmall.words}, kSmall};
    case Function::kGraphOrder:
    case Function::kNodeInfo:
    case Function::kValueInfo:
    case Function::kGraphInputs:
    case Function::kGraphOutputs:
    case Function::kConstantRead:
    case Function::kQuantizedGroups: return {true, kSmall, kAny};
    case Function::kConstantBytes:
    case Function::kConstantFile: return {true, kSmall, {1, kSmall.words}};
    case Function::kConstantRelease: return {true, kSmall, kSmall};
    case Function::kNodeAttribute:
    case Function::kNamedData:
    case Function::kCluster: return {true, kAny, kAny};
    case Function::kAddClaim:
    case Function::kAddGroup:
    case Function::kAddDebugIds: return {true, kAny, kSmall};
    case Function::kAddDevice:
    case Function::kWriteBlob: return {true, kTexts, kSmall};
    case Function::kSetOutputType: return {true, kSmall, kSmall};
    case Function::kAllocateOutput: return {true, kSmall, {1, kSmall.words}};
    case Function::kSupportAnswer:
    case Function::kProgress:
    case Function::kLog: return {true, kSmall, {}};
    case Function::kEstimateAnswer: return {true, kAny, {}};
    case Function::kHello: return {true, kTexts, {}};
    case Function::kNewChannel: return {true, {2, kSmall.words}, {}};
    case Function::kEnding: return {true, kSmall, {}};
    case Function::kCancel:
    case Function::kCancelSubmitted:
    case Function::kFreeRegion: return {true, kSmall, {}};
  }
  return {};
}

constexpr FrameLimits LimitsOf(FrameKind kind, Function function) {
  const FunctionLimits limits = LimitsOf(function);
  return kind == FrameKind::kReturn || kind == FrameKind::kCallbackReturn ? limits.answered : limits.asked;
}

}  // namespace deputy::host
