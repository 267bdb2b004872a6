// Deputy: a host for neural-network inference delegates. The whole C++ API, except process.hpp, which is for programs.
#pragma once

#include "deputy/bundle.hpp"        // IWYU pragma: export
#include "deputy/cache.hpp"         // IWYU pragma: export
#include "deputy/config.hpp"        // IWYU pragma: export
#include "deputy/context.hpp"       // IWYU pragma: export
#include "deputy/health.hpp"        // IWYU pragma: export
#include "deputy/inspect.hpp"       // IWYU pragma: export
#include "deputy/installation.hpp"  // IWYU pragma: export
#include "deputy/model.hpp"         // IWYU pragma: export
#include "deputy/model_value.hpp"   // IWYU pragma: export
#include "deputy/output_file.hpp"   // IWYU pragma: export
#include "deputy/placed_graph.hpp"  // IWYU pragma: export
#include "deputy/placement.hpp"     // IWYU pragma: export
#include "deputy/plugins.hpp"       // IWYU pragma: export
#include "deputy/printable.hpp"     // IWYU pragma: export
#include "deputy/profile.hpp"       // IWYU pragma: export
#include "deputy/progress.hpp"      // IWYU pragma: export
#include "deputy/quarantine.hpp"    // IWYU pragma: export
#include "deputy/status.hpp"        // IWYU pragma: export
#include "deputy/tensor.hpp"        // IWYU pragma: export
#include "deputy/tensor_file.hpp"   // IWYU pragma: export
#include "deputy/version.hpp"       // IWYU pragma: export
