// Functions of deputy/process.hpp for programs, on the C API.
#pragma once

#include "deputy.h"
#include "deputy/process.hpp"

namespace deputy {

inline void ReportFatalSignals() { DeputyReportFatalSignals(); }
inline void RefuseExit(int status) { DeputyRefuseExit(status); }
inline void AcceptExit() { DeputyAcceptExit(); }
inline void CheckExit(const void* caller) noexcept { DeputyCheckExit(caller); }

}  // namespace deputy
