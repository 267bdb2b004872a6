// The one header that a delegate includes.
#pragma once

#include "deputy/sdk/delegate.hpp"
#include "deputy/sdk/export.hpp"
#include "deputy/sdk/in_process.hpp"
#include "deputy/sdk/operator_checks.hpp"
#include "deputy/sdk/operators.hpp"
#include "deputy/sdk/partition_delegate.hpp"
#include "deputy/sdk/partition_helpers.hpp"
