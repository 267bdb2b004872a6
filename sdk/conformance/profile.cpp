#include "profile.hpp"

#include <algorithm>

#include "text.hpp"

namespace deputy::conformance {

EventSink::EventSink(HostServices& host) : host_(host) {
  form_.struct_size = sizeof form_;
  form_.self = this;
  form_.event = Add;
}

std::string EventSink::FaultOf(const deputy_profile_event* event) const {
  if (!open_) return "arrived after profiling was turned off";
  if (event == nullptr || !DEPUTY_HAS(event, deputy_profile_event, metadata)) return "is not whole";
  if (event->clock != DEPUTY_CLOCK_MONOTONIC && event->clock != DEPUTY_CLOCK_DEVICE)
    return "is on the unknown clock " + std::to_string(event->clock);
  if (event->end_ns < event->begin_ns)
    return "ends at " + std::to_string(event->end_ns) + " and begins at " + std::to_string(event->begin_ns);
  for (const auto& [member, text] : {std::pair("name", &event->name), std::pair("metadata", &event->metadata)}) {
    const std::string wrong = conformance::FaultOf(*text, true);
    if (!wrong.empty() && wrong != "has no NUL behind it") return std::string("has a ") + member + " that " + wrong;
  }
  return "";
}

void EventSink::Add(void* self, const deputy_profile_event* event) {
  auto& sink = *static_cast<EventSink*>(self);
  const std::lock_guard lock(sink.mutex_);
  const std::string wrong = sink.FaultOf(event);
  if (!wrong.empty()) return sink.host_.Fault("an event " + wrong);
  sink.events_.push_back({event->id, event->clock, event->begin_ns, event->end_ns, TextOf(event->name)});
}

std::vector<Event> EventSink::Take() {
  const std::lock_guard lock(mutex_);
  std::vector<Event> taken;
  taken.swap(events_);
  return taken;
}

void EventSink::Close() {
  const std::lock_guard lock(mutex_);
  open_ = false;
}

struct Profile::Mapping {
  HostServices& host;
  const std::vector<deputy_node_id> nodes;  // of the partition
  deputy_debug_map_sink sink{};
  DebugMap map;
  bool open = true;

  std::string FaultOf(uint32_t id, const deputy_node_id* named, uint64_t count) const {
    const std::string entry = "id " + std::to_string(id);
    if (!open) return "it added " + entry + " after it had returned";
    if (id == DEPUTY_NO_EVENT_ID) return "it added the id DEPUTY_NO_EVENT_ID";
    if (map.count(id) != 0) return "it added " + entry + " twice";
    if (named == nullptr && count != 0) return "it added " + entry + " with nodes at NULL";
    for (uint64_t i = 0; i < count; ++i)
      if (std::find(nodes.begin(), nodes.end(), named[i]) == nodes.end())
        return entry + " maps to node " + std::to_string(named[i]) + ", which is not in the partition";
    return "";
  }

  static deputy_status* Add(void* self, uint32_t id, const deputy_node_id* named, uint64_t count) {
    auto& mapping = *static_cast<Mapping*>(self);
    const std::string wrong = mapping.FaultOf(id, named, count);
    if (wrong.empty()) {
      mapping.map[id].assign(named, named + count);
      return nullptr;
    }
    mapping.host.Fault("debug_map: " + wrong);
    return mapping.open ? mapping.host.NewStatus(DEPUTY_INVALID_ARGUMENT, DEPUTY_NO_NODE, wrong) : nullptr;
  }
};

Profile::Profile(Plugin& plugin, const deputy_delegate* delegate)
    : plugin_(plugin),
      table_(static_cast<const deputy_ext_profiling*>(
          plugin.Extension(delegate, DEPUTY_EXT_PROFILING, DEPUTY_END_OF(deputy_ext_profiling, correlate)))) {
  if (table_ == nullptr || (table_->debug_map != nullptr && table_->set_profiling != nullptr)) return;
  plugin_.host().Fault("the table of " DEPUTY_EXT_PROFILING " has empty slots");
  table_ = nullptr;
}

Outcome Profile::Map(Executable& executable, const Claim& claim, DebugMap* map) {
  mappings_.push_back(std::make_shared<Mapping>(Mapping{plugin_.host(), claim.nodes, {}, {}}));
  Mapping& mapping = *mappings_.back();
  mapping.sink.struct_size = sizeof mapping.sink;
  mapping.sink.self = &mapping;
  mapping.sink.add = Mapping::Add;
  const Outcome outcome =
      plugin_.Call("debug_map", [&] { return table_->debug_map(executable.handle(), &mapping.sink); });
  mapping.open = false;
  *map = mapping.map;
  return outcome;
}

EventSink* Profile::TurnOn(Context& context, Outcome* outcome) {
  sinks_.push_back(std::make_unique<EventSink>(plugin_.host()));
  EventSink* sink = sinks_.back().get();
  *outcome = plugin_.Call("set_profiling", [&] { return table_->set_profiling(context.handle(), sink->form()); });
  return outcome->ok() ? sink : nullptr;
}

Outcome Profile::TurnOff(Context& context, EventSink& sink) {
  const Outcome outcome =
      plugin_.Call("set_profiling", [&] { return table_->set_profiling(context.handle(), nullptr); });
  sink.Close();
  return outcome;
}

Outcome Profile::Collect(Context& context, EventSink& sink) {
  return plugin_.Call("collect", [&] { return table_->collect(context.handle(), sink.form()); });
}

Outcome Profile::Correlate(Instance& instance, ClockPair* pair) {
  return plugin_.Call("correlate",
                      [&] { return table_->correlate(instance.handle(), &pair->device_ns, &pair->host_ns); });
}

}  // namespace deputy::conformance
