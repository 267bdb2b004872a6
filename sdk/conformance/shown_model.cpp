#include "shown_model.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "threads.hpp"
#include "trap.hpp"

namespace deputy::conformance {

using Bytes = std::vector<uint8_t>;

Binding::Binding(const ShownModel& shown, const Claim& claim, Flush flush, uint8_t poison) {
  for (const deputy_value_id id : claim.inputs) {
    inputs_.push_back(Bound(shown.NameOf(id), shown.ValueOf(id), flush));
    input_buffers_.back()->Assign(reference::Encode(shown.ValueOf(id)));
    input_buffers_.back()->Protect(true);
  }
  for (const deputy_value_id id : claim.outputs) {
    outputs_.push_back(Bound(shown.NameOf(id), shown.ValueOf(id), flush));
    output_buffers_.push_back(std::move(input_buffers_.back()));
    input_buffers_.pop_back();
    output_buffers_.back()->Fill(poison);
  }
}

deputy_tensor Binding::Bound(const std::string& name, const Tensor& tensor, Flush flush) {
  const size_t bytes = static_cast<size_t>(tensor.count()) * reference::BytesOf(tensor.dtype);
  input_buffers_.push_back(std::make_unique<GuardedBuffer>(name, bytes, flush));
  static constexpr int64_t kNoDims = 0;
  deputy_tensor bound{};
  bound.struct_size = sizeof bound;
  bound.dtype = tensor.dtype;
  bound.rank = static_cast<uint32_t>(tensor.rank());
  bound.layout = DEPUTY_LAYOUT_DENSE;
  bound.dims = tensor.dims.empty() ? &kNoDims : tensor.dims.data();
  bound.memory = DEPUTY_MEMORY_HOST;
  bound.data = input_buffers_.back()->data();
  bound.byte_size = bytes;
  return bound;
}

void Binding::Assign(const ShownModel& other, const Claim& claim, uint8_t poison) {
  for (size_t i = 0; i < input_buffers_.size(); ++i) {
    input_buffers_[i]->Protect(false);
    input_buffers_[i]->Assign(reference::Encode(other.ValueOf(claim.inputs[i])));
    input_buffers_[i]->Protect(true);
  }
  for (const auto& buffer : output_buffers_) buffer->Fill(poison);
}

void Binding::Close(const std::string& why) {
  for (const auto& buffer : output_buffers_) buffer->Protect(true, why);
}

Outcome Binding::RunStopped(const std::function<Outcome()>& run, size_t number, const std::function<void()>& meanwhile,
                            bool* stopped, std::string* why_not, Where where) {
  *stopped = false;
  const GuardedBuffer& buffer =
      number < input_buffers_.size() ? *input_buffers_[number] : *output_buffers_[number - input_buffers_.size()];
  if (buffer.pages() == nullptr) return {};
  auto* pages = static_cast<uint8_t*>(buffer.pages());
  size_t size = buffer.pages_size();
  if (where == Where::kMiddle) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    if (size < 3 * page) return {};
    pages += size / 2 / page * page;
    size = page;
  }
  std::atomic<bool> ended{false}, in_time{false};
  Threads other;
  Outcome outcome;
  {
    const Stop stop(pages, size, buffer.protection());
    const bool started = other.Start([&] {
      while (!Stop::reached() && !ended) std::this_thread::sleep_for(std::chrono::microseconds(20));
      if (!Stop::waits()) return;
      meanwhile();
      in_time = Stop::waits();
      Stop::Continue();
    });
    if (!started) {
      *why_not = other.why_not();
      return {};
    }
    outcome = run();
    ended = true;
    other.Join();
  }
  *stopped = in_time;
  return outcome;
}

std::vector<Bytes> Binding::Results() const {
  std::vector<Bytes> results;
  for (const auto& buffer : output_buffers_)
    results.emplace_back(buffer->data(), buffer->data() + (buffer->data() == nullptr ? 0 : buffer->size()));
  return results;
}

bool Binding::Holds(const std::vector<Bytes>& results) const {
  for (size_t i = 0; i < results.size(); ++i)
    if (!results[i].empty() && std::memcmp(output_buffers_[i]->data(), results[i].data(), results[i].size()) != 0)
      return false;
  return true;
}

std::string FaultOfResults(const ShownModel& shown, const Claim& claim, const std::vector<Bytes>& first,
                           const std::vector<Bytes>& second) {
  for (size_t i = 0; i < first.size(); ++i) {
    const Tensor& expected = shown.ValueOf(claim.outputs[i]);
    const std::string& name = shown.NameOf(claim.outputs[i]);
    const size_t size = reference::BytesOf(expected.dtype);
    size_t untouched = 0, different = 0, where = 0;
    for (size_t element = 0; element * size < first[i].size(); ++element) {
      const auto begin = first[i].begin() + static_cast<ptrdiff_t>(element * size);
      const auto other = second[i].begin() + static_cast<ptrdiff_t>(element * size);
      const auto length = static_cast<ptrdiff_t>(size);
      if (std::equal(begin, begin + length, other)) continue;
      const bool poisoned = std::all_of(begin, begin + length, [](uint8_t byte) { return byte == kPoison; }) &&
                            std::all_of(other, other + length, [](uint8_t byte) { return byte == kOtherPoison; });
      if (untouched + different == 0) where = element;
      ++(poisoned ? untouched : different);
    }
    const std::string index = TextOf(reference::IndexOf(expected.dims, static_cast<int64_t>(where)));
    if (untouched != 0)
      return name + ": " + std::to_string(untouched) + " elements were not written, the first at " + index;
    if (different != 0)
      return name + ": a second run on the same inputs differs in " + std::to_string(different) +
             " elements, the first at " + index;
  }
  return "";
}

std::string FaultOfValues(const ShownModel& shown, const Claim& claim, const std::vector<Bytes>& results,
                          deputy_dtype computes_in) {
  for (size_t i = 0; i < results.size(); ++i) {
    const deputy_value_id id = claim.outputs[i];
    const Tensor& expected = shown.ValueOf(id);
    const Tensor got = reference::Decode(expected.dtype, expected.dims, results[i].data());
    const std::string wrong = Difference(got, expected, shown.ToleranceIn(claim, id, computes_in));
    if (!wrong.empty()) return (results.size() > 1 ? shown.NameOf(id) + ": " : "") + wrong;
  }
  return "";
}

std::string FaultOfRun(const ShownModel& shown, const Claim& claim, Context& context, deputy_dtype computes_in) {
  Binding binding(shown, claim, Flush::kEnd, kPoison);
  const Outcome outcome = binding.Run(context);
  if (!outcome.ok()) return "execute failed: " + outcome.ToString();
  return FaultOfValues(shown, claim, binding.Results(), computes_in);
}

std::string FaultOfRunIn(Binding& binding, const ShownModel& shown, const Claim& claim, Context& context,
                         deputy_dtype computes_in) {
  binding.Assign(shown, claim, kPoison);
  const Outcome outcome = binding.Run(context);
  if (!outcome.ok()) return "execute failed: " + outcome.ToString();
  return FaultOfValues(shown, claim, binding.Results(), computes_in);
}

std::string FaultOfRuns(const ShownModel& shown, const Claim& claim, Context& context, deputy_dtype computes_in) {
  std::vector<Bytes> results[2];
  for (const int i : {0, 1}) {
    Binding binding(shown, claim, i == 0 ? Flush::kEnd : Flush::kBegin, i == 0 ? kPoison : kOtherPoison);
    const Outcome outcome = binding.Run(context);
    if (!outcome.ok()) return "execute fails: " + outcome.ToString();
    results[i] = binding.Results();
  }
  const std::string fault = FaultOfResults(shown, claim, results[0], results[1]);
  return fault.empty() ? FaultOfValues(shown, claim, results[0], computes_in) : fault;
}

}  // namespace deputy::conformance
