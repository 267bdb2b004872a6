// Contexts that are resized: right for the new and the old shapes after success, unchanged after a refusal. The other
// contexts of the executable are not affected.
#include "deputy/abi/ext/resize.h"

#include <set>

#include "case_run.hpp"
#include "test.hpp"

namespace deputy::conformance {
namespace {

const deputy_ext_resize* ResizeOf(Plugin& plugin, const deputy_delegate* delegate) {
  const auto* table = static_cast<const deputy_ext_resize*>(
      plugin.Extension(delegate, DEPUTY_EXT_RESIZE, DEPUTY_END_OF(deputy_ext_resize, resize)));
  if (table == nullptr || table->resize != nullptr) return table;
  plugin.host().Fault("the table of " DEPUTY_EXT_RESIZE " has an empty slot");
  return nullptr;
}

// The result of a call.
struct Answered {
  Outcome outcome;
  deputy_resize_outcome becomes = DEPUTY_RESIZE_DONE;

  bool done() const { return outcome.ok() && becomes == DEPUTY_RESIZE_DONE; }
  bool recompile() const { return outcome.ok() && becomes == DEPUTY_RESIZE_RECOMPILE; }
  std::string ToString() const {
    return done()          ? "done"
           : recompile()   ? "recompile"
           : !outcome.ok() ? outcome.ToString()
                           : "the unknown outcome " + std::to_string(becomes);
  }
};

class Resizer {
 public:
  Resizer(Plugin& plugin, const deputy_ext_resize* table) : plugin_(plugin), table_(table) {}

  Answered To(Context& context, const ShownModel& shown, const Claim& claim, uint32_t flags = 0) {
    std::vector<deputy_tensor> tensors;
    for (const deputy_value_id id : claim.inputs) tensors.push_back(ShapeOf(shown.ValueOf(id)));
    for (const deputy_value_id id : claim.outputs) tensors.push_back(ShapeOf(shown.ValueOf(id)));
    std::vector<const deputy_tensor*> pointers;
    for (const deputy_tensor& tensor : tensors) pointers.push_back(&tensor);
    deputy_resize_args args{};
    args.struct_size = sizeof args;
    args.input_count = static_cast<uint32_t>(claim.inputs.size());
    args.output_count = static_cast<uint32_t>(claim.outputs.size());
    args.inputs = pointers.data();
    args.outputs = pointers.data() + claim.inputs.size();
    args.flags = flags;
    Answered answered;
    answered.outcome =
        plugin_.Call("resize", [&] { return table_->resize(context.handle(), &args, &answered.becomes); });
    return answered;
  }

 private:
  static deputy_tensor ShapeOf(const Tensor& tensor) {
    static constexpr int64_t kNoDims = 0;
    deputy_tensor shape{};
    shape.struct_size = sizeof shape;
    shape.dtype = tensor.dtype;
    shape.rank = static_cast<uint32_t>(tensor.rank());
    shape.dims = tensor.dims.empty() ? &kNoDims : tensor.dims.data();
    shape.byte_size = static_cast<uint64_t>(tensor.count()) * reference::BytesOf(tensor.dtype);
    return shape;
  }

  Plugin& plugin_;
  const deputy_ext_resize* table_;
};

// One executable and the checks of its contexts.
class Subject {
 public:
  Subject(TestRun& run, Instance& instance, Resizer& resizer, Compiled compiled)
      : run_(run), instance_(instance), resizer_(resizer), compiled_(std::move(compiled)) {}

  void Try(const Case& other, bool right_away) {
    const std::string subject = compiled_.tested->node.name() + ": " + other.label;
    const auto fail = [&](const std::string& text) { run_.Failed(subject, text); };
    const CaseGraph shown(other);
    std::string why_not;
    const std::unique_ptr<Context> context = compiled_.executable->CreateContext(&why_not);
    if (context == nullptr) return fail("no further context: " + why_not);
    if (!right_away)
      if (const std::string wrong = FaultOfOld(*context); !wrong.empty()) return fail(wrong);
    const Answered answered = resizer_.To(*context, shown, compiled_.claim);
    std::string wrong;
    if (answered.done())
      wrong = FaultOfDone(*context, shown);
    else if (answered.recompile() || answered.outcome.code == DEPUTY_NOT_SUPPORTED)
      wrong = After("it did not resize (" + answered.ToString() + ")", FaultOfOld(*context));
    else
      wrong = "resize answers neither done nor recompile nor not supported, but: " + answered.ToString();
    if (wrong.empty() && answered.recompile()) wrong = FaultOfAnother(shown);
    if (wrong.empty()) wrong = After("another context was resized", FaultOfOld(*compiled_.context));
    if (!wrong.empty()) fail(wrong);
    if (run_.NoFaults(instance_.plugin(), subject) && wrong.empty()) run_.Passed(subject);
  }

 private:
  static std::string After(const std::string& event, const std::string& wrong) {
    return wrong.empty() ? "" : "after " + event + ": " + wrong;
  }

  std::string FaultOf(Context& context, const ShownModel& shown) const {
    return FaultOfRuns(shown, compiled_.claim, context, run_.settings().computes_in);
  }
  std::string FaultOfOld(Context& context) const { return FaultOf(context, *compiled_.shown); }

  std::string FaultOfDone(Context& context, const ShownModel& shown) {
    std::string wrong = After("it was resized", FaultOf(context, shown));
    if (!wrong.empty()) return wrong;
    const Answered back = resizer_.To(context, *compiled_.shown, compiled_.claim);
    if (!back.done()) return "it does not go back to the shapes that it was compiled for: " + back.ToString();
    wrong = After("it was resized and back", FaultOfOld(context));
    for (int round = 0; round < 3 && wrong.empty(); ++round) {
      if (!resizer_.To(context, shown, compiled_.claim).done()) return "it does not resize again as before";
      wrong = After("it was resized several times", FaultOf(context, shown));
      if (!wrong.empty()) return wrong;
      if (!resizer_.To(context, *compiled_.shown, compiled_.claim).done()) return "it does not go back several times";
      wrong = After("it was resized and back several times", FaultOfOld(context));
    }
    return wrong.empty() ? FaultOfFlags(context, shown) : wrong;
  }

  std::string FaultOfFlags(Context& context, const ShownModel& shown) {
    const Answered answered = resizer_.To(context, shown, compiled_.claim, 1u << 30);
    if (answered.outcome.code != DEPUTY_INVALID_ARGUMENT)
      return "an unknown bit of flags is not refused as an invalid argument, but answered with: " + answered.ToString();
    return After("a resize was refused", FaultOfOld(context));
  }

  // Compiled for the other shapes, which the delegate may refuse.
  std::string FaultOfAnother(const ShownModel& shown) {
    Answer refusal;
    Outcome outcome;
    const std::optional<Claim> claim = instance_.ClaimAll(shown.graph, &refusal);
    if (!claim) return "";
    const std::unique_ptr<Executable> executable = instance_.Compile(shown.graph, *claim, &outcome);
    if (executable == nullptr)
      return outcome.code == DEPUTY_NOT_SUPPORTED ? "" : "it wants to compile anew, and fails: " + outcome.ToString();
    std::string why_not;
    const std::unique_ptr<Context> context = executable->CreateContext(&why_not);
    if (context == nullptr) return "compiled anew, it has no context: " + why_not;
    return After("it was compiled anew", FaultOfRuns(shown, *claim, *context, run_.settings().computes_in));
  }

  TestRun& run_;
  Instance& instance_;
  Resizer& resizer_;
  Compiled compiled_;
};

void CheckResized(TestRun& run, const std::vector<Case>& cases) {
  constexpr size_t kMostOperators = 16;
  const std::unique_ptr<Plugin> plugin = run.Load();
  const deputy_delegate* delegate = plugin == nullptr ? nullptr : run.Delegate(*plugin);
  if (delegate == nullptr) return;
  const deputy_ext_resize* table = ResizeOf(*plugin, delegate);
  if (!run.NoFaults(*plugin, "")) return;
  if (table == nullptr) return run.Skipped("it has no " DEPUTY_EXT_RESIZE);
  const std::unique_ptr<Instance> instance = run.Open(*plugin);
  if (instance == nullptr) return;
  Resizer resizer(*plugin, table);
  std::set<std::string> operators;
  for (const Case& tested : cases) {
    // Many devices need constant weights.
    if (tested.label != "plain" && tested.label != "second=constant") continue;
    if (operators.size() == kMostOperators || operators.count(tested.node.name()) != 0) continue;
    const std::vector<Case> others = OtherShapes(tested);
    std::string ignored;
    std::optional<Compiled> compiled = others.empty() ? std::nullopt : CompileCase(*instance, tested, &ignored);
    if (!compiled) continue;
    operators.insert(tested.node.name());
    Subject subject(run, *instance, resizer, std::move(*compiled));
    for (size_t i = 0; i < others.size(); ++i) subject.Try(others[i], i % 2 == 0);
  }
  if (operators.empty()) run.Skipped("it takes no case whose shapes could change");
  run.NoFaults(*plugin, "");
}

}  // namespace

std::vector<Test> ResizeTests(const std::vector<Case>& cases) { return {{"resize.shapes", With(CheckResized, cases)}}; }

}  // namespace deputy::conformance
