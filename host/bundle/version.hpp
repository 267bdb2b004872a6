// The order of the versions of bundles.
#pragma once

#include <string_view>

namespace deputy::host::bundle {

// Of ASCII, in names and versions.
inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
inline bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Less than, equal to or greater than 0 as `a` is lower than, as high as or higher than `b`. Runs of digits are
// compared as numbers, and a missing one counts as 0 ("1.10" > "1.9", "1.2" = "1.2.0"). A pre-release is lower than its
// release: letters after '-' ("1.2-rc1"), everything after '~', and the words alpha, beta, dev, pre, preview, rc and
// snapshot. A revision is higher ("1.2-1" > "1.2"), then other letters ("1.2a", "1.2+git5"), then a further number
// ("1.2.1"). [any-thread]
int CompareVersions(std::string_view a, std::string_view b);

}  // namespace deputy::host::bundle
