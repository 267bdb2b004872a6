// Every fixture plugin, most of which are wrong in one way, in a worker process and through the whole of the host's
// checks: whatever it does, this process goes on, and nothing is left behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "partition/helpers.hpp"
#include "support/process_state.hpp"
#include "unit/isolation/plugged.hpp"

namespace deputy::host::testing {
namespace {

// These wait for ever somewhere, which no deadline of the host ends yet.
bool Hangs(const std::string& name) {
  for (const char* part : {"hang", "outlives", "fork"})
    if (name.find(part) != std::string::npos) return true;
  return false;
}

// Compiles and runs the first node; as far as the plugin goes.
void Use(Delegate& delegate, const Graph& graph) {
  const GraphView view = OfferAll(graph);
  std::vector<Verdict> verdicts;
  (void)delegate.QuerySupport(view, verdicts);
  if (NodeGrouper* const grouper = delegate.grouper()) (void)grouper->Groups(view);
  PartitionSpec partition{{0}, {0}, {1}, nullptr, "stage.0"};
  if (PartitionProposer* const proposer = delegate.proposer()) {
    const auto claims = proposer->Propose(view);
    if (claims.ok() && !claims->empty()) partition = claims->front();
  }
  if (PartitionEstimator* const estimator = delegate.estimator()) (void)estimator->EstimatePartition(view, partition);
  const auto executable = delegate.Compile(view, partition);
  if (!executable.ok()) return;
  const auto bytes = (*executable)->Serialize(1 << 20);
  if (BlobFormat* const blobs = delegate.blobs(); blobs != nullptr && bytes.ok()) {
    const auto kept = std::make_shared<std::vector<uint8_t>>(*bytes);
    (void)blobs->Restore(view, {{0}, {0}, {1}, nullptr, "stage.1"}, Blob{*kept, kept});
  }
  const auto context = (*executable)->CreateContext();
  if (!context.ok()) return;
  (void)(*context)->SetProfiling(true);
  float in[] = {-1, 2, -3, 4}, out[4] = {};
  const int64_t four = 4;
  deputy_tensor input{}, output{};
  input.struct_size = sizeof input;
  input.dtype = DEPUTY_DTYPE_FLOAT32;
  input.rank = 1;
  input.dims = &four;
  input.byte_size = sizeof in;
  output = input;
  input.data = in;
  output.data = out;
  const deputy_tensor* const inputs[] = {&input};
  deputy_tensor* const outputs[] = {&output};
  for (int run = 0; run < 3; ++run) (void)(*context)->Execute({inputs, outputs});
}

TEST(EveryFixture, InAWorkerProcessLeavesThisOneAlone) {
  std::vector<std::string> files = FilesIn(FIXTURE_PLUGINS);
  std::sort(files.begin(), files.end());
  ASSERT_GT(files.size(), 100u);
  SetLogLevel(LogLevel::kOff);
  size_t opened = 0;
  const Graph graph = TestGraph({{"first", "Relu"}, {"second", "Sigmoid"}}).graph;
  for (const std::string& file : files) {
    if (file.size() < 3 || file.substr(file.size() - 3) != ".so" || Hangs(file)) continue;
    SCOPED_TRACE(file);
    const size_t descriptors = OpenDescriptors();
    RemotePluginOptions options;
    options.worker = DEPUTY_WORKER;
    options.file = std::filesystem::path(FIXTURE_PLUGINS) / file;
    options.run_timeout = std::chrono::seconds(5);
    auto started = RemotePlugin::Start(options);
    if (started.ok()) {
      OpenRequest request;
      request.name = "stage";
      request.helpers = &DefaultPartitionHelpers();
      const std::unique_ptr<Delegate> delegate = OpenServed(*std::move(started), options.file, request);
      opened += delegate != nullptr ? 1 : 0;
      if (delegate != nullptr) Use(*delegate, graph);
    }
    started = Status(StatusCode::kUnknown, "");
    EXPECT_TRUE(ChildProcesses().empty());
    EXPECT_EQ(OpenDescriptors(), descriptors);
  }
  SetLogLevel(LogLevel::kInfo);
  EXPECT_GT(opened, 60u);
}

}  // namespace
}  // namespace deputy::host::testing
