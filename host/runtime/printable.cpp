// deputy::Printable: the host's function, for programs.
#include "deputy/printable.hpp"

#include "base/printable.hpp"

namespace deputy {

std::string Printable(std::string_view text, size_t limit) { return host::Printable(text, limit); }

}  // namespace deputy
