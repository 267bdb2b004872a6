// The texts of enumerations in reports.
#pragma once

namespace deputy::fields {

// `kTexts` has those of the enumeration's values, from 0 on.
template <class E>
struct Names;

}  // namespace deputy::fields
