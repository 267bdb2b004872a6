#include "plugin/proxy/run_queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <new>
#include <utility>

#include "plugin/checks/text.hpp"
#include "plugin/proxy/opened_delegate.hpp"

namespace deputy::host {
namespace {

// Of a choice; in a worker process with the call, for which threads of both processes may have to wake up.
constexpr uint64_t kLongestChoiceNs = 1'000'000, kLongestServedChoiceNs = 100'000'000;

}  // namespace

Result<std::unique_ptr<RunQueue>> RunQueue::Make(const OpenedDelegate& opened,
                                                 const deputy_ext_scheduling* scheduling) {
  if (scheduling == nullptr) return std::unique_ptr<RunQueue>();
  deputy_queue_limits limits{};
  limits.struct_size = sizeof limits;
  limits.queue_count = limits.most_runs_in_flight = limits.most_runs_per_context = 1;
  DEPUTY_RETURN_IF_ERROR(
      opened.CallLoading("limits", nullptr, [&] { return scheduling->limits(opened.instance(), &limits); }));
  const CopiedText group = CopyText(limits.exclusive_group, 128);
  if (!group.fault.empty()) return opened.Fault("limits", "its exclusive group " + group.fault);
  if (limits.queue_count == 0 || limits.most_runs_in_flight == 0 || limits.most_runs_per_context == 0)
    return opened.Fault(
        "limits", fmt::format("no run can begin with {} queues, {} runs in flight, {} of a context", limits.queue_count,
                              limits.most_runs_in_flight, limits.most_runs_per_context));
  return std::unique_ptr<RunQueue>(new RunQueue(opened, *scheduling, limits, GroupNamed(group.text)));
}

RunQueue::RunQueue(const OpenedDelegate& opened, const deputy_ext_scheduling& scheduling,
                   const deputy_queue_limits& limits, std::shared_ptr<Group> group)
    : opened_(opened),
      scheduling_(scheduling),
      queue_count_(limits.queue_count),
      most_runs_(limits.most_runs_in_flight),
      group_(std::move(group)),
      asks_(DEPUTY_HAS_FN(&scheduling, deputy_ext_scheduling, choose)) {}

std::shared_ptr<RunQueue::Group> RunQueue::GroupNamed(const std::string& name) {
  if (name.empty()) return std::make_shared<Group>();
  static std::mutex mutex;
  static auto& groups = *new std::map<std::string, std::weak_ptr<Group>>();
  const std::lock_guard lock(mutex);
  std::erase_if(groups, [](const auto& one) { return one.second.expired(); });
  std::shared_ptr<Group> group = groups[name].lock();
  if (group == nullptr) groups[name] = group = std::make_shared<Group>();
  return group;
}

RunQueue::Place::Place(RunQueue& queue, deputy_context* context, const PassRequest& request)
    : queue_(queue), token_(request.token) {
  Group& group = *queue_.group_;
  shown_ = {sizeof shown_, request.priority, context, NowNs(), token_ == nullptr ? 0 : token_->deadline_ns};
  std::unique_lock lock(group.mutex);
  turn_ = {++group.arrivals, request.priority};
  before_ = group.last;
  if (before_ != nullptr) before_->after_ = this;
  group.last = this;
  GiveTurns(group, lock);
}

bool RunQueue::Place::Wait() {
  Group& group = *queue_.group_;
  const uint64_t deadline_ns = shown_.deadline_ns == 0 ? UINT64_MAX : shown_.deadline_ns;
  std::unique_lock lock(group.mutex);
  while (!has_turn_) {
    if (token_ != nullptr && token_->Due()) return false;
    WaitUntil(group.changed, lock, deadline_ns);
  }
  return true;
}

RunQueue::Place::~Place() {
  Group& group = *queue_.group_;
  std::unique_lock lock(group.mutex);
  while (!has_turn_ && queue_.chooses_) group.changed.wait(lock);
  if (before_ != nullptr) before_->after_ = after_;
  if (after_ != nullptr) after_->before_ = before_;
  if (group.last == this) group.last = before_;
  if (has_turn_ && --group.runs == 0) group.running = nullptr;
  GiveTurns(group, lock);
}

RunQueue::Place* RunQueue::FirstToBegin(Group& group) {
  Place* first = nullptr;
  for (Place* place = group.last; place != nullptr; place = place->before_)
    if (!place->has_turn_ && (first == nullptr || place->turn_.Precedes(first->turn_))) first = place;
  if (first == nullptr) return nullptr;
  // Until the other delegate's runs have ended.
  if (group.running != nullptr && group.running != &first->queue_) return nullptr;
  return group.runs < first->queue_.most_runs_ && !first->queue_.chooses_ ? first : nullptr;
}

void RunQueue::GiveTurns(Group& group, std::unique_lock<std::mutex>& lock) {
  while (Place* const first = FirstToBegin(group)) {
    RunQueue& queue = first->queue_;
    first->on_ = queue.next_on_;
    Place* chosen = first;
    try {
      chosen = queue.Choose(first, lock);
    } catch (const std::bad_alloc&) {  // the host's choice needs no memory
    }
    if (chosen != nullptr) queue.Give(*chosen);
  }
}

RunQueue::Place* RunQueue::Choose(Place* first, std::unique_lock<std::mutex>& lock) {
  if (!asks_ || first->turn_.overtakes >= Turn::kMostOvertakes) return first;
  waiting_.clear();
  for (Place* place = group_->last; place != nullptr; place = place->before_)
    if (!place->has_turn_ && &place->queue_ == this) waiting_.push_back(place);
  if (waiting_.size() < 2) return first;
  std::sort(waiting_.begin(), waiting_.end(),
            [](const Place* a, const Place* b) { return a->turn_.Precedes(b->turn_); });
  runs_.clear();
  for (const Place* place : waiting_) runs_.push_back(place->shown_);
  shown_.clear();
  for (const deputy_ready_run& run : runs_) shown_.push_back(&run);
  uint32_t chosen = 0, on = 0;
  chooses_ = true;
  lock.unlock();
  bool has_chosen = false;
  try {
    has_chosen = Ask(chosen, on);
  } catch (const std::bad_alloc&) {  // as in GiveTurns
  }
  lock.lock();
  chooses_ = false;
  group_->changed.notify_all();
  // Other delegates of the group have gone on meanwhile; runs of this one have only come.
  Place* const now = FirstToBegin(*group_);
  if (now == nullptr || &now->queue_ != this) return nullptr;
  now->on_ = next_on_;
  if (!has_chosen || now->turn_.overtakes >= Turn::kMostOvertakes) return now;
  waiting_[chosen]->on_ = on;
  return waiting_[chosen];
}

bool RunQueue::Ask(uint32_t& chosen, uint32_t& on) {
  const uint64_t begin_ns = NowNs();
  const Status status = opened_.Call("choose", nullptr, [&] {
    return scheduling_.choose(opened_.instance(), shown_.data(), static_cast<uint32_t>(shown_.size()), &chosen, &on);
  });
  const uint64_t took_ns = NowNs() - begin_ns;
  const uint64_t most_ns = opened_.plugin().is_served() ? kLongestServedChoiceNs : kLongestChoiceNs;
  if (status.code() == StatusCode::kDeviceLost) return false;  // said by the runs, which fail for the same reason
  if (took_ns > most_ns) {
    asks_ = false;
    opened_.LogFault("choose",
                     fmt::format("it took {} us, more than {}: it is not asked again", took_ns / 1000, most_ns / 1000));
  }
  if (!status.ok()) {
    opened_.LogFault("choose", status.message());
    return false;
  }
  if (chosen < shown_.size() && on < queue_count_) return true;
  opened_.LogFault("choose",
                   fmt::format("it chose run {} of {} on queue {} of {}", chosen, shown_.size(), on, queue_count_));
  return false;
}

void RunQueue::Give(Place& place) {
  next_on_ = (place.on_ + 1) % queue_count_;
  place.has_turn_ = true;
  group_->running = this;
  ++group_->runs;
  for (Place* other = group_->last; other != nullptr; other = other->before_)
    if (!other->has_turn_ && (other->turn_.number < place.turn_.number || other->turn_.Precedes(place.turn_)))
      ++other->turn_.overtakes;
  group_->changed.notify_all();
}

void RunQueue::Wake() {
  { const std::lock_guard lock(group_->mutex); }
  group_->changed.notify_all();
}

}  // namespace deputy::host
