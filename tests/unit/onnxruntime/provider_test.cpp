// An execution provider's library (fixtures/ort_ep) with this plugin's tables: what it takes, computes, and how each of
// its faults ends.
#include "plugins/onnxruntime/provider.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "plugins/onnxruntime/own/device.hpp"
#include "unit/onnxruntime/calls.hpp"

namespace ort {
namespace {

using own::Part;

// x -> Add(x, w) -> a -> Relu -> b -> Sigmoid -> c, and Add(a, b) -> y. The Sigmoid is not the provider's.
class ProviderTest : public testing::Test {
 protected:
  ProviderTest() {
    x_ = host_.AddValue("x");
    a_ = host_.AddValue("a");
    b_ = host_.AddValue("b");
    c_ = host_.AddValue("c");
    y_ = host_.AddValue("y");
    w_ = host_.AddConstant("w", {-1, 2});
    host_.AddNode({"Add", {x_, w_}, {a_}});
    host_.AddNode({"Relu", {a_}, {b_}});
    host_.AddNode({"Sigmoid", {b_}, {c_}});
    host_.AddNode({"Add", {a_, b_}, {y_}});
    host_.inputs = {x_};
    host_.outputs = {c_, y_};
  }

  static ProviderSettings Settings(TextPairs options = {}) {
    ProviderSettings settings;
    settings.library = FIXTURE_ORT_EP;
    settings.options = std::move(options);
    return settings;
  }
  std::shared_ptr<Provider> Open(TextPairs options = {}) {
    auto provider = OpenOwn(sdk::Host(host_.table()), Settings(std::move(options)));
    EXPECT_TRUE(provider.ok()) << provider.status().message();
    return provider.ok() ? *provider : nullptr;
  }
  sdk::Status OpenFailure(const ProviderSettings& settings) {
    return OpenOwn(sdk::Host(host_.table()), settings).status();
  }

  // The nodes that the provider takes.
  Part Taken() { return Part(host_, {0, 1, 3}, {x_}, {b_, y_}); }
  sdk::Result<std::unique_ptr<sdk::Executable>> Compile(const std::string& misbehave) {
    return Open({{"misbehave", misbehave}})->Compile(Taken().view());
  }
  sdk::Status CompileFailure(const std::string& misbehave) { return Compile(misbehave).status(); }
  sdk::Status RunFailure(const std::string& misbehave) {
    auto executable = Compile(misbehave);
    EXPECT_TRUE(executable.ok()) << executable.status().message();
    return executable.ok() ? Run(**executable, {1, 2}, b_result_, y_result_) : executable.status();
  }

  static sdk::Status Run(sdk::Executable& executable, std::vector<float> x, std::vector<float>& b,
                         std::vector<float>& y) {
    auto context = executable.CreateContext();
    if (!context.ok()) return context.status();
    return Execute(**context, x, b, y);
  }
  static sdk::Status Execute(sdk::ExecutionContext& context, std::vector<float>& x, std::vector<float>& b,
                             std::vector<float>& y, std::vector<int64_t> dims = {2}) {
    b.assign(2, 99);
    y.assign(2, 99);
    deputy_tensor tensors[3] = {};
    std::vector<float>* data[] = {&x, &b, &y};
    for (size_t i = 0; i < 3; ++i) {
      tensors[i].struct_size = sizeof tensors[i];
      tensors[i].dtype = DEPUTY_DTYPE_FLOAT32;
      tensors[i].rank = static_cast<uint32_t>(dims.size());
      tensors[i].dims = dims.data();
      tensors[i].layout = DEPUTY_LAYOUT_DENSE;
      tensors[i].memory = DEPUTY_MEMORY_HOST;
      tensors[i].data = data[i]->data();
      tensors[i].byte_size = data[i]->size() * sizeof(float);
    }
    const deputy_tensor* inputs[] = {&tensors[0]};
    deputy_tensor* outputs[] = {&tensors[1], &tensors[2]};
    deputy_run_args args{};
    args.struct_size = sizeof args;
    args.inputs = inputs;
    args.outputs = outputs;
    args.input_count = 1;
    args.output_count = 2;
    return context.Execute(sdk::RunArgs(args));
  }

  fake::Host host_;
  deputy_value_id x_, a_, b_, c_, y_, w_;
  std::vector<float> b_result_, y_result_;
};

void ExpectStatus(const sdk::Status& status, sdk::Code code, const std::string& text) {
  EXPECT_EQ(status.code(), code) << status.message();
  EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
}

TEST_F(ProviderTest, ItSaysItsNameAndVersion) {
  EXPECT_EQ(Open()->Description(), "fixture 1.2.3, with tables of version 1.32.0");
}

TEST_F(ProviderTest, ItTakesTheNodesThatItKnows) {
  Part part(host_);
  const auto answers = Open()->Ask(part.view());
  ASSERT_TRUE(answers.ok()) << answers.status().message();
  std::string taken;
  for (const Answer& answer : *answers) taken += answer.is_taken ? '1' : '0';
  EXPECT_EQ(taken, "1101");
}

TEST_F(ProviderTest, AnswersOfANodeThatFailsHaveItsReason) {
  Part part(host_);
  const auto answers = Open({{"misbehave", "fails_capability"}})->Ask(part.view());
  ASSERT_TRUE(answers.ok()) << answers.status().message();
  for (const Answer& answer : *answers) {
    EXPECT_FALSE(answer.is_taken);
    EXPECT_NE(answer.reason.find("the fixture does not answer"), std::string::npos) << answer.reason;
  }
}

TEST_F(ProviderTest, APartitionIsComputedWithConstantsAsInputsAndWithCopies) {
  for (const char* drops : {"0", "1"}) {
    auto executable = Open({{"drop_constants", drops}})->Compile(Taken().view());  // it keeps the provider
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    EXPECT_EQ(Run(**executable, {-3, 1}, b_result_, y_result_).message(), "");
    EXPECT_EQ(b_result_, (std::vector<float>{0, 3})) << drops;
    EXPECT_EQ(y_result_, (std::vector<float>{-4, 6})) << drops;
  }
}

TEST_F(ProviderTest, AContextRunsAgain) {
  auto executable = Open()->Compile(Taken().view());
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  std::vector<float> x{0, 0};
  auto context = (*executable)->CreateContext();
  ASSERT_TRUE(context.ok());
  for (int run = 0; run < 3; ++run) {
    EXPECT_EQ(Execute(**context, x, b_result_, y_result_).message(), "");
    EXPECT_EQ(y_result_, (std::vector<float>{-1, 4}));
  }
}

TEST_F(ProviderTest, TensorsOfOtherExtentsAreRefused) {
  auto executable = Open()->Compile(Taken().view());
  ASSERT_TRUE(executable.ok());
  auto context = (*executable)->CreateContext();
  std::vector<float> x{0, 0};
  ExpectStatus(Execute(**context, x, b_result_, y_result_, {1, 2}), sdk::Code::kInvalidArgument, "compiled for");
}

TEST_F(ProviderTest, TwoProvidersShareALibrary) {
  auto first = Open(), second = Open({{"misbehave", "wrong_results"}});
  auto executable = second->Compile(Taken().view());
  second.reset();
  first.reset();
  ASSERT_TRUE(executable.ok());
  EXPECT_EQ(Run(**executable, {0, 0}, b_result_, y_result_).message(), "");
  EXPECT_EQ(y_result_, (std::vector<float>{0, 5})) << "the options are those of the second";
}

TEST_F(ProviderTest, APartitionThatItDoesNotTakeWholeIsRefused) {
  Part part(host_);
  ExpectStatus(Open()->Compile(part.view()).status(), sdk::Code::kNotSupported, "takes 3 of 4 nodes, in 2 parts");
  ExpectStatus(CompileFailure("separate_nodes"), sdk::Code::kNotSupported, "takes 3 of 3 nodes, in 3 parts");
  ExpectStatus(CompileFailure("fails_capability"), sdk::Code::kNotSupported, "GetCapability failed: the fixture");
}

TEST_F(ProviderTest, ACompilationThatFailsGoesToTheNext) {
  ExpectStatus(CompileFailure("fails_to_compile"), sdk::Code::kNotSupported,
               "fixture: Compile failed: the fixture cannot");
  ExpectStatus(CompileFailure("compiles_nothing"), sdk::Code::kNotSupported, "Compile succeeded without a result");
  Part part(host_);
  ExpectStatus(Open({{"misbehave", "claims_everything"}})->Compile(part.view()).status(), sdk::Code::kNotSupported,
               "the fixture has claimed Sigmoid");
}

TEST_F(ProviderTest, ARunThatFailsIsAnError) {
  ExpectStatus(RunFailure("fails_to_run"), sdk::Code::kInternal,
               "fixture: Compute failed: the fixture cannot run this");
  ExpectStatus(RunFailure("throws"), sdk::Code::kInternal, "Compute has thrown an exception: the fixture has thrown");
  ExpectStatus(RunFailure("writes_nothing"), sdk::Code::kInternal, "Compute has not written the output");
  ExpectStatus(RunFailure("wrong_extents"), sdk::Code::kInternal, "has extents [2], not [2, 7]");
}

TEST_F(ProviderTest, AnEpThatLacksWhatIsNeededIsRefusedWhenItIsOpened) {
  ExpectStatus(OpenFailure(Settings({{"misbehave", "no_ep"}})), sdk::Code::kNotSupported, "made no execution provider");
  ExpectStatus(OpenFailure(Settings({{"misbehave", "old_ep"}})), sdk::Code::kNotSupported, "of version 22");
  ExpectStatus(OpenFailure(Settings({{"misbehave", "no_compile"}})), sdk::Code::kNotSupported, "kernels in a registry");
}

TEST_F(ProviderTest, AFunctionThatIsMissingIsNamed) {
  const auto slot = std::to_string(static_cast<size_t>(Slot::CreateIoBinding));
  auto provider = Open({{"misbehave", "calls_slot"}, {"slot", slot}});
  ExpectStatus(provider->Compile(Taken().view()).status(), sdk::Code::kNotSupported, "OrtApi::CreateIoBinding");
}

TEST_F(ProviderTest, WhatIsNotThereIsNamed) {
  ProviderSettings settings = Settings();
  settings.device = "npu";
  ExpectStatus(OpenFailure(settings), sdk::Code::kUnavailable, "no device is 'npu'; there are: 0: cpu");
  settings.device = "0";
  EXPECT_TRUE(OpenOwn(sdk::Host(host_.table()), settings).ok());
  settings.name = "other";
  ExpectStatus(OpenFailure(settings), sdk::Code::kNotFound, "no execution provider 'other'; it has: fixture");
  settings = Settings();
  settings.library = "/nowhere/libep.so";
  ExpectStatus(OpenFailure(settings), sdk::Code::kNotFound, "/nowhere/libep.so");
  settings.library = "libc.so.6";
  ExpectStatus(OpenFailure(settings), sdk::Code::kIncompatible, "does not export CreateEpFactories");
  settings.library.clear();
  ExpectStatus(OpenFailure(settings), sdk::Code::kInvalidArgument, "path of the execution provider's library");
}

TEST(Libraries, WhatTheSandboxHidesHasItsRemedyAndThePath) {
  const std::string path = "/hidden/libep.so";
  const sdk::Status refused = CannotOpenProvider(path, path + ": cannot open shared object file: Permission denied");
  ExpectStatus(refused, sdk::Code::kNotFound, "/hidden/libep.so: cannot open");
  ExpectStatus(refused, sdk::Code::kNotFound, "'plugins: {readable: [DIR]}'");
  ExpectStatus(CannotOpenProvider(path, "libdriver.so.1: cannot open shared object file: Permission denied"),
               sdk::Code::kNotFound, "'/hidden/libep.so': libdriver.so.1: ");
  ExpectStatus(CannotOpenProvider(path, path + ": No such file or directory"), sdk::Code::kNotFound, "pip install");
}

TEST(Devices, ThatThereAreNoneIsSaid) {
  for (const char* wanted : {"", "npu"})
    ExpectStatus(ChooseDevice({}, wanted).status(), sdk::Code::kUnavailable,
                 "the execution provider offers no device here");
}

TEST(Devices, TheCpuHasTheNumberOfItsVendor) {
  EXPECT_EQ(own::CpuOf("vendor_id\t: GenuineIntel\n").vendor_id, 0x8086u);
  EXPECT_EQ(own::CpuOf("vendor_id\t: AuthenticAMD\n").vendor, "AMD");
  EXPECT_EQ(own::CpuOf("CPU implementer\t: 0x41\n").vendor_id, 0u);
}

}  // namespace
}  // namespace ort
