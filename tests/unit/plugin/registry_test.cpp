// From the registry to an opened delegate: loading in this process, what is refused there, and a run.
#include "plugin/discovery/registry.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "plugin/discovery/option_check.hpp"
#include "support/plain_calls.hpp"
#include "unit/plugin/support.hpp"

namespace deputy::host {
namespace {

using testing::PatientScan;
using testing::ReluSigmoid;
using testing::TempFolder;

using Options = std::vector<std::pair<std::string, std::string>>;

// A registry over one fixture, in a folder that outlives it.
class RegistryOf {
 public:
  explicit RegistryOf(const std::string& fixture, bool probe = true) : file_(folder_.Add(fixture)) {
    ScanOptions options = PatientScan(folder_.path());
    options.probe = probe;
    registry_.Scan(options);
  }
  PluginRegistry* operator->() { return &registry_; }
  const std::filesystem::path& file() const { return file_; }

 private:
  TempFolder folder_;
  std::filesystem::path file_;
  PluginRegistry registry_;
};

OpenRequest Request(const std::string& delegate, const Options& options = {}) {
  return {delegate, delegate + "0", "", options, nullptr};
}

// What a delegate makes of {-1, 2, -3, 4} by Relu.
std::vector<float> ReluOf(Delegate& delegate) {
  const Graph graph = ReluSigmoid();
  const auto executable = delegate.Compile(OfferAll(graph), {{0}, {0}, {1}, nullptr, "relu"});
  if (!executable.ok()) return {};
  const auto context = (*executable)->CreateContext();
  const std::vector<float> in = {-1, 2, -3, 4};
  std::vector<float> out(4, 7);
  const plain::PlainRun run(in.data(), out.data(), in.size());
  auto* const outputs = const_cast<deputy_tensor* const*>(run.args.outputs);
  const Status status = context.ok() ? (*context)->Execute({{run.args.inputs, 1}, {outputs, 1}}) : context.status();
  EXPECT_TRUE(status.ok()) << status.ToString();
  return out;
}

TEST(Registry, R84_TwoPluginsComputeWithTheirOwnVersionsOfOneLibrary) {
  const TempFolder folder;
  folder.Add("library_first");
  folder.Add("library_second");
  PluginRegistry registry;
  registry.Scan(PatientScan(folder.path()));
  auto first = registry.Open(Request("library_first")), second = registry.Open(Request("library_second"));
  ASSERT_TRUE(first.ok() && second.ok()) << first.status().ToString() << second.status().ToString();
  for (int run = 0; run < 2; ++run)
    for (const auto* delegate : {&first, &second}) EXPECT_EQ(ReluOf(***delegate), (std::vector<float>{0, 2, 0, 4}));
}

// Seed row 35.
TEST(Registry, OpenedDelegateRunsRelu) {
  RegistryOf registry("good");
  Result<std::unique_ptr<Delegate>> opened = registry->Open(Request("good"));
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  Delegate& delegate = **opened;
  EXPECT_EQ(delegate.name(), "good0");
  EXPECT_EQ(delegate.id(), "good");

  const Graph graph = ReluSigmoid();
  const GraphView view = OfferAll(graph);
  std::vector<Verdict> verdicts;
  ASSERT_TRUE(delegate.QuerySupport(view, verdicts).ok());
  EXPECT_TRUE(verdicts[0].supported());
  EXPECT_EQ(verdicts[1].reason, Reason::kOperatorUnknown);
  EXPECT_EQ(verdicts[1].detail, "this delegate runs Relu of float32 alone");

  PartitionSpec partition;
  partition.nodes = {0};
  partition.inputs = {0};
  partition.outputs = {1};
  const auto executable = delegate.Compile(view, partition);
  ASSERT_TRUE(executable.ok()) << executable.status().ToString();
  const auto context = (*executable)->CreateContext();
  ASSERT_TRUE(context.ok()) << context.status().ToString();

  float in[4] = {-1, 2, -3, 4}, out[4] = {};
  const int64_t dims[1] = {4};
  deputy_tensor tensors[2] = {};
  for (deputy_tensor& tensor : tensors) {
    tensor.struct_size = sizeof tensor;
    tensor.dtype = DEPUTY_DTYPE_FLOAT32;
    tensor.rank = 1;
    tensor.dims = dims;
    tensor.byte_size = sizeof in;
  }
  tensors[0].data = in;
  tensors[1].data = out;
  const deputy_tensor* inputs[] = {&tensors[0]};
  deputy_tensor* outputs[] = {&tensors[1]};
  const Status run = (*context)->Execute({inputs, outputs});
  ASSERT_TRUE(run.ok()) << run.ToString();
  EXPECT_EQ(std::vector<float>(out, out + 4), (std::vector<float>{0, 2, 0, 4}));
}

// Seed row 8.
TEST(Registry, ObjectsOutliveTheRegistryAndTheDelegate) {
  const Graph graph = ReluSigmoid();
  PartitionSpec partition;
  partition.nodes = {0};
  partition.inputs = {0};
  partition.outputs = {1};
  std::unique_ptr<ExecutionContext> context;
  {
    RegistryOf registry("good");
    Result<std::unique_ptr<Delegate>> opened = registry->Open(Request("good"));
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    const auto executable = (*opened)->Compile(OfferAll(graph), partition);
    ASSERT_TRUE(executable.ok());
    Result<std::unique_ptr<ExecutionContext>> made = (*executable)->CreateContext();
    ASSERT_TRUE(made.ok());
    context = std::move(made).value();
  }
  EXPECT_FALSE(context->Execute({}).ok()) << "the number of bound tensors is wrong";
}

TEST(Registry, ManifestEnvironmentIsSetBeforeLoadingAndNeverOverwritten) {
  setenv("FIXTURE_WISH", "mine", 1);
  RegistryOf registry("good");
  ASSERT_TRUE(registry->Load("good").ok());
  EXPECT_STREQ(getenv("FIXTURE_WISH"), "mine");
  unsetenv("FIXTURE_WISH");
  RegistryOf again("good");
  ASSERT_TRUE(again->Load("good").ok());
  EXPECT_STREQ(getenv("FIXTURE_WISH"), "granted");
  unsetenv("FIXTURE_WISH");
}

TEST(Registry, DescriptionHasTheSchemaToCheckOptionsWith) {
  RegistryOf registry("good");
  const Result<DelegateDescription> description = registry->Describe("good");
  ASSERT_TRUE(description.ok()) << description.status().ToString();
  const Options wrong = {{"threads", "99"}};
  const CheckedOptions checked = CheckOptions(description->options, wrong);
  EXPECT_NE(checked.problems.at(0).message.find("a whole number from 1 to 8"), std::string::npos);
}

TEST(Registry, OptionsInForceAreReadBack) {
  RegistryOf registry("good");
  const Result<std::unique_ptr<Delegate>> opened = registry->Open(Request("good"));
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ((*opened)->options(), (Options{{"threads", "1"}, {"mode", "exact"}, {"frequency", "3"}}));
}

TEST(Registry, UnprobedPluginIsDescribedByLoadingIt) {
  RegistryOf registry("good", false);
  const Result<DelegateDescription> description = registry->Describe("good");
  ASSERT_TRUE(description.ok()) << description.status().ToString();
  EXPECT_EQ(description->options.size(), 3u);
}

TEST(Registry, UnknownDelegateHasTheNearestName) {
  RegistryOf registry("good");
  EXPECT_EQ(registry->Open(Request("godo")).status().message(),
            "no plugin has a delegate 'godo'; did you mean 'good'?");
}

TEST(Registry, UnknownDelegateOfARefusedPluginSaysWhy) {
  RegistryOf registry("null_slots");
  const Status status = registry->Open(Request("null_slots")).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.advice().find("has no 'execute'"), std::string::npos) << status.ToString();
}

// Seed row 2.
TEST(Registry, DelegateWithoutItsDeviceIsUnavailable) {
  RegistryOf registry("unavailable");
  const Status status = registry->Open(Request("unavailable")).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("no device"), std::string::npos);
}

TEST(Registry, R78_FileReplacedAfterTheScanIsRefused) {
  RegistryOf registry("good");
  std::filesystem::remove(registry.file());
  std::filesystem::copy_file(testing::FixturePath("rival"), registry.file());
  const Status status = registry->Load("good").status();
  EXPECT_EQ(status.code(), StatusCode::kPlugin);
  EXPECT_NE(status.message().find("scan again"), std::string::npos) << status.ToString();
}

TEST(Registry, R78_FileRemovedAfterTheScanIsRefused) {
  RegistryOf registry("good");
  std::filesystem::remove(registry.file());
  EXPECT_FALSE(registry->Load("good").ok());
}

TEST(Registry, R78_OtherBuildIdOfTheMappedObjectIsRefused) {
  const TempFolder folder;
  const std::filesystem::path file = folder.Add("good");
  LoadedPlugin::Expected expected{file, std::get<0>(IdentityOf(file)),
                                  std::get<Manifest>(testing::Gate(testing::ReadBytes(file)))};
  expected.manifest.build_id.back() ^= 1;
  const Checked<std::shared_ptr<LoadedPlugin>> loaded = LoadedPlugin::Load(expected);
  ASSERT_NE(RejectionOf(loaded), nullptr);
  EXPECT_EQ(RejectionOf(loaded)->reason, RejectReason::kChanged);
}

// Seed rows 3, 81.
TEST(Registry, R98_RefusalAtCompileNamesPluginFunctionAndNode) {
  RegistryOf registry("fails_compile");
  const auto opened = registry->Open(Request("fails_compile"));
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  const Graph graph = ReluSigmoid();
  PartitionSpec partition;
  partition.nodes = {0};
  const Status status = (*opened)->Compile(OfferAll(graph), partition).status();
  EXPECT_EQ(status.code(), StatusCode::kNotSupported);
  EXPECT_EQ(status.ToString(),
            "plugin fails_compile (fails_compile.so): compile: node 'first' (Relu): no room on the device");
}

TEST(Registry, R95_ExceptionFromCompileIsAFault) {
  const testing::LogKeeper log;
  RegistryOf registry("throws");
  const auto opened = registry->Open(Request("throws"));
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  const Graph graph = ReluSigmoid();
  PartitionSpec partition;
  partition.nodes = {0};
  const Status status = (*opened)->Compile(OfferAll(graph), partition).status();
  EXPECT_EQ(status.code(), StatusCode::kPlugin);
  EXPECT_EQ(status.ToString(), "plugin throws (throws.so): compile: it threw an exception");
}

TEST(Registry, R99_AnswersForForeignNodesAreReportedAndIgnored) {
  const testing::LogKeeper log;
  RegistryOf registry("claims_foreign_nodes");
  const auto opened = registry->Open(Request("claims_foreign_nodes"));
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  const Graph graph = ReluSigmoid();
  GraphView view = OfferAll(graph);
  view.offered[1] = 0;
  std::vector<Verdict> verdicts;
  ASSERT_TRUE((*opened)->QuerySupport(view, verdicts).ok());
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_TRUE(verdicts[0].supported());
  EXPECT_EQ(verdicts[1].reason, Reason::kNotAnswered);
  EXPECT_NE(log.text().find("plugin claims_foreign_nodes (claims_foreign_nodes.so): query_support broke its contract: "
                            "it answers for node 'second' (Sigmoid), which was not offered (and 3 more)"),
            std::string::npos)
      << log.text();
}

TEST(Registry, SameLibraryServesTwoRegistries) {
  const TempFolder folder;
  folder.Add("good");
  PluginRegistry first, second;
  first.Scan(PatientScan(folder.path()));
  second.Scan(PatientScan(folder.path()));
  const auto one = first.Open(Request("good")), two = second.Open(Request("good"));
  ASSERT_TRUE(one.ok()) << one.status().ToString();
  ASSERT_TRUE(two.ok()) << two.status().ToString();
  EXPECT_NE(one->get(), two->get());
  EXPECT_EQ((*one)->id(), (*two)->id());
}

}  // namespace
}  // namespace deputy::host
