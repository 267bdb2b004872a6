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

namespace deputy::host {

inline Node MakeNode(const PrimitiveBuilder& builder, std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
  Node node;
  node.primitive = builder.Finish();
  node.name = node.primitive.op_type();
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

inline Node MakeNode(const char* op, int32_t version, std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
  return MakeNode(PrimitiveBuilder("", op, version), std::move(inputs), std::move(outputs));
}

inline ValueType FloatType(std::vector<int64_t> dims) { return {DType::kFloat32, true, std::move(dims)}; }

class CpuPlanTest : public testing::Test {
 protected:
  Status Prepare(Graph graph) {
    DEPUTY_RETURN_IF_ERROR(VerifyGraph(graph));
    DEPUTY_RETURN_IF_ERROR(InferGraph(graph, {}));
    PlacementOptions options;
    options.delegates.resize(1);
    const std::shared_ptr<Delegate> delegates[] = {MakeCpuDelegate(std::make_shared<ThreadPool>(1))};
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
