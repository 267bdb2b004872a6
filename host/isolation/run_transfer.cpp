#include "isolation/run_transfer.hpp"

#include <algorithm>
#include <cstring>

#include "delegate/kept_outputs.hpp"

namespace deputy::host {
namespace {

// In the channel's region, after an unused part, so that 0 is none.
uint64_t PlaceFor(uint64_t size, uint64_t& end) {
  const uint64_t place = end;
  if (__builtin_add_overflow(end, size, &end) || __builtin_add_overflow(end, kAlignment - 1, &end)) return 0;
  end = end / kAlignment * kAlignment;
  return RegionOf(end) == 0 ? place : 0;
}

void* DataAt(uint64_t place) { return reinterpret_cast<void*>(static_cast<uintptr_t>(place)); }

bool HasBytes(const deputy_tensor* tensor) {
  return tensor != nullptr && tensor->data != nullptr && tensor->byte_size != 0;
}

// But for data and dims.
bool AreAlike(const deputy_tensor& a, const deputy_tensor& b) {
  return a.struct_size == b.struct_size && a.dtype == b.dtype && a.rank == b.rank && a.layout == b.layout &&
         a.memory == b.memory && a.layout_tag == b.layout_tag && a.domain == b.domain && a.handle == b.handle &&
         a.offset == b.offset && a.byte_size == b.byte_size && a.strides == nullptr && a.quantization == nullptr;
}

}  // namespace

bool KnownRun::Matches(const deputy_run_args& args) const {
  if (!known_ || args.struct_size != struct_size_ || args.flags != flags_ || args.input_count != inputs_ ||
      size_t{args.input_count} + args.output_count != tensors_.size() ||
      (args.allocator != nullptr) != has_allocator_ || args.scratch_size != scratch_size_)
    return false;
  const int64_t* dims = dims_.data();
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const deputy_tensor* given = i < inputs_ ? args.inputs[i] : args.outputs[i - inputs_];
    const deputy_tensor& known = tensors_[i];
    if ((given == nullptr) != (known.struct_size == 0)) return false;
    if (given == nullptr) continue;
    if (!AreAlike(*given, known) || !std::equal(given->dims, given->dims + given->rank, dims)) return false;
    dims += given->rank;
  }
  return true;
}

void KnownRun::Remember(const deputy_run_args& args) {
  tensors_.clear();
  dims_.clear();
  struct_size_ = args.struct_size;
  flags_ = args.flags;
  inputs_ = args.input_count;
  has_allocator_ = args.allocator != nullptr;
  scratch_size_ = args.scratch_size;
  known_ = args.struct_size >= sizeof(deputy_run_args);
  for (size_t i = 0; known_ && i < size_t{args.input_count} + args.output_count; ++i) {
    const deputy_tensor* given = i < inputs_ ? args.inputs[i] : args.outputs[i - inputs_];
    deputy_tensor& kept = tensors_.emplace_back();
    if (given == nullptr) continue;
    known_ = given->struct_size >= sizeof(deputy_tensor) && AreAlike(*given, *given) &&
             (given->dims != nullptr || given->rank == 0);
    if (!known_) return;
    kept = *given;
    dims_.insert(dims_.end(), given->dims, given->dims + given->rank);
  }
}

void RunTransfer::Find(WorkerLink& link, KnownPlaces& known, const CallDeadline& limit) {
  places_.assign(count(), 0);
  const uint64_t generation = link.generation();
  if (generation == 0) return;
  if (known.generation != generation || known.inputs.size() != args_.input_count)
    known = {generation, std::vector<KnownPlaces::Input>(args_.input_count)};
  for (uint32_t i = 0; i < args_.input_count; ++i) {
    const deputy_tensor* input = args_.inputs[i];
    if (!HasBytes(input)) continue;
    KnownPlaces::Input& last = known.inputs[i];
    if (last.data != input->data || last.size != input->byte_size)
      last = {input->data, input->byte_size, link.PlaceOf(input->data, input->byte_size, limit)};
    places_[i] = last.place;
  }
}

CallResult RunTransfer::Prepare(RemoteCall& call) {
  uint64_t end = kAlignment;
  for (size_t i = 0; i < count(); ++i) {
    if (tensor(i) == nullptr) continue;
    const bool on_device = tensor(i)->memory == DEPUTY_MEMORY_DEVICE && tensor(i)->data == nullptr;
    bool fits = (tensor(i)->memory == DEPUTY_MEMORY_HOST || on_device) && tensor(i)->layout == DEPUTY_LAYOUT_DENSE;
    if (fits && HasBytes(tensor(i)) && places_[i] == 0) {
      places_[i] = PlaceFor(tensor(i)->byte_size, end);
      fits = places_[i] != 0;
    }
    if (!fits)
      return CallResult::Failure(DEPUTY_INVALID_ARGUMENT,
                                 "only dense tensors in memory of the host or the device reach a worker process");
  }
  if (args_.scratch != nullptr && args_.scratch_size != 0) scratch_ = PlaceFor(args_.scratch_size, end);
  Channel* channel = call.channel();
  if (channel == nullptr) return {};  // the call says so
  SharedRegion& region = channel->tensors;
  if (const Status grown = region.Ensure(end, &call.link().memory()); !grown.ok())
    return CallResult::Failure(DEPUTY_OUT_OF_MEMORY, grown.message());
  region_size_ = region.size();
  if (const int descriptor = region.TakeNew(); descriptor >= 0) call.Attach(descriptor);
  const size_t copied = KeptOutputs::AreWanted() ? count() : args_.input_count;
  for (size_t i = 0; i < copied; ++i)
    if (uint8_t* to = Own(region, i)) std::memcpy(to, tensor(i)->data, tensor(i)->byte_size);
  return {};
}

void RunTransfer::Fill(RunForm& form) {
  tensors_.reserve(count());
  pointers_.reserve(count());
  for (size_t i = 0; i < count(); ++i) {
    pointers_.push_back(nullptr);
    if (tensor(i) == nullptr) continue;
    tensors_.push_back(Whole(*tensor(i)));
    tensors_.back().data = DataAt(places_[i]);
    pointers_.back() = &tensors_.back();
  }
  form.args = args_;
  form.args.inputs = pointers_.data();
  form.args.outputs = pointers_.data() + args_.input_count;
  form.args.scratch = DataAt(scratch_);
  form.region_size = region_size_;
}

void RunTransfer::Fill(RunAgainForm& form) const {
  form = {form.start,   args_.run, args_.deadline_ns, args_.power_level, args_.precision,
          region_size_, scratch_,  places_.data(),    places_.size()};
}

void RunTransfer::Finish(RemoteCall& call) const {
  Channel& channel = *call.channel();
  for (size_t i = args_.input_count; i < count(); ++i)
    if (const uint8_t* from = Own(channel.tensors, i)) std::memcpy(tensor(i)->data, from, tensor(i)->byte_size);
  for (const RemoteCall::Allocated& output : call.allocated())
    if (output.size != 0) std::memcpy(output.data, channel.outputs[output.output].data(), output.size);
}

// The bytes of a tensor in the channel's region; null where it has none there.
uint8_t* RunTransfer::Own(const SharedRegion& region, size_t at) const {
  return places_[at] == 0 || RegionOf(places_[at]) != 0 ? nullptr : region.data() + places_[at];
}

}  // namespace deputy::host
