// `cpu`: the fallback. An ordinary delegate, always last in order; its partitions are single nodes.
#pragma once

#include <memory>

#include "base/thread_pool.hpp"
#include "delegate/delegate.hpp"
#include "graph/inference.hpp"

namespace deputy::host {

// The host shares the threads of `pool` with other work.
std::shared_ptr<Delegate> MakeCpuDelegate(std::shared_ptr<ThreadPool> pool);

// Folding's evaluator: computes a node on the calling thread, with the same kernels.
Evaluator MakeCpuEvaluator();

}  // namespace deputy::host
