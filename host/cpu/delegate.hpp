// `cpu`: the fallback. A delegate like any other, always last, whose partitions are single nodes.
#pragma once

#include <memory>

#include "base/thread_pool.hpp"
#include "delegate/delegate.hpp"
#include "graph/inference.hpp"

namespace deputy::host {

// Threads of `pool` are shared with everything else that the host runs.
std::shared_ptr<Delegate> MakeCpuDelegate(std::shared_ptr<ThreadPool> pool);

// Folding's evaluator: computes a node on the calling thread, with the same kernels.
Evaluator MakeCpuEvaluator();

}  // namespace deputy::host
