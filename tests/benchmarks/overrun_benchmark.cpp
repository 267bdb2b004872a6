// How long after its deadline a run ends that is in the middle of one long node of the CPU: `late_ms`, the most of all
// iterations. A node that is done before the deadline is an error. The argument is the number of threads.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/cancellation.hpp"
#include "cpu/delegate.hpp"
#include "execute/execution.hpp"
#include "graph/inference.hpp"
#include "plan/make_plan.hpp"
#include "support/test_graph.hpp"

namespace deputy::host::benchmarks {
namespace {

constexpr uint64_t kDeadlineMs = 60;

using Dims = std::vector<int64_t>;

struct Operand {
  Dims dims;
  DType dtype = DType::kFloat32;  // undefined: left out
  bool constant = false;
  Dims values = {};  // of a constant of int64; empty: drawn
};

Operand Drawn(Dims dims, DType dtype = DType::kFloat32) { return {std::move(dims), dtype}; }
Operand Weights(Dims dims, DType dtype = DType::kFloat32) { return {std::move(dims), dtype, true}; }
Operand Fixed(Dims values) { return {{static_cast<int64_t>(values.size())}, DType::kInt64, true, std::move(values)}; }
Operand LeftOut() { return {{}, DType::kUndefined}; }

struct Case {
  const char* name;
  PrimitiveBuilder node;
  std::vector<Operand> inputs;
  size_t outputs = 1;
};

// Small numbers of every type that differ from one another.
Tensor Fill(const Operand& operand) {
  if (!operand.values.empty()) return *Tensor::FromValues<int64_t>(DType::kInt64, operand.dims, operand.values);
  Tensor tensor = *Tensor::Allocate(operand.dtype, operand.dims);
  void* const data = tensor.mutable_data();
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    const int64_t drawn = i * 7919 % 1009;
    const double real = static_cast<double>(drawn - 504) / 504;
    if (operand.dtype == DType::kFloat32)
      static_cast<float*>(data)[i] = static_cast<float>(real);
    else if (operand.dtype == DType::kFloat64)
      static_cast<double*>(data)[i] = real;
    else if (operand.dtype == DType::kInt64)
      static_cast<int64_t*>(data)[i] = drawn;
    else
      static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(operand.dtype == DType::kBool ? drawn % 2 : drawn);
  }
  return tensor;
}

Status Measure(benchmark::State& state, const Case& one) {
  Graph graph;
  std::vector<ValueId> reads, writes;
  std::vector<Tensor> inputs, outputs;
  for (const Operand& operand : one.inputs) {
    const std::string name = "x" + std::to_string(reads.size());
    if (operand.dtype == DType::kUndefined) {
      reads.push_back(kNone);
    } else if (operand.constant) {
      reads.push_back(graph.AddConstant(name, Fill(operand)));
    } else {
      reads.push_back(graph.AddValue(name, {operand.dtype, true, operand.dims}));
      graph.inputs.push_back(reads.back());
      inputs.push_back(Fill(operand));
    }
  }
  for (size_t i = 0; i < one.outputs; ++i) writes.push_back(graph.AddValue("y" + std::to_string(i)));
  graph.outputs = writes;
  graph.nodes = {MakeNode(one.node, std::move(reads), writes, one.name)};
  DEPUTY_RETURN_IF_ERROR(InferGraph(graph, {}));
  const std::vector<HostedDelegate> delegates = {
      MakeCpuDelegate(std::make_shared<ThreadPool>(static_cast<uint32_t>(state.range(0))))};
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const Plan> plan,
                          MakePlan(std::make_shared<Graph>(std::move(graph)), delegates, {}));
  DEPUTY_ASSIGN_OR_RETURN(const std::unique_ptr<Execution> execution, Execution::Create(plan));
  for (size_t i = 0; i < inputs.size(); ++i) execution->Bind(plan->graph->inputs[i], inputs[i].mutable_data());
  for (const ValueId id : plan->graph->outputs) {
    if (plan->slots[id].storage != StorageClass::kBound) continue;
    outputs.push_back(*Tensor::Allocate(plan->slots[id].dtype, plan->slots[id].dims));
    execution->Bind(id, outputs.back().mutable_data());
  }
  double late_ms = 0;
  for (auto _ : state) {
    const CancellationToken token{NowNs() + kDeadlineMs * 1'000'000, nullptr};
    Status status = execution->Run(token);
    const uint64_t now = NowNs();
    if (status.ok()) return Error(StatusCode::kFailedPrecondition, "it was done before the deadline");
    if (status.code() != StatusCode::kDeadlineExceeded) return status;
    late_ms = std::max(late_ms, static_cast<double>(now - std::min(now, token.deadline_ns)) / 1e6);
  }
  state.counters["late_ms"] = late_ms;
  return {};
}

PrimitiveBuilder Op(const char* name, int32_t version) { return PrimitiveBuilder("", name, version); }

std::vector<Case> Cases() {
  constexpr DType kByte = DType::kUint8, kInt64 = DType::kInt64;
  const auto recurrent = [](const char* op, int64_t hidden) { return Op(op, 14).Set("hidden_size", hidden); };
  const Operand large = Drawn({6000, 6000}), bytes = Drawn({6000, 6000}, kByte), row = Drawn({100'000'000});
  const Operand rows = Drawn({10'000, 10'000}), image = Drawn({1, 256, 256, 256}), planes = Drawn({1, 8, 1024, 1024});
  return {
      {"MatMul", Op("MatMul", 13), {large, large}},
      {"MatMul/tall", Op("MatMul", 13), {Drawn({100, 100'000}), Drawn({100'000, 1000})}},
      {"MatMul/weights", Op("MatMul", 13), {Drawn({40'000, 2000}), Weights({2000, 2000})}},
      {"MatMul/double", Op("MatMul", 13), {Drawn({4000, 4000}, DType::kFloat64), Drawn({4000, 4000}, DType::kFloat64)}},
      {"MatMul/vector", Op("MatMul", 13), {Drawn({20'000, 20'000}), Drawn({20'000, 1})}},
      {"MatMulInteger", Op("MatMulInteger", 10), {bytes, bytes}},
      {"Gemm", Op("Gemm", 13), {large, large}},
      {"Conv/3x3", Op("Conv", 11), {image, Weights({256, 256, 3, 3})}},
      {"Conv/1x1", Op("Conv", 11), {Drawn({1, 1024, 128, 128}), Weights({2048, 1024, 1, 1})}},
      {"Conv/7x7", Op("Conv", 11), {Drawn({1, 128, 256, 256}), Drawn({128, 128, 7, 7})}},
      {"Conv/63x63", Op("Conv", 11), {Drawn({1, 1, 2000, 2000}), Drawn({8, 1, 63, 63})}},
      {"Conv/depthwise",
       Op("Conv", 11).Set("group", int64_t{64}),
       {Drawn({1, 64, 512, 512}), Weights({64, 1, 21, 21})}},
      {"Conv/1d", Op("Conv", 11), {Drawn({1, 64, 1'000'000}), Weights({64, 64, 15})}},
      {"Conv/3d", Op("Conv", 11), {Drawn({1, 32, 64, 64, 64}), Weights({32, 32, 5, 5, 5})}},
      {"ConvTranspose", Op("ConvTranspose", 11), {Drawn({1, 256, 128, 128}), Drawn({256, 256, 5, 5})}},
      {"ConvInteger", Op("ConvInteger", 10), {Drawn({1, 256, 256, 256}, kByte), Drawn({256, 256, 3, 3}, kByte)}},
      {"DeformConv", Op("DeformConv", 19), {Drawn({1, 64, 256, 256}), Drawn({64, 64, 3, 3}), Drawn({1, 18, 254, 254})}},
      {"LSTM", recurrent("LSTM", 512), {Drawn({2000, 4, 512}), Drawn({1, 2048, 512}), Drawn({1, 2048, 512})}},
      {"LSTM/wide", recurrent("LSTM", 1024), {Drawn({10, 4000, 1024}), Drawn({1, 4096, 1024}), Drawn({1, 4096, 1024})}},
      {"GRU", recurrent("GRU", 512), {Drawn({4000, 4, 512}), Drawn({1, 1536, 512}), Drawn({1, 1536, 512})}},
      {"Attention", Op("Attention", 23), {Drawn({1, 8, 6000, 64}), Drawn({1, 8, 6000, 64}), Drawn({1, 8, 6000, 64})}},
      {"Attention/one",
       Op("Attention", 23),
       {Drawn({1, 1, 20'000, 64}), Drawn({1, 1, 20'000, 64}), Drawn({1, 1, 20'000, 64})}},
      {"Einsum",
       Op("Einsum", 12).Set("equation", std::string("ij,jk->ik")),
       {Drawn({4000, 4000}), Drawn({4000, 4000})}},
      {"Einsum/three",
       Op("Einsum", 12).Set("equation", std::string("ia,ja,ka->ijk")),
       {Drawn({200, 300}), Drawn({200, 300}), Drawn({200, 300})}},
      {"Softmax", Op("Softmax", 13), {rows}},
      {"Softmax/columns", Op("Softmax", 13).Set("axis", int64_t{0}), {rows}},
      {"Softmax/one", Op("Softmax", 13), {row}},
      {"ReduceLogSumExp", Op("ReduceLogSumExp", 18), {Drawn({20'000, 10'000})}},
      {"LayerNormalization", Op("LayerNormalization", 17), {Drawn({1, 300'000'000}), Drawn({300'000'000})}},
      {"InstanceNormalization",
       Op("InstanceNormalization", 6),
       {Drawn({1, 2, 10'000, 10'000}), Drawn({2}), Drawn({2})}},
      {"LpNormalization", Op("LpNormalization", 1).Set("axis", int64_t{0}), {row}},
      {"Erf", Op("Erf", 13), {row}},
      {"Pow", Op("Pow", 15), {row, row}},
      {"Sin", Op("Sin", 7), {row}},
      {"Mod", Op("Mod", 13), {Drawn({100'000'000}, kInt64), Drawn({}, kInt64)}},
      {"Transpose", Op("Transpose", 13), {Drawn({16'000, 16'000})}},
      {"CumSum", Op("CumSum", 14), {row, Fixed({0})}},
      {"MaxPool", Op("MaxPool", 12).Set("kernel_shape", Dims{101, 101}), {planes}},
      {"AveragePool", Op("AveragePool", 11).Set("kernel_shape", Dims{101, 101}), {planes}},
      {"GlobalLpPool", Op("GlobalLpPool", 2).Set("p", int64_t{3}), {Drawn({1, 2, 10'000, 5000})}},
      {"LRN", Op("LRN", 13).Set("size", int64_t{63}), {Drawn({1, 256, 400, 400})}},
      {"Unique",
       Op("Unique", 11),
       {
           Drawn({40'000'000}),
       }},
      {"Unique/rows", Op("Unique", 11).Set("axis", int64_t{0}), {Drawn({4'000'000, 8})}},
      {"NonZero", Op("NonZero", 13), {Drawn({100, 100, 100, 100})}},
      {"Compress", Op("Compress", 11), {Drawn({200'000'000}), Drawn({200'000'000}, DType::kBool)}},
      {"Det", Op("Det", 11), {Drawn({3000, 3000})}},
      {"TopK", Op("TopK", 11), {row, Fixed({1'000'000})}, 2},
      {"TopK/all", Op("TopK", 11), {Drawn({20'000'000}), Fixed({20'000'000})}, 2},
      {"ArgMax", Op("ArgMax", 13).Set("axis", int64_t{0}), {Drawn({400'000'000})}},
      {"GridSample",
       Op("GridSample", 16).Set("mode", std::string("bicubic")),
       {Drawn({1, 16, 256, 256}), Drawn({1, 1024, 1024, 2})}},
      {"Gather", Op("Gather", 13), {Drawn({1009, 1000}), Drawn({300'000}, kInt64)}},
      {"GatherElements", Op("GatherElements", 13), {Drawn({1009, 100'000}), Drawn({1009, 100'000}, kInt64)}},
      {"ScatterElements",
       Op("ScatterElements", 18).Set("reduction", std::string("add")),
       {Drawn({1009, 40'000}), Drawn({1009, 40'000}, kInt64), Drawn({1009, 40'000})}},
      {"ScatterND", Op("ScatterND", 18), {Drawn({1009}), Drawn({50'000'000, 1}, kInt64), Drawn({50'000'000})}},
      {"OneHot", Op("OneHot", 11), {Drawn({200'000}, kInt64), Fixed({1009}), Fixed({0, 1})}},
      {"RoiAlign",
       Op("RoiAlign", 16)
           .Set("output_height", int64_t{50})
           .Set("output_width", int64_t{50})
           .Set("sampling_ratio", int64_t{32}),
       {Drawn({1009, 8, 20, 20}), Drawn({200, 4}), Drawn({200}, kInt64)}},
      {"Resize",
       Op("Resize", 13).Set("mode", std::string("cubic")),
       {Drawn({1, 4, 500, 500}), LeftOut(), LeftOut(), Fixed({1, 4, 5000, 5000})}},
      {"DequantizeLinear", Op("DequantizeLinear", 13), {Drawn({400'000'000}, kByte), Drawn({})}},
      {"Concat", Op("Concat", 13).Set("axis", int64_t{0}), {Drawn({200'000'000}), Drawn({200'000'000})}},
      {"Expand", Op("Expand", 13), {Drawn({1, 1000}), Fixed({400'000, 1000})}},
      {"Tile", Op("Tile", 13), {Drawn({1000, 1000}), Fixed({20, 20})}},
      {"RandomNormalLike", Op("RandomNormalLike", 1), {row}},
      {"Multinomial", Op("Multinomial", 7).Set("sample_size", int64_t{20'000'000}), {Drawn({1, 1000})}},
      {"DFT", Op("DFT", 20), {Drawn({1, 1 << 24, 1})}},
      {"DFT/prime", Op("DFT", 20), {Drawn({1, 7'999'993, 1})}},
      {"STFT", Op("STFT", 17), {Drawn({1, 20'000'000, 1}), Fixed({512}), LeftOut(), Fixed({2048})}},
      {"SpaceToDepth", Op("SpaceToDepth", 13).Set("blocksize", int64_t{4}), {Drawn({1, 4, 8000, 8000})}},
      {"Trilu", Op("Trilu", 14), {Drawn({20'000, 20'000})}},
  };
}

int Register() {
  for (const Case& one : Cases())
    benchmark::RegisterBenchmark(("Overrun/" + std::string(one.name)).c_str(),
                                 [one](benchmark::State& state) {
                                   const Status status = Measure(state, one);
                                   if (!status.ok()) state.SkipWithError(status.ToString().c_str());
                                 })
        ->Arg(1)
        ->Arg(2)
        ->Iterations(3)
        ->Unit(benchmark::kMillisecond);
  return 0;
}

[[maybe_unused]] const int registered = Register();

}  // namespace
}  // namespace deputy::host::benchmarks
