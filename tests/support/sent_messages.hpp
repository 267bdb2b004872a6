// The type of the message that a worker process sends for each function: an answer to a call, a callback or a notice.
// Tests that send every message go through this list.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "isolation/messages.hpp"

namespace deputy::host {

inline std::vector<Function> AllFunctions() {
  std::vector<Function> functions;
  for (uint32_t number = 0; number < kFunctionsEnd; ++number)
    if (LimitsOf(static_cast<Function>(number)).known) functions.push_back(static_cast<Function>(number));
  return functions;
}

// The kind of the frame in which a worker sends it.
constexpr FrameKind SentAs(Function function) {
  if (function < Function::kGraphOrder) return FrameKind::kReturn;
  return function < Function::kSupportAnswer ? FrameKind::kCallback : FrameKind::kNotice;
}

// Calls fn with a null pointer of the message's type. The switch has no default: a function that is missing here does
// not compile. Those that the host alone sends have its messages.
template <class Fn>
void WithSentMessage(Function function, Fn fn) {
  const auto with = [&]<class Message>(std::type_identity<Message>) { fn(static_cast<Message*>(nullptr)); };
  switch (function) {
    case Function::kDescribe: return with(std::type_identity<Reply<PluginForm>>());
    case Function::kInit:
    case Function::kShutdown:
    case Function::kProbe:
    case Function::kClose:
    case Function::kQuerySupport:
    case Function::kExecutableDestroy:
    case Function::kContextDestroy:
    case Function::kBlobCheck:
    case Function::kBlobSerialize:
    case Function::kEnumerate:
    case Function::kEstimate:
    case Function::kInfer:
    case Function::kCompute:
    case Function::kSetOption:
    case Function::kDebugMap:
    case Function::kPropose:
    case Function::kClaimRelease:
    case Function::kGroups:
    case Function::kReleaseBuffer:
    case Function::kCopyBytes:
    case Function::kShareRegion: return with(std::type_identity<Reply<Nothing>>());
    case Function::kOpen:
    case Function::kCompile:
    case Function::kContextCreate:
    case Function::kScratchSize:
    case Function::kBlobRestore:
    case Function::kConcurrency:
    case Function::kAllocateBuffer:
    case Function::kImportBuffer:
    case Function::kResize: return with(std::type_identity<Reply<WireNumber>>());
    case Function::kWishOf: return with(std::type_identity<Reply<deputy_memory_wish>>());
    case Function::kExecute:
    case Function::kExecuteAgain:
    case Function::kSetProfiling:
    case Function::kCollect: return with(std::type_identity<Reply<Events>>());
    case Function::kBlobCompatibility:
    case Function::kGetOption: return with(std::type_identity<Reply<WrittenText>>());
    case Function::kDeviceState: return with(std::type_identity<Reply<deputy_device_state>>());
    case Function::kQueueLimits: return with(std::type_identity<Reply<deputy_queue_limits>>());
    case Function::kChooseRun:
    case Function::kCorrelate: return with(std::type_identity<Reply<TwoNumbers>>());
    case Function::kGraphOrder:
    case Function::kNodeInfo:
    case Function::kValueInfo:
    case Function::kGraphInputs:
    case Function::kGraphOutputs:
    case Function::kConstantBytes:
    case Function::kConstantFile:
    case Function::kQuantizedGroups:
    case Function::kConstantRelease: return with(std::type_identity<WireNumber>());
    case Function::kConstantRead: return with(std::type_identity<ConstantRange>());
    case Function::kNodeAttribute: return with(std::type_identity<AttributeName>());
    case Function::kCluster: return with(std::type_identity<Ids>());
    case Function::kNamedData: return with(std::type_identity<WireText>());
    case Function::kAddClaim: return with(std::type_identity<deputy_claim>());
    case Function::kAddGroup: return with(std::type_identity<deputy_group>());
    case Function::kAddDevice: return with(std::type_identity<deputy_device_info>());
    case Function::kSetOutputType:
    case Function::kAllocateOutput: return with(std::type_identity<OutputShape>());
    case Function::kAddDebugIds: return with(std::type_identity<DebugIds>());
    case Function::kWriteBlob: return with(std::type_identity<WireBytes>());
    case Function::kSupportAnswer: return with(std::type_identity<SupportAnswer>());
    case Function::kEstimateAnswer: return with(std::type_identity<deputy_estimate>());
    case Function::kProgress: return with(std::type_identity<ProgressStep>());
    case Function::kLog: return with(std::type_identity<LogForm>());
    case Function::kHello: return with(std::type_identity<Hello>());
    case Function::kNewChannel: return with(std::type_identity<Nothing>());
    case Function::kCancel:
    case Function::kCancelSubmitted:
    case Function::kEnding: return with(std::type_identity<TwoNumbers>());
    case Function::kFreeRegion: return with(std::type_identity<RegionForm>());
  }
}

}  // namespace deputy::host
