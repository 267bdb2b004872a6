#include "plan/buffer_planner.hpp"

#include <algorithm>

#include "plan/arena.hpp"
#include "plan/step_order.hpp"

namespace deputy::host {
namespace {

// Values in one place, identified by the value that was there first.
struct SharedPlace {
  uint32_t first = 0, last = 0;  // steps of the first write and the last read
  bool written_by_last = true;   // all its values come from the last delegate
  bool holds_output = false;     // a value in it is an output of the graph
  std::vector<uint32_t> uses;    // steps that read or write it, if steps may overlap
};

class BufferPlanner {
 public:
  BufferPlanner(Plan& plan, const StepOrder& order, size_t last_delegate, bool top_level)
      : plan_(plan),
        order_(order),
        graph_(*plan.graph),
        last_delegate_(last_delegate),
        top_level_(top_level),
        place_of_(graph_.values.size()),
        places_(graph_.values.size()),
        is_output_(graph_.values.size(), 0) {}

  void Run() {
    plan_.slots.resize(graph_.values.size());
    for (ValueId id = 0; id < graph_.values.size(); ++id) StartAlone(id);
    for (const std::vector<ValueId>* outside : {&graph_.inputs, &graph_.captured})
      for (const ValueId id : *outside) {
        plan_.slots[id].storage = StorageClass::kBound;
        places_[id].written_by_last = false;
      }
    for (const ValueId id : graph_.outputs) {
      is_output_[id] = places_[id].holds_output = true;
      places_[id].last = static_cast<uint32_t>(std::max<size_t>(1, plan_.steps.size()) - 1);
    }
    for (uint32_t step = 0; step < plan_.steps.size(); ++step) MarkUses(step);
    for (uint32_t step = 0; step < plan_.steps.size(); ++step) Share(step);
    Assign();
  }

 private:
  void StartAlone(ValueId id) {
    Slot& slot = plan_.slots[id];
    const Value& value = graph_.values[id];
    place_of_[id] = slot.next_alias = id;
    slot.dtype = value.type.dtype;
    if (value.type.is_static()) slot.dims = value.type.dims;
    if (!value.is_constant()) return;
    slot.storage = StorageClass::kConstant;
    slot.bytes = value.constant.byte_size();
  }

  void MarkUses(uint32_t index) {
    const Step& step = plan_.steps[index];
    const bool by_last =
        step.executable != nullptr && plan_.placement.partitions[step.partition].delegate == last_delegate_;
    for (const ValueId id : step.outputs) {
      if (id == kNone) continue;
      const ValueType& type = graph_.values[id].type;
      const Result<size_t> bytes = type.is_static() ? ByteSize(type.dtype, type.dims) : Result<size_t>(Status());
      plan_.slots[id].storage = bytes.ok()         ? StorageClass::kArena
                                : type.is_tensor() ? StorageClass::kDynamic
                                                   : StorageClass::kHeld;
      plan_.slots[id].bytes = bytes.ok() ? *bytes : 0;
      places_[id].first = index;
      places_[id].last = std::max(places_[id].last, index);
      places_[id].written_by_last = by_last;
      if (plan_.overlaps) places_[id].uses.push_back(index);
    }
    const auto read = [&](ValueId id) {
      if (id == kNone) return;
      places_[id].last = std::max(places_[id].last, index);
      if (plan_.overlaps) places_[id].uses.push_back(index);
    };
    for (const ValueId id : step.inputs) read(id);
    for (const Branch& branch : step.branches)
      for (const ValueId id : branch.captures) read(id);
  }

  // Takes at most one alias per step: the first that is allowed.
  void Share(uint32_t index) {
    Step& step = plan_.steps[index];
    if (step.executable == nullptr) return;
    for (const Alias& alias : step.executable->aliases()) {
      const ValueId output = step.outputs[alias.output], input = step.inputs[alias.input];
      if (!(alias.view ? MayView(output, input) : MayOverwrite(output, input, index))) continue;
      Join(output, input);
      step.is_view = alias.view && step.outputs.size() == 1;
      return;
    }
  }

  bool MayView(ValueId output, ValueId input) const {
    const Slot &to = plan_.slots[output], &from = plan_.slots[input];
    if (to.storage != StorageClass::kArena || !graph_.values[input].type.is_static()) return false;
    const ValueId head = place_of_[input];
    if (plan_.slots[head].storage == StorageClass::kConstant || from.storage == StorageClass::kDynamic) return false;
    // An output is written to memory of the caller.
    return !is_output_[output] || (!places_[head].holds_output && plan_.slots[head].storage == StorageClass::kArena);
  }

  bool MayOverwrite(ValueId output, ValueId input, uint32_t index) const {
    const Slot &to = plan_.slots[output], &from = plan_.slots[input];
    if (to.storage != StorageClass::kArena || from.storage != StorageClass::kArena) return false;
    if (to.dtype != from.dtype || to.dims != from.dims) return false;
    const SharedPlace& place = places_[place_of_[input]];
    return place.written_by_last && !place.holds_output && place.last == index &&
           std::all_of(place.uses.begin(), place.uses.end(),
                       [&](uint32_t use) { return use == index || order_.Precedes(use, index); });
  }

  // Whether the uses of a place have ended before the other one is written, in every order.
  bool EndsBefore(const SharedPlace& place, const SharedPlace& other) const {
    return place.last < other.first && std::all_of(place.uses.begin(), place.uses.end(),
                                                   [&](uint32_t use) { return order_.Precedes(use, other.first); });
  }

  void Join(ValueId output, ValueId input) {
    const ValueId head = place_of_[input];
    place_of_[output] = head;
    std::swap(plan_.slots[output].next_alias, plan_.slots[input].next_alias);
    SharedPlace& place = places_[head];
    place.last = std::max(place.last, places_[output].last);
    place.written_by_last = place.written_by_last && places_[output].written_by_last;
    place.holds_output = place.holds_output || places_[output].holds_output;
    place.uses.insert(place.uses.end(), places_[output].uses.begin(), places_[output].uses.end());
  }

  void Assign() {
    std::vector<uint32_t> first(places_.size()), last(places_.size());
    std::vector<uint8_t> followers(places_.size(), 0);
    for (ValueId id = 0; id < places_.size(); ++id) {
      // Without a known order all live to the end.
      first[id] = plan_.overlaps ? 0 : places_[id].first;
      last[id] = plan_.overlaps ? static_cast<uint32_t>(plan_.steps.size()) - 1 : places_[id].last;
      Slot& slot = plan_.slots[id];
      if (slot.storage == StorageClass::kArena && top_level_ && places_[place_of_[id]].holds_output)
        slot.storage = StorageClass::kBound;
      // Later values of a place share the slot of the first.
      if (slot.storage != StorageClass::kArena || place_of_[id] == id) continue;
      slot.storage = StorageClass::kUnused;
      followers[id] = 1;
    }
    if (plan_.overlaps && order_.is_known()) {
      plan_.arena_bytes = AssignOffsets(plan_.slots, [&](ValueId a, ValueId b) {
        return EndsBefore(places_[a], places_[b]) || EndsBefore(places_[b], places_[a]);
      });
    } else {
      plan_.arena_bytes = AssignOffsets(plan_.slots, first, last, plan_.steps.size());
    }
    for (ValueId id = 0; id < places_.size(); ++id) {
      if (!followers[id]) continue;
      plan_.slots[id].storage = plan_.slots[place_of_[id]].storage;
      plan_.slots[id].offset = plan_.slots[place_of_[id]].offset;
    }
  }

  Plan& plan_;
  const StepOrder& order_;
  const Graph& graph_;
  const size_t last_delegate_;
  const bool top_level_;
  std::vector<ValueId> place_of_;
  std::vector<SharedPlace> places_;  // by the first value of each
  std::vector<uint8_t> is_output_;
};

}  // namespace

void PlanBuffers(Plan& plan, const StepOrder& order, size_t last_delegate, bool top_level) {
  BufferPlanner(plan, order, last_delegate, top_level).Run();
}

}  // namespace deputy::host
