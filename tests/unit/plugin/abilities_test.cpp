// The checked proxy around the optional abilities that act from compile on: blobs, resizing, profiling, own operators.
#include <gtest/gtest.h>

#include "unit/plugin/able_actor.hpp"
#include "unit/plugin/support.hpp"

namespace deputy::host {
namespace {

using testing::AbleActor;
using testing::LogKeeper;
using testing::OfferAll;
using testing::ReluSigmoid;
using testing::Text;

class Abilities : public ::testing::Test {
 protected:
  Delegate& Open(bool compile_only = false) {
    if (delegate_ != nullptr) return *delegate_;
    EXPECT_TRUE(registry_.AddInProcess(&actor_.plugin, nullptr).ok());
    OpenRequest request{"able", "stage", 2, {}, nullptr};
    request.compile_only = compile_only;
    Result<std::unique_ptr<Delegate>> opened = registry_.Open(request);
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    delegate_ = std::move(opened).value();
    return *delegate_;
  }
  std::shared_ptr<const Executable> Compiled() { return *Open().Compile(view_, kFirst); }
  std::unique_ptr<ExecutionContext> Context() { return *Compiled()->CreateContext(); }
  Result<std::shared_ptr<const Executable>> Restored() {
    const auto bytes = std::make_shared<std::vector<uint8_t>>(64, uint8_t{7});
    return Open().Restore(view_, kFirst, Blob{*bytes, bytes});
  }

  LogKeeper log_;
  AbleActor actor_;
  const Graph graph_ = ReluSigmoid();
  const GraphView view_ = OfferAll(graph_);
  const PartitionSpec kFirst{{0}, {0}, {1}, nullptr, "stage.0"};
  PluginRegistry registry_;
  std::unique_ptr<Delegate> delegate_;
};

using Blobs = Abilities;

TEST_F(Blobs, AreWhatTheExecutableWrites) {
  actor_.serialize = [](const deputy_blob_sink& sink) -> deputy_status* {
    if (deputy_status* failure = sink.write(sink.self, "ab", 2)) return failure;
    return sink.write(sink.self, "c", 1);
  };
  const Result<std::vector<uint8_t>> bytes = Compiled()->Serialize(100);
  ASSERT_TRUE(bytes.ok()) << bytes.status().ToString();
  EXPECT_EQ(*bytes, (std::vector<uint8_t>{'a', 'b', 'c'}));
}

TEST_F(Blobs, MoreThanTheLimitIsRefused) {
  actor_.serialize = [](const deputy_blob_sink& sink) { return sink.write(sink.self, "abcdef", 6); };
  EXPECT_EQ(Compiled()->Serialize(5).status().code(), StatusCode::kResourceExhausted);
}

TEST_F(Blobs, BytesFromNullAreAFault) {
  actor_.serialize = [](const deputy_blob_sink& sink) { return sink.write(sink.self, nullptr, 6); };
  EXPECT_EQ(Compiled()->Serialize(100).status().code(), StatusCode::kPlugin);
}

TEST_F(Blobs, SuccessWithoutAByteIsAFault) {
  actor_.serialize = [](const deputy_blob_sink&) -> deputy_status* { return nullptr; };
  EXPECT_EQ(Compiled()->Serialize(100).status().code(), StatusCode::kPlugin);
}

TEST_F(Blobs, AThrowingSerializeIsAFault) {
  actor_.serialize = [](const deputy_blob_sink&) -> deputy_status* { throw 1; };
  EXPECT_EQ(Compiled()->Serialize(100).status().code(), StatusCode::kPlugin);
}

TEST_F(Blobs, TheirMakerIsThePluginItsDeviceAndItsText) {
  const Result<BlobMaker> maker = Open().blob_maker();
  ASSERT_TRUE(maker.ok());
  EXPECT_EQ(maker->plugin, "test.able");
  EXPECT_EQ(maker->version, "3");
  EXPECT_EQ(maker->build, "") << "it has no file";
  EXPECT_EQ(maker->device, 2u);
  EXPECT_EQ(maker->compatibility, "format 1");
}

TEST_F(Blobs, ACompatibilityThatIsNotUtf8IsAFault) {
  actor_.compatibility = "\xff";
  EXPECT_EQ(Open().blob_maker().status().code(), StatusCode::kPlugin);
}

TEST_F(Blobs, ACompatibilityThatIsTooLongIsAFault) {
  actor_.compatibility.assign(5000, 'x');
  EXPECT_EQ(Open().blob_maker().status().code(), StatusCode::kPlugin);
}

TEST_F(Blobs, TheDelegateSaysWhetherATextStillFits) {
  actor_.check = [&](deputy_str text) {
    return std::string_view(text.data, text.size) == "format 0" ? actor_.Fail(DEPUTY_INCOMPATIBLE, "too old") : nullptr;
  };
  EXPECT_TRUE(Open().CheckBlob("format 1").ok());
  const Status status = Open().CheckBlob("format 0");
  EXPECT_EQ(status.code(), StatusCode::kIncompatible);
  EXPECT_EQ(status.message(), "too old");
}

TEST_F(Blobs, WithoutACheckOnlyTheVeryTextFits) {
  actor_.blob.check = nullptr;
  EXPECT_TRUE(Open().CheckBlob("format 1").ok());
  EXPECT_EQ(Open().CheckBlob("format 2").code(), StatusCode::kIncompatible);
}

// Seed row 37.
TEST_F(Blobs, AreGivenBackOnce) {
  actor_.restore = [&](const deputy_blob& blob, deputy_executable** out) -> deputy_status* {
    EXPECT_EQ(blob.size, 64u);
    EXPECT_EQ(static_cast<const uint8_t*>(blob.data)[63], 7);
    blob.release(blob.owner);
    *out = reinterpret_cast<deputy_executable*>(&actor_);
    return nullptr;
  };
  EXPECT_TRUE(Restored().ok());
  EXPECT_EQ(actor_.destroyed, 1);
  EXPECT_EQ(log_.text().find("broke its contract"), std::string::npos) << log_.text();
}

TEST_F(Blobs, GivenBackTwiceAreAFault) {
  actor_.restore = [&](const deputy_blob& blob, deputy_executable** out) -> deputy_status* {
    blob.release(blob.owner);
    blob.release(blob.owner);
    *out = reinterpret_cast<deputy_executable*>(&actor_);
    return nullptr;
  };
  EXPECT_TRUE(Restored().ok());
  EXPECT_NE(log_.text().find("releases its blob twice"), std::string::npos) << log_.text();
}

TEST_F(Blobs, NeverGivenBackAreAFault) {
  actor_.restore = [&](const deputy_blob&, deputy_executable** out) -> deputy_status* {
    *out = reinterpret_cast<deputy_executable*>(&actor_);
    return nullptr;
  };
  EXPECT_TRUE(Restored().ok());
  EXPECT_NE(log_.text().find("never released"), std::string::npos) << log_.text();
}

TEST_F(Blobs, AFailedRestoreDestroysNothing) {
  actor_.restore = [&](const deputy_blob& blob, deputy_executable**) {
    blob.release(blob.owner);
    return actor_.Fail(DEPUTY_INCOMPATIBLE, "another chip");
  };
  EXPECT_EQ(Restored().status().code(), StatusCode::kIncompatible);
  EXPECT_EQ(actor_.destroyed, 0);
}

TEST_F(Blobs, SuccessWithoutAnExecutableIsAFault) {
  actor_.restore = [&](const deputy_blob& blob, deputy_executable**) -> deputy_status* {
    blob.release(blob.owner);
    return nullptr;
  };
  EXPECT_EQ(Restored().status().code(), StatusCode::kPlugin);
}

// Seed row 32.
TEST_F(Blobs, AreMadeWithoutTheDeviceAndNotRunThere) {
  Open(/*compile_only=*/true);
  EXPECT_EQ(actor_.open_flags, uint32_t{DEPUTY_OPEN_COMPILE_ONLY});
  EXPECT_EQ(Compiled()->CreateContext().status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(Blobs, ADelegateThatNeedsItsDeviceIsNotOpenedWithoutIt) {
  actor_.blob.flags = 0;
  ASSERT_TRUE(registry_.AddInProcess(&actor_.plugin, nullptr).ok());
  OpenRequest request{"able", "stage", 0, {}, nullptr};
  request.compile_only = true;
  EXPECT_EQ(registry_.Open(request).status().code(), StatusCode::kNotSupported);
}

class Resizing : public Abilities {
 protected:
  Result<ResizeOutcome> Resize() {
    const int64_t dims[] = {9};
    deputy_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    tensor.rank = 1;
    tensor.dims = dims;
    const deputy_tensor* border[] = {&tensor};
    return Context()->Resize(border, border);
  }
};

TEST_F(Resizing, ShowsTheShapes) {
  int64_t seen = 0;
  actor_.resized = [&](const deputy_resize_args& args, deputy_resize_outcome&) -> deputy_status* {
    seen = args.inputs[0]->dims[0] + args.input_count + args.output_count;
    return nullptr;
  };
  ASSERT_TRUE(Resize().ok());
  EXPECT_EQ(seen, 11);
  EXPECT_TRUE(Open().keeps_partitions());
}

TEST_F(Resizing, MayAskForACompile) {
  actor_.resized = [](const deputy_resize_args&, deputy_resize_outcome& outcome) -> deputy_status* {
    outcome = DEPUTY_RESIZE_RECOMPILE;
    return nullptr;
  };
  EXPECT_EQ(*Resize(), ResizeOutcome::kRecompile);
}

TEST_F(Resizing, AnUnknownOutcomeIsAFault) {
  actor_.resized = [](const deputy_resize_args&, deputy_resize_outcome& outcome) -> deputy_status* {
    outcome = 17;
    return nullptr;
  };
  EXPECT_EQ(Resize().status().code(), StatusCode::kPlugin);
}

TEST_F(Resizing, ARefusalIsPassedOn) {
  actor_.resized = [&](const deputy_resize_args&, deputy_resize_outcome&) {
    return actor_.Fail(DEPUTY_NOT_SUPPORTED, "static");
  };
  EXPECT_EQ(Resize().status().code(), StatusCode::kNotSupported);
}

class Profiling : public Abilities {
 protected:
  static deputy_profile_event Event(uint32_t id, uint64_t begin, uint64_t end,
                                    deputy_clock clock = DEPUTY_CLOCK_MONOTONIC) {
    deputy_profile_event event{};
    event.struct_size = sizeof event;
    event.id = id;
    event.clock = clock;
    event.begin_ns = begin;
    event.end_ns = end;
    event.name = Text("layer");
    return event;
  }
  // What one profiled run yields.
  std::vector<ProfileEvent> Run() {
    const auto context = Context();
    EXPECT_TRUE(context->SetProfiling(true).ok());
    RunOnce(*context);
    std::vector<ProfileEvent> events;
    context->TakeEvents(events);
    return events;
  }
  static void RunOnce(ExecutionContext& context) {
    const deputy_tensor* inputs[] = {nullptr};
    deputy_tensor* outputs[] = {nullptr};
    EXPECT_TRUE(context.Execute({inputs, outputs}).ok());
  }
};

// Seed row 73.
TEST_F(Profiling, TiesLiveEventsToNodes) {
  actor_.debug_map = [](const deputy_debug_map_sink& sink) {
    const deputy_node_id node = 0;
    return sink.add(sink.self, 5, &node, 1);
  };
  actor_.execute = [](const deputy_profile_sink& sink) {
    const deputy_profile_event event = Event(5, 10, 20);
    sink.event(sink.self, &event);
  };
  const auto events = Run();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].nodes, (std::vector<NodeId>{0}));
  EXPECT_EQ(events[0].name, "layer");
  EXPECT_EQ(events[0].end_ns - events[0].begin_ns, 10u);
}

// Seed row 74.
TEST_F(Profiling, PutsCollectedEventsOnTheHostsClockAndInOrder) {
  actor_.collect = [](const deputy_profile_sink& sink) {
    const deputy_profile_event late = Event(DEPUTY_NO_EVENT_ID, 90, 95, DEPUTY_CLOCK_DEVICE),
                               early = Event(DEPUTY_NO_EVENT_ID, 80, 85, DEPUTY_CLOCK_DEVICE);
    sink.event(sink.self, &late);
    sink.event(sink.self, &early);
  };
  const auto events = Run();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].begin_ns, 980u);
  EXPECT_EQ(events[1].end_ns, 995u);
  EXPECT_TRUE(events[0].on_device_clock);
}

TEST_F(Profiling, IsNotAskedForWhileItIsOff) {
  bool asked = false;
  actor_.execute = [&](const deputy_profile_sink&) { asked = true; };
  actor_.collect = [&](const deputy_profile_sink&) { asked = true; };
  actor_.debug_map = [&](const deputy_debug_map_sink&) -> deputy_status* {
    asked = true;
    return nullptr;
  };
  const auto context = Context();
  RunOnce(*context);
  std::vector<ProfileEvent> events;
  context->TakeEvents(events);
  EXPECT_FALSE(asked);
}

TEST_F(Profiling, EndsWhenItIsTurnedOff) {
  const auto context = Context();
  ASSERT_TRUE(context->SetProfiling(true).ok());
  EXPECT_NE(actor_.sink, nullptr);
  ASSERT_TRUE(context->SetProfiling(false).ok());
  EXPECT_EQ(actor_.sink, nullptr);
}

struct BadEvent {
  const char* name;
  void (*spoil)(deputy_profile_event& event);
};
void PrintTo(const BadEvent& bad, std::ostream* out) { *out << bad.name; }

class SpoiltEvent : public Profiling, public ::testing::WithParamInterface<BadEvent> {};

TEST_P(SpoiltEvent, IsAFaultAndNotShown) {
  actor_.execute = [](const deputy_profile_sink& sink) {
    deputy_profile_event event = Event(DEPUTY_NO_EVENT_ID, 10, 20);
    GetParam().spoil(event);
    sink.event(sink.self, &event);
  };
  EXPECT_TRUE(Run().empty());
  EXPECT_NE(log_.text().find("profiling broke its contract"), std::string::npos) << log_.text();
}

INSTANTIATE_TEST_SUITE_P(
    Ways, SpoiltEvent,
    ::testing::Values(BadEvent{"Short", [](deputy_profile_event& event) { event.struct_size = 8; }},
                      BadEvent{"Backwards", [](deputy_profile_event& event) { event.end_ns = 5; }},
                      BadEvent{"UnknownClock", [](deputy_profile_event& event) { event.clock = 9; }},
                      BadEvent{"NameNotUtf8", [](deputy_profile_event& event) { event.name = Text("\xff"); }},
                      BadEvent{"NameAtNull",
                               [](deputy_profile_event& event) {
                                 event.name = {nullptr, 3};
                               }}),
    [](const ::testing::TestParamInfo<BadEvent>& one) { return std::string(one.param.name); });

TEST_F(Profiling, AnIdThatTheMapLacksIsAFaultAndTheEventHasNoNodes) {
  actor_.execute = [](const deputy_profile_sink& sink) {
    const deputy_profile_event event = Event(77, 10, 20);
    sink.event(sink.self, &event);
  };
  const auto events = Run();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(events[0].nodes.empty());
  EXPECT_NE(log_.text().find("id 77"), std::string::npos) << log_.text();
}

TEST_F(Profiling, AnIdTwiceAndANodeOfSomebodyElseAreRefused) {
  std::vector<bool> refused;
  actor_.debug_map = [&](const deputy_debug_map_sink& sink) -> deputy_status* {
    const deputy_node_id inside = 0, outside = 1;
    for (const auto& [id, node] : {std::pair{1u, &inside}, {2u, &inside}, {1u, &inside}, {3u, &outside}}) {
      deputy_status* failure = sink.add(sink.self, id, node, 1);
      refused.push_back(failure != nullptr);
      FreeStatus()(failure);
    }
    return nullptr;
  };
  Run();
  EXPECT_EQ(refused, (std::vector<bool>{false, false, true, true}));
}

class OwnOperators : public Abilities {
 protected:
  OwnOperators() {
    attribute_ = {Text("slope"), Text("steepness"), DEPUTY_ATTRIBUTE_FLOAT, 1};
    deputy_operator_info info{};
    info.struct_size = sizeof info;
    info.since_version = 1;
    info.domain = Text("com.example");
    info.op_type = Text("Gate");
    info.min_inputs = info.max_inputs = info.min_outputs = info.max_outputs = 1;
    info.attributes = &attribute_;
    info.attribute_count = 1;
    info.flags = DEPUTY_OPERATOR_HAS_KERNEL;
    actor_.operator_infos = {info};
    actor_.infer = [](const deputy_graph*, const deputy_type_sink& sink) {
      const int64_t dims[] = {2, -1};
      return sink.set_output(sink.self, 0, DEPUTY_DTYPE_FLOAT32, dims, 2);
    };
    own_.nodes.push_back({"gate", Gate().Finish(), {own_.AddValue("x")}, {own_.AddValue("y")}, {}});
    own_.inputs = {0};
    own_.outputs = {1};
    own_.values[0].type = {DType::kFloat32, true, {2, 3}};
  }
  static PrimitiveBuilder Gate() { return PrimitiveBuilder("com.example", "Gate", 1).Set("slope", 0.5f); }

  Status Infer() {
    InferenceOptions options;
    options.foreign = [&](InferenceContext& context) { return Open().InferOwn(context); };
    return InferGraph(own_, options);
  }

  deputy_operator_attribute attribute_{};
  Graph own_;
};

TEST_F(OwnOperators, TellTheTypesOfTheirOutputs) {
  ASSERT_TRUE(Infer().ok());
  EXPECT_EQ(own_.values[1].type.dtype, DType::kFloat32);
  EXPECT_EQ(own_.values[1].type.dims, (std::vector<int64_t>{2, -1}));
}

TEST_F(OwnOperators, AreShownTheirNodeAlone) {
  actor_.infer = [](const deputy_graph* graph, const deputy_type_sink&) -> deputy_status* {
    deputy_value_info value{};
    value.struct_size = sizeof value;
    EXPECT_EQ(graph->node_count(), 1u);
    EXPECT_TRUE(graph->ValueInfo(0, &value).ok());
    EXPECT_EQ(value.rank, 2u);
    EXPECT_EQ(value.dims[1], 3);
    return nullptr;
  };
  EXPECT_TRUE(Infer().ok());
}

TEST_F(OwnOperators, OfOthersAreLeftAlone) {
  own_.nodes[0].primitive = PrimitiveBuilder("com.other", "Gate", 1).Finish();
  EXPECT_TRUE(Infer().ok());
  EXPECT_EQ(own_.values[1].type.dtype, DType::kUndefined);
}

TEST_F(OwnOperators, AMissingAttributeNamesItAndTheNode) {
  own_.nodes[0].primitive = PrimitiveBuilder("com.example", "Gate", 1).Finish();
  const Status status = Infer();
  EXPECT_EQ(status.code(), StatusCode::kModel);
  EXPECT_NE(status.ToString().find("lacks the attribute 'slope'"), std::string::npos) << status.ToString();
  EXPECT_NE(status.ToString().find("gate"), std::string::npos) << status.ToString();
}

TEST_F(OwnOperators, AnAttributeOfAnotherTypeIsRefused) {
  own_.nodes[0].primitive = Gate().Set("slope", int64_t{1}).Finish();
  EXPECT_NE(Infer().ToString().find("'slope' is an int, not a float"), std::string::npos);
}

TEST_F(OwnOperators, AnAttributeThatIsNotDeclaredIsRefused) {
  own_.nodes[0].primitive = Gate().Set("slop", 1.0f).Finish();
  EXPECT_NE(Infer().ToString().find("'slop', which is not declared"), std::string::npos);
}

TEST_F(OwnOperators, TooManyInputsAreRefused) {
  own_.nodes[0].inputs = {0, 0};
  EXPECT_EQ(Infer().code(), StatusCode::kModel);
}

TEST_F(OwnOperators, WhatInferSaysOfTheNodeIsPassedOn) {
  actor_.infer = [&](const deputy_graph*, const deputy_type_sink&) {
    return actor_.Fail(DEPUTY_INVALID_ARGUMENT, "only floats");
  };
  EXPECT_NE(Infer().ToString().find("only floats"), std::string::npos);
}

struct BadType {
  const char* name;
  uint32_t output;
  deputy_dtype dtype;
  int64_t extent;
  bool null_dims;
};
void PrintTo(const BadType& bad, std::ostream* out) { *out << bad.name; }

class BadlyInferred : public OwnOperators, public ::testing::WithParamInterface<BadType> {};

TEST_P(BadlyInferred, IsAFault) {
  const BadType& bad = GetParam();
  actor_.infer = [&](const deputy_graph*, const deputy_type_sink& sink) {
    return sink.set_output(sink.self, bad.output, bad.dtype, bad.null_dims ? nullptr : &bad.extent, 1);
  };
  EXPECT_EQ(Infer().code(), StatusCode::kPlugin);
}

INSTANTIATE_TEST_SUITE_P(Ways, BadlyInferred,
                         ::testing::Values(BadType{"NoSuchOutput", 1, DEPUTY_DTYPE_FLOAT32, 1, false},
                                           BadType{"UnknownDType", 0, 77, 1, false},
                                           BadType{"NegativeExtent", 0, DEPUTY_DTYPE_FLOAT32, -2, false},
                                           BadType{"ExtentsAtNull", 0, DEPUTY_DTYPE_FLOAT32, 1, true}),
                         [](const ::testing::TestParamInfo<BadType>& one) { return std::string(one.param.name); });

struct BadInfo {
  const char* name;
  void (*spoil)(deputy_operator_info& info);
};
void PrintTo(const BadInfo& bad, std::ostream* out) { *out << bad.name; }

class BadlyDeclared : public OwnOperators, public ::testing::WithParamInterface<BadInfo> {};

TEST_P(BadlyDeclared, IsLeftOut) {
  GetParam().spoil(actor_.operator_infos[0]);
  EXPECT_TRUE(Infer().ok());
  EXPECT_EQ(own_.values[1].type.dtype, DType::kUndefined);
  EXPECT_NE(log_.text().find("operator_at broke its contract"), std::string::npos) << log_.text();
}

INSTANTIATE_TEST_SUITE_P(
    Ways, BadlyDeclared,
    ::testing::Values(BadInfo{"OnnxsOwnDomain", [](deputy_operator_info& made) { made.domain = Text("ai.onnx"); }},
                      BadInfo{"NoDomain", [](deputy_operator_info& made) { made.domain = Text(""); }},
                      BadInfo{"NoVersion", [](deputy_operator_info& made) { made.since_version = 0; }},
                      BadInfo{"MoreThanAtMost", [](deputy_operator_info& made) { made.min_inputs = 2; }},
                      BadInfo{"AttributesAtNull", [](deputy_operator_info& made) { made.attributes = nullptr; }},
                      BadInfo{"ShortStruct", [](deputy_operator_info& made) { made.struct_size = 16; }}),
    [](const ::testing::TestParamInfo<BadInfo>& one) { return std::string(one.param.name); });

TEST_F(OwnOperators, HaveKernelsThatStandInBehindAllOthers) {
  ASSERT_TRUE(Infer().ok());
  const std::shared_ptr<Delegate> kernels = Open().own_kernels();
  ASSERT_NE(kernels, nullptr);
  std::vector<Verdict> verdicts;
  const GraphView view = OfferAll(own_);
  ASSERT_TRUE(kernels->QuerySupport(view, verdicts).ok());
  EXPECT_TRUE(verdicts[0].supported());
  const auto executable = kernels->Compile(view, {{0}, {0}, {1}, nullptr, "kernel"});
  ASSERT_TRUE(executable.ok());
  float x = 3, y = 0;
  actor_.compute = [](const deputy_run_args& args) -> deputy_status* {
    *static_cast<float*>(args.outputs[0]->data) = 2 * *static_cast<const float*>(args.inputs[0]->data);
    return nullptr;
  };
  deputy_tensor in{}, out{};
  in.data = &x;
  out.data = &y;
  const deputy_tensor* inputs[] = {&in};
  deputy_tensor* outputs[] = {&out};
  const auto context = (*executable)->CreateContext();
  ASSERT_TRUE((*context)->Execute({inputs, outputs}).ok());
  EXPECT_EQ(y, 6);
}

TEST_F(OwnOperators, WithoutAKernelHaveNoneToStandIn) {
  actor_.operator_infos[0].flags = 0;
  EXPECT_EQ(Open().own_kernels(), nullptr);
}

}  // namespace
}  // namespace deputy::host
