// What options do to results: none of them makes a result wrong, neither given to open nor set while executables and
// contexts exist. An option may change the precision.
#include <map>

#include "case_run.hpp"
#include "probing/options.hpp"
#include "test.hpp"
#include "text.hpp"

namespace deputy::conformance {
namespace {

// Cases of a few operators that the delegate takes, those that compute in front.
std::vector<Compiled> SomeCompiled(Instance& instance, const std::vector<Case>& cases) {
  return CompileSomeCases(instance, cases, 4, [](const Case& tested, size_t, size_t supported) {
    return tested.label.rfind("shape=empty", 0) != 0 && supported == 0;
  });
}

// Runs twice with different data.
std::string FaultOf(const Compiled& compiled, Context& context, deputy_dtype computes_in) {
  for (const size_t turn : {0u, 1u}) {
    const Case tested = Turned(*compiled.tested, turn);
    const CaseGraph shown(tested);
    const std::string wrong = FaultOfRun(shown, compiled.claim, context, computes_in);
    if (wrong.empty()) continue;
    // In bfloat16 nothing more precise is wrong.
    if (!FaultOfRun(shown, compiled.claim, context, DEPUTY_DTYPE_BFLOAT16).empty()) return compiled.name + ": " + wrong;
  }
  return "";
}

void CheckResults(TestRun& run, const std::vector<Case>& cases) {
  const auto [plugin, plain] = run.LoadAndOpen();
  if (plain == nullptr) return;
  const std::vector<const deputy_option_info*> schema = SchemaOf(*plugin, plain->delegate());
  if (schema.empty()) return run.Skipped("it has no options");
  for (const deputy_option_info* info : schema) {
    if (info == nullptr) continue;  // options.schema says so
    for (const std::string& value : Samples(*info)) {
      OptionList options = run.settings().options;
      options.emplace_back(TextOf(info->name), value);
      Outcome outcome;
      const std::unique_ptr<Instance> instance = Instance::Open(*plugin, plain->delegate(), options, &outcome);
      if (instance == nullptr) continue;  // options.values says so
      for (const Compiled& compiled : SomeCompiled(*instance, cases)) {
        const std::string subject = TextOf(info->name) + "=" + value;
        const std::string wrong = FaultOf(compiled, *compiled.context, run.settings().computes_in);
        if (!wrong.empty()) run.Failed(subject, wrong);
        if (!run.NoFaults(*plugin, subject) || !wrong.empty()) break;
      }
    }
  }
  run.NoFaults(*plugin, "");
}

// Executables from before the option is set, and those that are compiled afterwards.
std::string FaultAfterSet(Instance& instance, const std::vector<Compiled>& before, const std::vector<Case>& cases,
                          deputy_dtype computes_in) {
  for (const Compiled& compiled : before) {
    std::string wrong = FaultOf(compiled, *compiled.context, computes_in);
    if (!wrong.empty()) return "a context from before set_option: " + wrong;
    std::string why_not;
    const std::unique_ptr<Context> context = compiled.executable->CreateContext(&why_not);
    if (context == nullptr) return "an executable from before set_option has no further context: " + why_not;
    wrong = FaultOf(compiled, *context, computes_in);
    if (!wrong.empty()) return "a new context of an executable from before set_option: " + wrong;
  }
  for (const Compiled& compiled : SomeCompiled(instance, cases))
    if (const std::string wrong = FaultOf(compiled, *compiled.context, computes_in); !wrong.empty())
      return "compiled after set_option: " + wrong;
  for (const Compiled& compiled : before)
    if (const std::string wrong = FaultOf(compiled, *compiled.context, computes_in); !wrong.empty())
      return "a context from before set_option, when others have been compiled since: " + wrong;
  return "";
}

// Options that change while a context exists: each value is in force afterwards, or the old one after a failure, and
// runs stay right.
void CheckSettable(TestRun& run, const std::vector<Case>& cases) {
  const auto [opened, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  Plugin& plugin = *opened;
  const std::vector<Compiled> compiled = SomeCompiled(*instance, cases);
  const deputy_ext_options* options = OptionsOf(plugin, instance->delegate());
  bool any = false;
  for (const deputy_option_info* info : SchemaOf(plugin, instance->delegate())) {
    if (info == nullptr || (info->flags & DEPUTY_OPTION_SETTABLE) == 0) continue;
    if (!DEPUTY_HAS_FN(options, deputy_ext_options, set_option)) continue;  // options.schema says so
    any = true;
    std::string before, after, why_not;
    for (const std::string& value : Samples(*info)) {
      const std::string subject = TextOf(info->name) + "=" + value;
      if (!ReadBack(plugin, *instance, info->name, &before, &why_not)) break;  // options.defaults says so
      const Outcome outcome = SetOption(plugin, *instance, TextOf(info->name), value);
      const bool read = ReadBack(plugin, *instance, info->name, &after, &why_not);
      if (!read)
        run.Failed(subject, "it cannot be read back: " + why_not);
      else if (!outcome.ok() && outcome.code != DEPUTY_UNAVAILABLE)
        run.Failed(subject, "its schema allows the value, set_option refuses it: " + outcome.ToString());
      else if (!outcome.ok() && after != before)
        run.Failed(subject, "set_option fails, and the value in force changes to '" + after + "'");
      else if (outcome.ok() && info->type != DEPUTY_OPTION_FREQUENCY && after != value)
        run.Failed(subject, "set_option succeeds, and in force is '" + after + "'");
      const std::string wrong = FaultAfterSet(*instance, compiled, cases, run.settings().computes_in);
      if (!wrong.empty()) run.Failed(subject, wrong);
    }
  }
  if (!any) run.Skipped("no option is settable");
  run.NoFaults(plugin, "");
}

}  // namespace

std::vector<Test> OptionResultTests(const std::vector<Case>& cases) {
  return {{"options.results", With(CheckResults, cases)}, {"options.settable", With(CheckSettable, cases)}};
}

}  // namespace deputy::conformance
