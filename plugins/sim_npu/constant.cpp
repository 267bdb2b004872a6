#include "constant.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "fp16.hpp"

namespace sim_npu {

using deputy::sdk::DType;
using deputy::sdk::Reason;
using deputy::sdk::ValueView;
using deputy::sdk::Verdict;

std::vector<float> ReadConstant(const ValueView& value) {
  if (value.dtype() == DType::kFloat32) return value.constant_values<float>().ToVector();
  const auto halves = value.constant_values<uint16_t>();
  std::vector<float> floats(halves.size());
  ToFloat(halves.data(), floats.data(), floats.size());
  return floats;
}

std::vector<float> ReadRounded(const ValueView& value) {
  std::vector<float> floats = ReadConstant(value);
  std::vector<uint16_t> halves(floats.size());
  ToHalf(floats.data(), halves.data(), halves.size());
  ToFloat(halves.data(), floats.data(), floats.size());
  return floats;
}

Verdict CheckConstant(const ValueView& value, const char* what) {
  if (!value.is_constant()) return Verdict::No(Reason::kNotConstant, std::string(what) + " must be constant");
  if (value.dtype() != DType::kFloat32 && value.dtype() != DType::kFloat16)
    return Verdict::No(Reason::kDType, std::string(what) + " are " + NameOf(value.dtype()));
  if (value.dtype() == DType::kFloat16) return Verdict::Yes();
  for (const float element : value.constant_values<float>())
    if (!(std::fabs(element) <= kLargestHalf))
      return Verdict::No(Reason::kOther,
                         std::string(what) + " hold " + std::to_string(element) + ", which fp16 cannot");
  return Verdict::Yes();
}

}  // namespace sim_npu
