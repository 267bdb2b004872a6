// The options of a delegate: a consistent schema, every value of it accepted, and read back.
#include "probing/options.hpp"

#include <set>

#include "case_run.hpp"
#include "test.hpp"
#include "text.hpp"

namespace deputy::conformance {
namespace {

void CheckSchema(TestRun& run) {
  const std::unique_ptr<Plugin> plugin = run.Load();
  if (plugin == nullptr) return;
  const deputy_delegate* delegate = run.Delegate(*plugin);
  if (delegate == nullptr) return;
  if (OptionsOf(*plugin, delegate) == nullptr) return run.Skipped("it has no options");
  std::set<std::string> names;
  for (const deputy_option_info* info : SchemaOf(*plugin, delegate)) {
    if (info == nullptr || !DEPUTY_HAS(info, deputy_option_info, reserved)) {
      run.Failed("", "option_at gives no option, or one that is too small");
      continue;
    }
    const std::string name = TextOf(info->name);
    const auto wrong = [&](const std::string& text) { run.Failed(name, text); };
    if (!FaultOf(info->name, false).empty()) wrong("the name " + FaultOf(info->name, false));
    if (!FaultOf(info->help, false).empty()) wrong("the help " + FaultOf(info->help, false));
    if (!FaultOf(info->unit, true).empty()) wrong("the unit " + FaultOf(info->unit, true));
    if (!FaultOf(info->default_value, true).empty()) wrong("the default " + FaultOf(info->default_value, true));
    if (!names.insert(name).second) wrong("the name occurs twice");
    if (info->type < DEPUTY_OPTION_BOOL || info->type > DEPUTY_OPTION_FREQUENCY) wrong("the type is unknown");
    if (info->minimum > info->maximum || info->int_minimum > info->int_maximum)
      wrong("the minimum is larger than the maximum");
    if (info->type == DEPUTY_OPTION_ENUM && ChoicesOf(*info).empty()) wrong("there are no choices");
    if (info->type == DEPUTY_OPTION_FREQUENCY) {
      if (info->minimum < 0) wrong("the minimum is no clock");
      if (!TextOf(info->unit).empty() && TextOf(info->unit) != "Hz")
        wrong("the unit is '" + TextOf(info->unit) + "': limits of a frequency are in hertz");
    }
    for (const std::string& choice : ChoicesOf(*info))
      if (choice.empty() || !IsUtf8(choice)) wrong("a choice is empty or not UTF-8");
    if ((info->flags & ~uint32_t{DEPUTY_OPTION_SETTABLE}) != 0) wrong("the flags are unknown");
    if ((info->flags & DEPUTY_OPTION_SETTABLE) != 0 &&
        !DEPUTY_HAS_FN(OptionsOf(*plugin, delegate), deputy_ext_options, set_option))
      wrong("it is settable, but the table has no set_option");
    const std::string fault = FaultOfValue(*info, TextOf(info->default_value));
    if (!fault.empty()) wrong("the default '" + TextOf(info->default_value) + "' " + fault);
  }
  run.NoFaults(*plugin, "");
}

bool IsSet(const Settings& settings, const std::string& name) {
  for (const auto& [key, value] : settings.options)
    if (key == name) return true;
  return false;
}

void CheckDefaults(TestRun& run) {
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  const std::vector<const deputy_option_info*> schema = SchemaOf(*plugin, instance->delegate());
  if (schema.empty()) return run.Skipped("it has no options");
  for (const deputy_option_info* info : schema) {
    if (info == nullptr) continue;  // options.schema says so
    const std::string name = TextOf(info->name);
    std::string value, why_not;
    if (!ReadBack(*plugin, *instance, info->name, &value, &why_not)) {
      run.Failed(name, "it cannot be read back: " + why_not);
      continue;
    }
    if (const std::string fault = FaultOfValue(*info, value); !fault.empty())
      run.Failed(name, "in force is '" + value + "', which " + fault);
    if (IsSet(run.settings(), name) || info->type == DEPUTY_OPTION_FREQUENCY) continue;  // the granted value may differ
    if (value != TextOf(info->default_value))
      run.Failed(name, "the default is '" + TextOf(info->default_value) + "', in force is '" + value + "'");
  }
  const deputy_ext_options* options = OptionsOf(*plugin, instance->delegate());
  char one = 0x5a;
  uint64_t size = 0;
  const Outcome unknown = plugin->Call("get_option", [&, handle = instance->handle()] {
    return options->get_option(handle, StrOf("no such option"), &one, 1, &size);
  });
  if (unknown.code != DEPUTY_NOT_FOUND) run.Failed("", "an unknown option is answered with: " + unknown.ToString());
  std::string value, ignored;
  if (schema[0] != nullptr && ReadBack(*plugin, *instance, schema[0]->name, &value, &ignored) && !value.empty()) {
    char guarded[2] = {0x5a, 0x5a};
    const Outcome small = plugin->Call("get_option", [&, handle = instance->handle()] {
      return options->get_option(handle, schema[0]->name, guarded, 1, &size);
    });
    if (small.code != DEPUTY_OUT_OF_MEMORY)
      run.Failed("", "a buffer that is too small is answered with: " + small.ToString());
    if (guarded[1] != 0x5a) run.Failed("", "get_option writes beyond the buffer");
    if (size != value.size()) run.Failed("", "the size is not told when the buffer is too small");
  }
  run.NoFaults(*plugin, "");
}

void CheckValues(TestRun& run) {
  const auto [plugin, plain] = run.LoadAndOpen();
  if (plain == nullptr) return;
  const std::vector<const deputy_option_info*> schema = SchemaOf(*plugin, plain->delegate());
  if (schema.empty()) return run.Skipped("it has no options");
  for (const deputy_option_info* info : schema) {
    if (info == nullptr) continue;
    const std::string name = TextOf(info->name);
    for (const std::string& value : Samples(*info)) {
      OptionList options = run.settings().options;
      options.emplace_back(name, value);
      Outcome outcome;
      const std::unique_ptr<Instance> instance = Instance::Open(*plugin, plain->delegate(), options, &outcome);
      const std::string subject = name + "=" + value;
      if (instance == nullptr) {
        run.Failed(subject, "its schema allows the value, open refuses it: " + outcome.ToString());
        continue;
      }
      std::string in_force, why_not;
      if (!ReadBack(*plugin, *instance, info->name, &in_force, &why_not))
        run.Failed(subject, "it cannot be read back: " + why_not);
      else if (info->type != DEPUTY_OPTION_FREQUENCY && in_force != value)
        run.Failed(subject, "in force is '" + in_force + "'");
      else if (const std::string fault = FaultOfValue(*info, in_force); !fault.empty())
        run.Failed(subject, "in force is '" + in_force + "', which " + fault);
      else
        run.Passed(subject);
    }
  }
  run.NoFaults(*plugin, "");
}

}  // namespace

std::vector<Test> OptionTests() {
  return {{"options.schema", CheckSchema}, {"options.defaults", CheckDefaults}, {"options.values", CheckValues}};
}

}  // namespace deputy::conformance
