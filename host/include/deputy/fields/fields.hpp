// The fields of reports and options, each listed once, by their names in the C API (deputy.h) and in JSON.
//
// Describe(visitor, object) calls visitor(name, member) for each field, in a fixed order. Names only grow: a field is
// never renamed or given another meaning (tests/capi/golden_test.py).
#pragma once

#include "deputy/fields/bundle.hpp"
#include "deputy/fields/cache.hpp"
#include "deputy/fields/compare.hpp"
#include "deputy/fields/config.hpp"
#include "deputy/fields/context.hpp"
#include "deputy/fields/health.hpp"
#include "deputy/fields/inspect.hpp"
#include "deputy/fields/installation.hpp"
#include "deputy/fields/model.hpp"
#include "deputy/fields/placed_graph.hpp"
#include "deputy/fields/placement.hpp"
#include "deputy/fields/plugins.hpp"
#include "deputy/fields/profile.hpp"
#include "deputy/fields/progress.hpp"
#include "deputy/fields/quarantine.hpp"
#include "deputy/fields/verification.hpp"
