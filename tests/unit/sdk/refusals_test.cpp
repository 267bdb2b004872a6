// What becomes of statuses that the host makes. A plugin can return one and free none, so the layer asks for nothing
// more once it has one, and nothing that the vendor's code does afterwards makes a second or loses the first. Also:
// what is thrown where no status can be returned.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <new>
#include <stdexcept>

#include "deputy/sdk/partition_helpers.hpp"
#include "deputy/sdk/sdk.hpp"
#include "unit/sdk/fake_host.hpp"

namespace {
thread_local bool no_memory = false;
}

// Not inlined: the compiler would take malloc for a mismatch of its delete, or delete for one of its malloc. All forms
// that end in this delete, as sanitizers want it.
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return no_memory ? nullptr : std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void* operator new(size_t size) {
  void* made = operator new(size, std::nothrow);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace deputy::sdk {
namespace {

deputy_status* Refuse(const std::string& message) {
  return new deputy_status{DEPUTY_INVALID_ARGUMENT, DEPUTY_NO_NODE, message};
}

// Does in each call what the test says.
class Scripted final : public PartitionDelegate {
 public:
  static constexpr uint32_t kExtensions = kBlobs | kProfiles;
  static inline std::function<void(const NodeView&, OutputTypes&)> infer;
  static OwnOperators Operators() {
    OwnOperator one("com.example", "One", 1);
    one.Infers([](const NodeView& node, OutputTypes& types) -> Status {
      infer(node, types);
      return Status(Code::kInternal, "what the vendor made of it");
    });
    return {one};
  }

  class Written final : public Executable {
   public:
    Result<std::unique_ptr<ExecutionContext>> CreateContext() override { return Status(Code::kNotSupported); }
    Status Serialize(BlobWriter& writer) const override {
      writer.Number(1);
      writer.Number(2);
      throw std::runtime_error("thrown after the host had refused");
    }
    Status DescribeEvents(DebugMap& map) const override {
      map.Add(0, 0);
      map.Add(0, 0);
      throw std::runtime_error("thrown after the host had refused");
    }
  };

  Status Init() override { return {}; }
  Verdict Supports(const NodeView&) override { return Verdict::Yes(); }
  Result<std::unique_ptr<Executable>> Compile(const PartitionView&) override { return std::make_unique<Written>(); }
  Status Groups(const GraphView& graph, const GroupSink& sink) override {
    groups(graph, sink);
    return {};
  }

  std::string BlobCompatibility() const override { return "driver 2.4"; }
  bool has_blobs() const override { return serializes; }

  std::function<void(const GraphView&, const GroupSink&)> groups;
  bool serializes = true;
};

class RefusalTest : public testing::Test {
 protected:
  RefusalTest() {
    host_.AddChain({"One", "Relu"});
    host_.nodes[0].domain = "com.example";
  }
  ~RefusalTest() override { EXPECT_EQ(fake::Counted::alive, 0) << "a status that nobody freed"; }

  // Asks for groups, of which the host refuses every one. Fails the test unless exactly one status comes of it.
  std::string Groups(const std::function<void(const GraphView&, const GroupSink&)>& body) {
    object_->groups = body;
    const auto* propose = static_cast<const deputy_ext_propose*>(table_->get_extension(table_, DEPUTY_EXT_PROPOSE));
    const deputy_group_sink sink{sizeof sink, 0, &offered_, [](void* self, const deputy_group*) -> deputy_status* {
                                   return Refuse("group " + std::to_string(++*static_cast<int*>(self)));
                                 }};
    return MessageOf(fake::StatusPtr(propose->groups(opened_.instance(), host_.graph(), &sink)));
  }
  static std::string MessageOf(const fake::StatusPtr& status) {
    EXPECT_EQ(fake::Counted::alive, status == nullptr ? 0 : 1);
    return status == nullptr ? "OK" : status->message;
  }

  std::shared_ptr<Scripted> object_ = std::make_shared<Scripted>();
  InProcessPlugin plugin_ = MakeInProcessPlugin(object_);
  const deputy_delegate* table_ = plugin_.plugin->delegate_at(plugin_.plugin, 0);
  fake::Host host_;
  fake::Opened opened_{host_, table_};
  int offered_ = 0;
};

TEST_F(RefusalTest, SecondOfTwoBadGroupsIsNotOffered) {
  const std::string message = Groups([](const GraphView&, const GroupSink& sink) {
    EXPECT_FALSE(sink.Add({0, 1}));
    EXPECT_FALSE(sink.Add({1, 0}));
  });
  EXPECT_EQ(message, "group 1");
  EXPECT_EQ(offered_, 1);
}

TEST_F(RefusalTest, NothingIsOfferedOnceTheGraphCouldNotBeRead) {
  host_.fail_value_info = true;
  const std::string message = Groups([](const GraphView& graph, const GroupSink& sink) {
    EXPECT_FALSE(graph.NodeAt(0).input(0).exists());
    EXPECT_FALSE(graph.NodeAt(1).input(0).exists());
    EXPECT_FALSE(sink.Add({0, 1}));
  });
  EXPECT_EQ(message, "no such value");
  EXPECT_EQ(offered_, 0);
}

TEST_F(RefusalTest, ClaimIsNotOfferedOnceTheGraphCouldNotBeRead) {
  host_.fail_value_info = true;
  const std::string message = Groups([&](const GraphView& graph, const GroupSink&) {
    const deputy_claim_sink sink = host_.claim_sink();
    EXPECT_FALSE(graph.Value(0).exists());
    EXPECT_FALSE(ClaimSink(graph, &sink).Add(deputy_claim{}));
  });
  EXPECT_EQ(message, "no such value");
  EXPECT_TRUE(host_.claims.empty());
}

TEST_F(RefusalTest, ExceptionAfterARefusalIsNotMadeASecondStatus) {
  const std::string message = Groups([](const GraphView&, const GroupSink& sink) {
    sink.Add({0, 1});
    throw std::runtime_error("thrown after the host had refused");
  });
  EXPECT_EQ(message, "group 1");
}

TEST_F(RefusalTest, WithoutBlobsTheTextOfCompatibilityIsTheMessage) {
  const auto* blobs = static_cast<const deputy_ext_blob*>(table_->get_extension(table_, DEPUTY_EXT_BLOB));
  char buffer[64] = {};
  uint64_t size = 0;
  EXPECT_EQ(MessageOf(fake::StatusPtr(blobs->compatibility(opened_.instance(), buffer, sizeof buffer, &size))), "OK");
  EXPECT_STREQ(buffer, "driver 2.4");
  object_->serializes = false;
  const fake::StatusPtr status(blobs->compatibility(opened_.instance(), buffer, sizeof buffer, &size));
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(status->code, DEPUTY_NOT_SUPPORTED);
  EXPECT_EQ(status->message, "driver 2.4");
}

TEST_F(RefusalTest, ExceptionAloneIsAStatus) {
  EXPECT_EQ(Groups([](const GraphView&, const GroupSink&) { throw std::runtime_error("thrown"); }), "thrown");
}

// Helpers that refuse, and count how often they were asked.
struct RefusingHelpers {
  int calls = 0;
  deputy_ext_partition_helpers table{sizeof table, 0, this, Cluster, Quantized, Release, Named};

  static deputy_status* Called(void* self) {
    return Refuse("helper " + std::to_string(++static_cast<RefusingHelpers*>(self)->calls));
  }
  static deputy_status* Cluster(void* self, const deputy_graph*, const uint32_t*, uint32_t, uint32_t*, uint32_t*) {
    return Called(self);
  }
  static deputy_status* Quantized(void* self, const deputy_graph*, const deputy_group_sink*) { return Called(self); }
  static deputy_status* Release(void* self, const deputy_graph*, deputy_value_id) { return Called(self); }
  static deputy_status* Named(void* self, const deputy_graph*, deputy_str, const void**, uint64_t*) {
    return Called(self);
  }
};

TEST_F(RefusalTest, HelpersAreNotAskedAgainAfterARefusal) {
  const std::vector<std::function<void(const PartitionHelpers&)>> calls = {
      [](const PartitionHelpers& helpers) { EXPECT_TRUE(helpers.Cluster([](const NodeView&) { return 1; }).empty()); },
      [](const PartitionHelpers& helpers) { EXPECT_TRUE(helpers.QuantizedGroups().empty()); },
      [](const PartitionHelpers& helpers) { helpers.Release(ValueView()); },
      [](const PartitionHelpers& helpers) { EXPECT_EQ(helpers.NamedData("hints").size(), 0u); }};
  for (const auto& first : calls) {
    RefusingHelpers refusing;
    host_.extensions[DEPUTY_EXT_PARTITION_HELPERS] = &refusing.table;
    const std::string message = Groups([&](const GraphView& graph, const GroupSink&) {
      const PartitionHelpers helpers(graph);
      first(helpers);
      for (const auto& call : calls) call(helpers);
    });
    EXPECT_EQ(message, "helper 1");
    EXPECT_EQ(refusing.calls, 1);
  }
}

TEST_F(RefusalTest, LackOfMemoryWhileGroupsArriveIsThrownToTheVendor) {
  deputy_ext_partition_helpers table{};
  table.struct_size = sizeof table;
  table.quantized_groups = [](void*, const deputy_graph*, const deputy_group_sink* sink) -> deputy_status* {
    const deputy_node_id nodes[] = {0, 1};
    const deputy_group group{sizeof group, 2, nodes};
    no_memory = true;
    deputy_status* refused = sink->add(sink->self, &group);
    no_memory = false;
    return refused;
  };
  host_.extensions[DEPUTY_EXT_PARTITION_HELPERS] = &table;
  const std::string message =
      Groups([](const GraphView& graph, const GroupSink&) { PartitionHelpers(graph).QuantizedGroups(); });
  EXPECT_EQ(message, "out of memory");
}

TEST_F(RefusalTest, SinkThatRefusedWinsOverWhatSerializeThrows) {
  deputy_executable* executable = nullptr;
  ASSERT_EQ(opened_.Compile({{0}, {0}, {1}, nullptr}, &executable), nullptr);
  const auto* blobs = static_cast<const deputy_ext_blob*>(table_->get_extension(table_, DEPUTY_EXT_BLOB));
  const deputy_blob_sink sink{sizeof sink, 0, nullptr, [](void*, const void*, uint64_t) { return Refuse("full"); }};
  EXPECT_EQ(MessageOf(fake::StatusPtr(blobs->serialize(executable, &sink))), "full");
  table_->executable_destroy(executable);
}

TEST_F(RefusalTest, SinkThatRefusedWinsOverWhatDescribeEventsThrows) {
  deputy_executable* executable = nullptr;
  ASSERT_EQ(opened_.Compile({{0}, {0}, {1}, nullptr}, &executable), nullptr);
  const auto* profiling = static_cast<const deputy_ext_profiling*>(table_->get_extension(table_, DEPUTY_EXT_PROFILING));
  const deputy_debug_map_sink sink{
      sizeof sink, 0, nullptr, [](void*, uint32_t, const deputy_node_id*, uint64_t) { return Refuse("no such node"); }};
  EXPECT_EQ(MessageOf(fake::StatusPtr(profiling->debug_map(executable, &sink))), "no such node");
  table_->executable_destroy(executable);
}

class InferRefusalTest : public RefusalTest {
 protected:
  std::string Infer(const std::function<void(const NodeView&, OutputTypes&)>& body) {
    Scripted::infer = body;
    const auto* operators =
        static_cast<const deputy_ext_operators*>(table_->get_extension(table_, DEPUTY_EXT_OPERATORS));
    const deputy_type_sink sink{sizeof sink, 0, nullptr, [](void*, uint32_t, deputy_dtype, const int64_t*, uint32_t) {
                                  return Refuse("no such output");
                                }};
    return MessageOf(fake::StatusPtr(operators->infer(table_, host_.table(), host_.graph(), 0, &sink)));
  }
};

TEST_F(InferRefusalTest, TypeThatWasRefusedWinsOverTheVendorsStatus) {
  EXPECT_EQ(Infer([](const NodeView&, OutputTypes& types) {
              types.Set(9, DType::kFloat32, {});
              types.SetUnranked(9, DType::kFloat32);
            }),
            "no such output");
}

TEST_F(InferRefusalTest, GraphIsNotReadAfterATypeWasRefused) {
  host_.fail_value_info = true;
  EXPECT_EQ(Infer([](const NodeView& node, OutputTypes& types) {
              types.Set(9, DType::kFloat32, {});
              EXPECT_FALSE(node.input(0).exists());
            }),
            "no such output");
}

TEST_F(InferRefusalTest, TypeIsNotSetAfterTheGraphCouldNotBeRead) {
  host_.fail_value_info = true;
  EXPECT_EQ(Infer([](const NodeView& node, OutputTypes& types) {
              EXPECT_FALSE(node.input(0).exists());
              types.Set(9, DType::kFloat32, {});
              throw std::runtime_error("thrown after the host had refused");
            }),
            "no such value");
}

// Cannot let go of a claim, nor do anything else.
class NeverReleases final : public DelegateBase {
 public:
  void LookAt(const GraphView&) override {}
  Verdict AnswerFor(const NodeView&) override { return Verdict::No(Reason::kOther); }
  Status ProposeClaims(const GraphView&, const ClaimSink&) override { return {}; }
  void ReleaseClaim(void*) override { throw std::bad_alloc(); }
  Result<std::unique_ptr<Executable>> CompilePartition(const PartitionView&, void*&) override {
    throw std::runtime_error("thrown in CompilePartition");
  }
};

class ClaimsTest : public testing::Test {
 protected:
  ClaimsTest() {
    host_.AddChain({"Relu"});
    instance_.host = Host(host_.table());
    instance_.holder->delegate = std::make_shared<NeverReleases>();
  }
  deputy_instance* handle() { return reinterpret_cast<deputy_instance*>(&instance_); }

  fake::Host host_;
  detail::Instance instance_{Host(), std::make_shared<detail::Holder>()};
  const std::vector<std::string> kLogged{"an exception escaped while a claim was released"};
};

TEST_F(ClaimsTest, WhatReleaseThrowsIsLoggedAndMakesNoStatus) {
  detail::Thunks::ClaimRelease(handle(), this);
  EXPECT_EQ(host_.log, kLogged);
  EXPECT_EQ(fake::Counted::alive, 0);
}

TEST_F(ClaimsTest, WhatReleaseThrowsDuringAnotherExceptionDoesNotEndTheProcess) {
  const deputy_node_id node = 0;
  const deputy_value_id in = 0, out = 1;
  const deputy_partition partition{sizeof partition, 1, host_.graph(), &node, &in, &out, 1, 1, this, {}};
  deputy_executable* executable = nullptr;
  const fake::StatusPtr failure(
      detail::Thunks::Compile(handle(), deputy::plain::PlainCompile(&partition).args(), &executable));
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->message, "thrown in CompilePartition");
  EXPECT_EQ(host_.log, kLogged);
}

}  // namespace
}  // namespace deputy::sdk
