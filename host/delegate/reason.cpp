#include "delegate/delegate.hpp"

namespace deputy::host {

std::string_view NameOf(Reason reason) {
  switch (reason) {
    case Reason::kSupported: return "supported";
    case Reason::kOperatorUnknown: return "operator unknown";
    case Reason::kDefinitionTooNew: return "definition too new";
    case Reason::kDType: return "dtype";
    case Reason::kRank: return "rank";
    case Reason::kShapeDynamic: return "shape dynamic";
    case Reason::kAttribute: return "attribute";
    case Reason::kLayout: return "layout";
    case Reason::kShape: return "shape";
    case Reason::kNotConstant: return "not constant";
    case Reason::kOther: return "other";
    case Reason::kDeniedByRule: return "denied by rule";
    case Reason::kGroupIncomplete: return "group incomplete";
    case Reason::kPartitionTooSmall: return "partition too small";
    case Reason::kMoreExpensive: return "more expensive";
    case Reason::kInfeasible: return "infeasible by estimate";
    case Reason::kWouldMakeCycle: return "would make a cycle";
    case Reason::kTakenByOther: return "taken by another";
    case Reason::kRefusedAtCompile: return "refused at compile";
    case Reason::kNotAnswered: return "not answered";
    case Reason::kNoTensor: return "not a tensor";
    case Reason::kFailedAtRun: return "failed at run time";
    case Reason::kWrongResult: return "wrong result";
    case Reason::kSlower: return "slower here";
  }
  return "other";
}

}  // namespace deputy::host
