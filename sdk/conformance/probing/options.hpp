// The options that a delegate publishes, and values that their schema allows.
#pragma once

#include <string>
#include <vector>

#include "deputy/abi/ext/options.h"
#include "instance.hpp"
#include "plugin.hpp"

namespace deputy::conformance {

// NULL for a delegate without options.
const deputy_ext_options* OptionsOf(Plugin& plugin, const deputy_delegate* delegate);
// One entry for each option; NULL where the delegate gives none.
std::vector<const deputy_option_info*> SchemaOf(Plugin& plugin, const deputy_delegate* delegate);
std::vector<std::string> ChoicesOf(const deputy_option_info& info);
// "" when `value` is one that the schema allows; otherwise the fault: "is out of range".
std::string FaultOfValue(const deputy_option_info& info, const std::string& value);
// Values of every kind that the schema allows, in the form in which they arrive in open.
std::vector<std::string> Samples(const deputy_option_info& info);

// The value in force; false and the reason.
bool ReadBack(Plugin& plugin, Instance& instance, const deputy_str& name, std::string* value, std::string* why_not);
// Of a delegate whose table has set_option.
Outcome SetOption(Plugin& plugin, Instance& instance, const std::string& name, const std::string& value);

}  // namespace deputy::conformance
