#include "faults.hpp"

#include <charconv>
#include <string>

namespace sim_npu {

using deputy::sdk::Code;
using deputy::sdk::Status;

Status Faults::Parse(std::string_view text, Faults* faults) {
  while (!text.empty()) {
    const size_t comma = text.find(',');
    std::string_view one = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    while (!one.empty() && one.front() == ' ') one.remove_prefix(1);
    const size_t colon = one.find(':');
    const std::string_view kind = one.substr(0, colon);
    std::set<uint64_t>* const numbers = kind == "device_lost"  ? &faults->lost_
                                        : kind == "late"       ? &faults->late_
                                        : kind == "queue_full" ? &faults->full_
                                                               : nullptr;
    uint64_t number = 0;
    const char* const end = one.data() + one.size();
    const bool is_number = colon != std::string_view::npos &&
                           std::from_chars(one.data() + colon + 1, end, number).ptr == end && number != 0;
    if (numbers == nullptr || !is_number)
      return Status(Code::kInvalidArgument,
                    "option 'faults': '" + std::string(one) +
                        "' is not device_lost:N, late:N or queue_full:N, with the number N of a run from 1 on");
    numbers->insert(number);
  }
  return {};
}

Faults::OfRun Faults::NextRun() {
  if (lost_.empty() && late_.empty()) return OfRun::kNone;
  const uint64_t run = ++runs_;
  return lost_.count(run) != 0 ? OfRun::kDeviceLost : late_.count(run) != 0 ? OfRun::kLate : OfRun::kNone;
}

bool Faults::IsNextSubmitRefused() { return !full_.empty() && full_.count(++submits_) != 0; }

}  // namespace sim_npu
