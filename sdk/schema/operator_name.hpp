// The names in operators.inc of operators of a domain other than ONNX's own: Domain_Operator.
#pragma once

#include <string_view>

namespace deputy::schema {

// The operator's type, as in models: "Attention" of "Attention" and of "Microsoft_Attention". [any-thread]
constexpr std::string_view OperatorType(std::string_view name) { return name.substr(name.find('_') + 1); }

}  // namespace deputy::schema
