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
  // On `cpus` delegates, each of which is the CPU, behind `first`, if there is one.
  Status Prepare(Graph graph, const PlacementOptions& options = {}, std::shared_ptr<Delegate> first = nullptr,
                 size_t cpus = 1) {
    DEPUTY_RETURN_IF_ERROR(VerifyGraph(graph));
    DEPUTY_RETURN_IF_ERROR(InferGraph(graph, {}));
    std::vector<HostedDelegate> delegates;
    if (first != nullptr) delegates.emplace_back(std::move(first));
    for (size_t i = 0; i < cpus; ++i) delegates.emplace_back(MakeCpuDelegate(std::make_shared<ThreadPool>(1)));
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
