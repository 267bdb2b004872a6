// What the store of compiled partitions changes: when something is restored, when it is compiled and stored, and what
// makes it another partition.
#include "plan/executable_maker.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "plan/partition_key.hpp"
#include "support/temp_folder.hpp"
#include "support/test_delegate.hpp"
#include "support/test_graph.hpp"

namespace deputy::host {
namespace {

const PartitionSpec kBoth{{0, 1}, {0}, {2}, nullptr, "npu.0"};

TestGraph ReluSigmoid() {
  return TestGraph({{"relu", "Relu"}, {"sigmoid", "Sigmoid"}}, {DType::kFloat32, true, {2, 4}});
}

class CachedPartitions : public testing::Test {
 protected:
  // As in a new process: nothing is remembered but the files.
  ExecutableOrigin Make() {
    Result<Made> made = ExecutableMaker(store_.get()).Make(npu_, view_, kBoth);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return made.ok() ? made->origin : ExecutableOrigin::kResized;
  }
  // Why the executable is not in the cache; empty: it is.
  std::string NotCached() {
    const Result<Made> made = ExecutableMaker(store_.get()).Make(npu_, view_, kBoth);
    return made.ok() && made->not_cached != nullptr ? *made->not_cached : "";
  }

  const TestGraph made_ = ReluSigmoid();
  const GraphView view_ = OfferAll(made_.graph);
  const TempFolder folder_;
  std::unique_ptr<Store> store_ = std::make_unique<Store>(StoreOptions{folder_.path(), 1 << 20});
  TestDelegate npu_{"npu", {"*"}};
};

TEST_F(CachedPartitions, TheSecondTimeIsRestored) {
  EXPECT_EQ(Make(), ExecutableOrigin::kCompiled);
  EXPECT_EQ(Make(), ExecutableOrigin::kRestored);
  EXPECT_EQ(npu_.compiles, 1);
}

TEST_F(CachedPartitions, TheClaimOfARestoredPartitionIsReleased) {
  Make();
  PartitionSpec claimed = kBoth;
  claimed.claim = &npu_;
  npu_.open_claims = 1;
  npu_.claims = {kBoth.nodes};
  EXPECT_EQ(ExecutableMaker(store_.get()).Make(npu_, view_, claimed)->origin, ExecutableOrigin::kRestored);
  EXPECT_EQ(npu_.open_claims, 0);
}

TEST_F(CachedPartitions, WithoutACacheEverythingIsCompiled) {
  store_ = nullptr;
  Make();
  EXPECT_EQ(Make(), ExecutableOrigin::kCompiled);
}

TEST_F(CachedPartitions, AnIncompatibleEntryIsCompiledAnewAndReplaced) {
  Make();
  npu_.maker.compatibility = "format 2";
  npu_.bytes = {9, 9};
  EXPECT_EQ(Make(), ExecutableOrigin::kCompiled);
  EXPECT_EQ(npu_.restores, 0) << "its delegate said no before it saw the bytes";
  EXPECT_EQ(Make(), ExecutableOrigin::kRestored);
}

TEST_F(CachedPartitions, AnEntryThatItsDelegateDoesNotReadIsCompiledAnewAndReplaced) {
  Make();
  npu_.bytes = {9, 9};
  EXPECT_EQ(Make(), ExecutableOrigin::kCompiled);
  EXPECT_EQ(npu_.restores, 1);
  EXPECT_EQ(Make(), ExecutableOrigin::kRestored);
}

TEST_F(CachedPartitions, APluginWithoutABuildIdIsNotKept) {
  npu_.maker.build.clear();
  Make();
  EXPECT_EQ(Make(), ExecutableOrigin::kCompiled);
}

TEST_F(CachedPartitions, TheReasonIsKnownWhereSomethingIsNotCached) {
  EXPECT_EQ(NotCached(), "") << "compiled and stored";
  EXPECT_EQ(NotCached(), "") << "restored";
  store_ = std::make_unique<Store>(StoreOptions{folder_.path(), 10});
  EXPECT_NE(NotCached().find("exceeds the size limit of the cache, 10 bytes"), std::string::npos);
  store_ = nullptr;
  EXPECT_EQ(NotCached(), "the cache is off");
  npu_.maker.build.clear();
  store_ = std::make_unique<Store>(StoreOptions{folder_.path(), 1 << 20});
  EXPECT_NE(NotCached().find("no build id"), std::string::npos);
}

TEST_F(CachedPartitions, ADelegateWithoutBlobsIsNotAskedForOne) {
  Make();
  npu_.has_blobs = false;
  EXPECT_EQ(NotCached(), "the delegate does not serialize executables");
  EXPECT_EQ(npu_.compiles, 2);
}

TEST_F(CachedPartitions, AFolderThatCannotBeUsedIsAReason) {
  store_ = std::make_unique<Store>(StoreOptions{"/dev/null/cache", 1 << 20});
  EXPECT_NE(NotCached().find("the cache in /dev/null/cache is not used"), std::string::npos);
}

TEST_F(CachedPartitions, AFailureToCompileIsPassedOn) {
  npu_.compile_status = Status(StatusCode::kNotSupported, "too large");
  const Result<Made> made = ExecutableMaker(store_.get()).Make(npu_, view_, kBoth);
  EXPECT_EQ(made.status().message(), "too large");
}

// One change each to what was compiled.
struct Change {
  const char* name;
  void (*apply)(Graph& graph, PartitionSpec& partition, BlobMaker& maker);
  bool counts;
};
void PrintTo(const Change& change, std::ostream* out) { *out << change.name; }

constexpr Change kChanges[] = {
    {"Nothing", [](Graph&, PartitionSpec&, BlobMaker&) {}, false},
    {"NameOfANode", [](Graph& graph, PartitionSpec&, BlobMaker&) { graph.nodes[0].name = "other"; }, false},
    {"NameOfAValue", [](Graph& graph, PartitionSpec&, BlobMaker&) { graph.values[0].name = "other"; }, false},
    {"NameOfThePartition", [](Graph&, PartitionSpec& partition, BlobMaker&) { partition.name = "npu.7"; }, false},
    {"Compatibility", [](Graph&, PartitionSpec&, BlobMaker& maker) { maker.compatibility = "format 2"; }, false},
    {"Operator",
     [](Graph& graph, PartitionSpec&, BlobMaker&) {
       graph.nodes[1].primitive = PrimitiveBuilder("", "Tanh", 13).Finish();
     },
     true},
    {"Attribute",
     [](Graph& graph, PartitionSpec&, BlobMaker&) {
       graph.nodes[2].primitive = PrimitiveBuilder("", "LeakyRelu", 16).Set("alpha", 0.25f).Finish();
     },
     true},
    {"Shape",
     [](Graph& graph, PartitionSpec&, BlobMaker&) {
       graph.values[1].type.dims = {2, 5};
     },
     true},
    {"DType", [](Graph& graph, PartitionSpec&, BlobMaker&) { graph.values[1].type.dtype = DType::kFloat16; }, true},
    {"Weight",
     [](Graph& graph, PartitionSpec&, BlobMaker&) {
       graph.values[3].constant = *Tensor::Allocate(DType::kFloat32, {1});
       graph.values[3].constant.mutable_values<float>()[0] = 2;
     },
     true},
    {"Wiring", [](Graph& graph, PartitionSpec&, BlobMaker&) { graph.nodes[1].inputs = {0}; }, true},
    {"OrderOfTheBorder",
     [](Graph&, PartitionSpec& partition, BlobMaker&) { std::swap(partition.outputs[0], partition.outputs[1]); }, true},
    {"Plugin", [](Graph&, PartitionSpec&, BlobMaker& maker) { maker.plugin = "other"; }, true},
    {"Version", [](Graph&, PartitionSpec&, BlobMaker& maker) { maker.version = "2"; }, true},
    {"Build", [](Graph&, PartitionSpec&, BlobMaker& maker) { maker.build = "4567"; }, true},
    {"Delegate", [](Graph&, PartitionSpec&, BlobMaker& maker) { maker.delegate = "dsp"; }, true},
    {"Device", [](Graph&, PartitionSpec&, BlobMaker& maker) { maker.device = "serial 1"; }, true},
    {"Driver", [](Graph&, PartitionSpec&, BlobMaker& maker) { maker.driver = "2"; }, true},
    {"Option",
     [](Graph&, PartitionSpec&, BlobMaker& maker) {
       maker.options = {{"level", "3"}};
     },
     true},
};

class KeyOfAPartition : public testing::TestWithParam<Change> {};

TEST_P(KeyOfAPartition, CountsWhatTheBytesDependOn) {
  Graph graph = ReluSigmoid().graph;
  const ValueId weight = graph.AddConstant("weight", *Tensor::Allocate(DType::kFloat32, {1}));
  graph.values[weight].constant.mutable_values<float>()[0] = 1;
  const ValueId last = graph.AddValue("last", graph.values[0].type);
  graph.nodes.push_back({"leaky", PrimitiveBuilder("", "LeakyRelu", 16).Set("alpha", 0.5f).Finish(), {2}, {last}, {}});
  graph.nodes.push_back({"scale", PrimitiveBuilder("", "Mul", 14).Finish(), {last, weight}, {last}, {}});
  PartitionSpec partition{{0, 1, 2, 3}, {0}, {2, last}, nullptr, "npu.0"};
  BlobMaker maker{"plugin", "1", "0123", "npu", "serial 0", "1", {{"level", "2"}}, "format 1"};
  const Digest before = PartitionKey(graph, partition, maker);
  GetParam().apply(graph, partition, maker);
  EXPECT_EQ(PartitionKey(graph, partition, maker) != before, GetParam().counts);
}

INSTANTIATE_TEST_SUITE_P(Changes, KeyOfAPartition, testing::ValuesIn(kChanges),
                         [](const testing::TestParamInfo<Change>& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace deputy::host
