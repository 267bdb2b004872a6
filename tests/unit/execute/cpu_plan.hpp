// A plan over the CPU alone, run by hand: what the tests of executions share.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "cpu/delegate.hpp"
#include "execute/execution.hpp"
#include "graph/graph.hpp"
#include "graph/inference.hpp"
#include "plan/make_plan.hpp"
#include "support/test_graph.hpp"

namespace deputy::host {

inline ValueType FloatType(std::vector<int64_t> dims) { return {DType::kFloat32, true, std::move(dims)}; }

class CpuPlanTest : public testing::Test {
 protected:
  // On as many delegates as `options` has limits for, each of which is the CPU, by default one; `first`, if there is
  // one, is the first of them.
  Status Prepare(Graph graph, PlacementOptions options = {}, std::shared_ptr<Delegate> first = nullptr) {
    if (options.delegates.empty()) options.delegates.resize(first == nullptr ? 1 : 2);
    DEPUTY_RETURN_IF_ERROR(VerifyGraph(graph));
    DEPUTY_RETURN_IF_ERROR(InferGraph(graph, {}));
    std::vector<std::shared_ptr<Delegate>> delegates;
    if (first != nullptr) delegates.push_back(std::move(first));
    while (delegates.size() < options.delegates.size())
      delegates.push_back(MakeCpuDelegate(std::make_shared<ThreadPool>(1)));
    DEPUTY_ASSIGN_OR_RETURN(plan_, MakePlan(std::make_shared<Graph>(std::move(graph)), delegates, options));
    DEPUTY_ASSIGN_OR_RETURN(execution_, Execution::Create(plan_));
    return {};
  }
  std::vector<float> Values(ValueId id) const {
    const deputy_tensor& tensor = execution_->tensor(id);
    const float* data = static_cast<const float*>(tensor.data);
    return {data, data + tensor.byte_size / sizeof(float)};
  }
  std::vector<int64_t> Dims(ValueId id) const {
    const deputy_tensor& tensor = execution_->tensor(id);
    return {tensor.dims, tensor.dims + tensor.rank};
  }

  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<Execution> execution_;
};

}  // namespace deputy::host
