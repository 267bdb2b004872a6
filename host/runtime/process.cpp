// deputy/process.hpp: calls the host's monitors of plugins.
#include "deputy/process.hpp"

#include "plugin/checks/process_end.hpp"

namespace deputy {

void ReportFatalSignals() { host::ReportFatalSignals(); }

void RefuseExit(int status) { host::RefuseExit(status); }

void AcceptExit() { host::AcceptExit(); }

void CheckExit(const void* caller) noexcept { host::CheckExit(caller); }

}  // namespace deputy
