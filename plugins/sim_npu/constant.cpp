#include "constant.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "fp16.hpp"

namespace sim_npu {

using deputy::sdk::BlobWriter;
using deputy::sdk::DType;
using deputy::sdk::Reason;
using deputy::sdk::SizeOf;
using deputy::sdk::ValueView;
using deputy::sdk::Verdict;

namespace {

std::vector<float> Widened(const uint16_t* halves, size_t count) {
  std::vector<float> floats(count);
  ToFloat(halves, floats.data(), count);
  return floats;
}

std::vector<float> ReadConstant(const ValueView& value) {
  if (value.dtype() == DType::kFloat32) return value.constant_values<float>().ToVector();
  const auto halves = value.constant_values<uint16_t>();
  return Widened(halves.data(), halves.size());
}

std::vector<uint16_t> ReadHalves(const ValueView& value) {
  const std::vector<float> floats = ReadConstant(value);
  std::vector<uint16_t> halves(floats.size());
  ToHalf(floats.data(), halves.data(), halves.size());
  return halves;
}

size_t ElementsOf(const ValueView& value) { return value.constant_bytes() / SizeOf(value.dtype()); }

}  // namespace

std::vector<float> Constants::Plain(const ValueView& value) {
  if (from_ == nullptr) {
    taken_.push_back({value, false});
    return ReadConstant(value);
  }
  std::vector<float> floats = from_->Numbers<float>();
  ok_ = ok_ && floats.size() == ElementsOf(value);
  floats.resize(ElementsOf(value));
  return floats;
}

std::vector<float> Constants::Rounded(const ValueView& value) {
  std::vector<uint16_t> halves;
  if (from_ == nullptr) {
    taken_.push_back({value, true});
    halves = ReadHalves(value);
  } else {
    halves = from_->Numbers<uint16_t>();
    ok_ = ok_ && halves.size() == ElementsOf(value);
    halves.resize(ElementsOf(value));
  }
  return Widened(halves.data(), halves.size());
}

void Constants::Write(BlobWriter& blob) const {
  for (const Taken& taken : taken_) {
    if (taken.rounded) {
      const std::vector<uint16_t> halves = ReadHalves(taken.value);
      blob.Numbers<uint16_t>({halves.data(), halves.size()});
    } else {
      const std::vector<float> floats = ReadConstant(taken.value);
      blob.Numbers<float>({floats.data(), floats.size()});
    }
  }
}

Verdict CheckWeights(const ValueView& value) {
  if (!value.is_constant()) return Verdict::Yes();
  const std::vector<float> elements = ReadConstant(value);
  const auto beyond = std::find_if(elements.begin(), elements.end(),
                                   [](float element) { return !(std::fabs(element) <= kLargestHalf); });
  if (beyond == elements.end()) return Verdict::Yes();
  return Verdict::No(Reason::kOther, "the weight " + std::to_string(*beyond) + " is out of range for fp16");
}

}  // namespace sim_npu
