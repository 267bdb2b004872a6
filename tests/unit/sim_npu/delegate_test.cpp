// The simulated NPU through its plugin's table: what it computes, what it refuses and why, what its clock says.
#include <gtest/gtest.h>

#include <cmath>

#include "deputy/sdk/sdk.hpp"
#include "unit/sdk/fake_host.hpp"

extern "C" const deputy_plugin* deputy_plugin_query_v1(uint32_t host_abi, const void* reserved);

namespace {

using fake::PrimitiveBytes;
using Ints = std::vector<int64_t>;

const deputy_delegate* SimNpu() {
  const deputy_plugin* plugin = deputy_plugin_query_v1(DEPUTY_ABI_VERSION, nullptr);
  return plugin->delegate_at(plugin, 0);
}

int64_t Count(const Ints& dims) {
  int64_t count = 1;
  for (const int64_t extent : dims) count *= extent;
  return count;
}

// Numbers between -1 and 1 that halves hold exactly, the same in every run.
std::vector<float> Numbers(int64_t count, uint32_t seed) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    numbers.push_back(static_cast<float>(static_cast<int32_t>(seed >> 24) - 128) / 128.0f);
  }
  return numbers;
}

// One node on the device: values are added by the test, in the order of the node's inputs; the output comes last.
struct OneNode {
  fake::Host host;
  std::vector<deputy_value_id> inputs;
  std::vector<std::vector<float>> given;
  deputy_value_id output = 0;

  OneNode& Input(const Ints& dims) {
    inputs.push_back(host.AddValue("in" + std::to_string(inputs.size()), dims));
    given.push_back(Numbers(Count(dims), static_cast<uint32_t>(inputs.size())));
    return *this;
  }
  OneNode& Constant(const std::vector<float>& elements, const Ints& dims) {
    inputs.push_back(host.AddConstant("constant" + std::to_string(inputs.size()), elements, dims));
    return *this;
  }
  OneNode& Node(const std::string& type, uint32_t since, const Ints& out,
                std::function<void(PrimitiveBytes&)> attributes = {}) {
    output = host.AddValue("out", out);
    host.AddNode({type, inputs, {output}, true, since, std::move(attributes)});
    return *this;
  }

  fake::Host::Answer Ask() {
    fake::Opened opened(host, SimNpu(), {}, "sim-0");
    EXPECT_EQ(opened.QuerySupport(), nullptr);
    return host.answers[0];
  }

  std::vector<float> Run() {
    const fake::Host::Answer answer = Ask();
    EXPECT_EQ(answer.reason, deputy_reason{DEPUTY_REASON_SUPPORTED}) << answer.detail;
    fake::Opened opened(host, SimNpu(), {}, "sim-0");
    fake::Claim partition{{0}, {}, {output}, nullptr};
    for (const deputy_value_id id : inputs)
      if (!host.values[id].is_constant) partition.inputs.push_back(id);
    deputy_executable* executable = nullptr;
    deputy_context* context = nullptr;
    EXPECT_EQ(opened.Compile(partition, &executable), nullptr);
    EXPECT_EQ(fake::StatusPtr(SimNpu()->context_create(executable, &deputy::plain::kPlainContext, &context)), nullptr);
    std::vector<std::vector<float>> outputs{std::vector<float>(size_t(Count(host.values[output].dims)))};
    EXPECT_EQ(fake::Execute(SimNpu(), context, given, outputs), nullptr);
    SimNpu()->context_destroy(context);
    SimNpu()->executable_destroy(executable);
    return outputs[0];
  }
};

TEST(SimNpuDeadline, ARunEndsBeforeAStepThatIsTooLate) {
  OneNode node;
  node.Input({2, 3}).Node("Relu", 14, {2, 3});
  fake::Opened opened(node.host, SimNpu());
  deputy_executable* executable = nullptr;
  deputy_context* context = nullptr;
  ASSERT_EQ(opened.Compile({{0}, {node.inputs[0]}, {node.output}, nullptr}, &executable), nullptr);
  ASSERT_EQ(fake::StatusPtr(SimNpu()->context_create(executable, &deputy::plain::kPlainContext, &context)), nullptr);
  std::vector<std::vector<float>> outputs{std::vector<float>(6)};
  node.host.clock_ns = 11;
  const fake::StatusPtr late = fake::Execute(SimNpu(), context, node.given, outputs, /*deadline_ns=*/10);
  ASSERT_NE(late, nullptr);
  EXPECT_EQ(late->code, deputy_code{DEPUTY_DEADLINE_EXCEEDED});
  EXPECT_EQ(fake::Execute(SimNpu(), context, node.given, outputs, /*deadline_ns=*/12), nullptr);
  SimNpu()->context_destroy(context);
  SimNpu()->executable_destroy(executable);
}

TEST(SimNpu, FactorsAreHalvesAndTheirSumIsNot) {
  OneNode node;
  node.Input({1, 2}).Constant({60000.0f, 1.0f}, {2, 1}).Node("MatMul", 1, {1, 1});
  node.given[0] = {4.0f, 1.0f + 1.0f / 4096};
  EXPECT_EQ(node.Run()[0], 240001.0f);
}

TEST(SimNpu, FactorsBeyondHalfPrecisionSaturateUnlessTheyAreInfinite) {
  OneNode node;
  node.Input({2, 1}).Constant({2.0f}, {1, 1}).Node("MatMul", 1, {2, 1});
  node.given[0] = {1e6f, -INFINITY};
  EXPECT_EQ(node.Run(), (std::vector<float>{2 * 65504.0f, -INFINITY}));
}

TEST(SimNpu, VectorUnitKeepsFloat32) {
  OneNode node;
  node.Input({1, 2}).Constant({-10000.0f, 0.0f}, {2}).Node("Add", 7, {1, 2});
  node.given[0] = {10000.5f, -INFINITY};
  EXPECT_EQ(node.Run(), (std::vector<float>{0.5f, -INFINITY}));
}

struct Refusal {
  const char* name;
  deputy_reason reason;
  const char* detail;
  std::function<void(OneNode&)> build;
};
void PrintTo(const Refusal& r, std::ostream* out) { *out << r.name; }

class SimNpuRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(SimNpuRefuses, WithItsReason) {
  OneNode node;
  GetParam().build(node);
  const auto answer = node.Ask();
  EXPECT_EQ(answer.reason, GetParam().reason) << answer.detail;
  EXPECT_NE(answer.detail.find(GetParam().detail), std::string::npos) << answer.detail;
}

INSTANTIATE_TEST_SUITE_P(
    SimNpu, SimNpuRefuses,
    testing::Values(
        Refusal{"unknown_operator", DEPUTY_REASON_OPERATOR_UNKNOWN, "",
                [](OneNode& n) {
                  n.Input({1, 2}).Node("Exp", 1, {1, 2});
                }},
        Refusal{"open_extents", DEPUTY_REASON_SHAPE_DYNAMIC, "extents",
                [](OneNode& n) {
                  n.Input({1, 2});
                  n.host.values[0].dims = {-1, 2};
                  n.Node("Relu", 1, {1, 2});
                }},
        Refusal{"rank_3", DEPUTY_REASON_RANK, "rank 3",
                [](OneNode& n) {
                  n.Input({1, 2, 3}).Node("Relu", 1, {1, 2, 3});
                }},
        Refusal{"integers", DEPUTY_REASON_DTYPE, "int64",
                [](OneNode& n) {
                  n.Input({1, 2});
                  n.host.values[0].dtype = DEPUTY_DTYPE_INT64;
                  n.Node("Relu", 1, {1, 2});
                }},
        Refusal{"no_elements", DEPUTY_REASON_SHAPE, "no elements",
                [](OneNode& n) {
                  n.Input({0, 2}).Node("Relu", 1, {0, 2});
                }},
        Refusal{"large_kernel", DEPUTY_REASON_ATTRIBUTE, "kernel 13x13 is larger than 11x11",
                [](OneNode& n) {
                  n.Input({1, 1, 13, 13}).Constant(Numbers(169, 1), {1, 1, 13, 13}).Node("Conv", 1, {1, 1, 1, 1});
                }},
        Refusal{"large_dilation", DEPUTY_REASON_ATTRIBUTE, "dilation",
                [](OneNode& n) {
                  n.Input({1, 1, 19, 19}).Constant(Numbers(9, 1), {1, 1, 3, 3});
                  n.Node("Conv", 1, {1, 1, 1, 1}, [](auto& bytes) { bytes.Ints("dilations", {9, 9}); });
                }},
        Refusal{"weights_beyond_fp16", DEPUTY_REASON_OTHER, "fp16",
                [](OneNode& n) {
                  n.Input({1, 1}).Constant({1e6f}, {1, 1}).Node("MatMul", 1, {1, 1});
                }},
        Refusal{"infinite_halves", DEPUTY_REASON_OTHER, "fp16",
                [](OneNode& n) {
                  n.Input({1, 1}).Constant({INFINITY}, {1, 1}).Node("MatMul", 1, {1, 1});
                }},
        Refusal{"large_parameter", DEPUTY_REASON_RANK, "rank 5",
                [](OneNode& n) {
                  n.Input({1, 2}).Input({1, 1, 1, 1, 2}).Node("Concat", 4, {1, 2});
                }},
        Refusal{"old_broadcast", DEPUTY_REASON_ATTRIBUTE, "definition 7",
                [](OneNode& n) {
                  n.Input({1, 2}).Input({1, 2}).Node("Add", 6, {1, 2});
                }}),
    [](const auto& instance) { return std::string(instance.param.name); });

// A chain of products, large enough that arithmetic is most of the time.
struct Chain : fake::Host {
  Chain() {
    const auto weights = AddConstant("weights", Numbers(256 * 256, 5), {256, 256});
    auto last = AddValue("x", {64, 256});
    inputs = {last};
    for (int i = 0; i < 4; ++i) {
      const auto next = AddValue("v" + std::to_string(i), {64, 256});
      AddNode({"MatMul", {last, weights}, {next}});
      last = next;
    }
    outputs = {last};
  }
  fake::Claim partition() const { return {{0, 1, 2, 3}, inputs, outputs, nullptr}; }
};

deputy_device_state StateAfterOneRun(const std::string& frequency) {
  Chain chain;
  fake::Opened opened(chain, SimNpu(), {{"frequency", frequency}});
  deputy_executable* executable = nullptr;
  deputy_context* context = nullptr;
  EXPECT_EQ(opened.Compile(chain.partition(), &executable), nullptr);
  EXPECT_EQ(fake::StatusPtr(SimNpu()->context_create(executable, &deputy::plain::kPlainContext, &context)), nullptr);
  std::vector<std::vector<float>> outputs{std::vector<float>(64 * 256)};
  EXPECT_EQ(fake::Execute(SimNpu(), context, {Numbers(64 * 256, 6)}, outputs), nullptr);
  SimNpu()->context_destroy(context);
  SimNpu()->executable_destroy(executable);
  deputy_device_state state{};
  state.struct_size = sizeof state;
  const auto* control =
      static_cast<const deputy_ext_device_control*>(SimNpu()->get_extension(SimNpu(), DEPUTY_EXT_DEVICE_CONTROL));
  EXPECT_EQ(fake::StatusPtr(control->device_state(opened.instance(), &state)), nullptr);
  return state;
}

TEST(SimNpu, DeviceTimeScalesWithTheLevels) {
  const uint64_t low = StateAfterOneRun("1").busy_ns;
  for (uint64_t level = 2; level <= 4; ++level)
    EXPECT_NEAR(static_cast<double>(low), static_cast<double>(StateAfterOneRun(std::to_string(level)).busy_ns * level),
                4.0);
}

TEST(SimNpu, GrantsAStepBelowAnExplicitClock) {
  const deputy_device_state state = StateAfterOneRun("800000000Hz");
  EXPECT_EQ(state.frequency_granted_hz, 750'000'000u);
  EXPECT_EQ(state.level_granted, 0u);
  EXPECT_EQ(state.runs, 1u);
}

TEST(SimNpu, PartitionThatDoesNotFitItsMemoryIsNotSupported) {
  fake::Host host;
  const auto weights = host.AddConstant("weights", Numbers(1024 * 1024, 5), {1024, 1024});
  const auto x = host.AddValue("x", {1, 1024}), y = host.AddValue("y", {1, 1024});
  host.AddNode({"MatMul", {x, weights}, {y}});
  fake::Opened opened(host, SimNpu(), {{"memory", "1"}}, "sim-0");
  deputy_executable* executable = nullptr;
  const fake::StatusPtr failure = opened.Compile({{0}, {x}, {y}, nullptr}, &executable);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->code, DEPUTY_NOT_SUPPORTED);
  EXPECT_NE(failure->message.find("device memory"), std::string::npos);
}

TEST(SimNpu, OpenedWithoutTheDeviceCompilesAndRunsNothing) {
  fake::Host host;
  host.AddChain({"Relu"});
  for (fake::Value& value : host.values) value.dims = {2, 2};
  fake::Opened opened(host, SimNpu(), {}, "", DEPUTY_OPEN_COMPILE_ONLY);
  ASSERT_TRUE(opened.ok());
  deputy_executable* executable = nullptr;
  deputy_context* context = nullptr;
  ASSERT_EQ(opened.Compile({{0}, {0}, {1}, nullptr}, &executable), nullptr);
  const fake::StatusPtr refused(SimNpu()->context_create(executable, &deputy::plain::kPlainContext, &context));
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->code, deputy_code{DEPUTY_FAILED_PRECONDITION});
  EXPECT_EQ(context, nullptr);
  SimNpu()->executable_destroy(executable);
}

TEST(SimNpu, SaysThatItIsSimulated) { EXPECT_NE(SimNpu()->flags & DEPUTY_DELEGATE_SIMULATED, 0u); }

}  // namespace
