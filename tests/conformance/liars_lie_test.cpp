// The delegates of liars/ whose faults need more than a plain node: each is wrong in the situation that its sentence
// describes, and right beside it. That the others are wrong, the conformance kit shows.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "liars/liars.hpp"

extern "C" const deputy_plugin* deputy_plugin_query_v1(uint32_t host_abi, const void*);

namespace liars {
namespace {

using reference::Attribute;

std::shared_ptr<Fault> Make(const std::string& name) {
  for (const auto& rows : {PrecisionFaults(), SizeFaults(), MeaningFaults(), FusionFaults(), StateFaults(),
                           ThreadFaults(), LeakFaults(), AnswerFaults(), DynamicFaults(), ContractFaults()})
    for (const FaultRow& row : rows)
      if (row.name == name) return row.make();
  ADD_FAILURE() << "there is no fault " << name;
  return std::make_shared<Fault>();
}

Tensor Numbers(Dims dims) {
  Tensor made(DEPUTY_DTYPE_FLOAT32, std::move(dims));
  for (int64_t i = 0; i < made.count(); ++i) made.Put(i, static_cast<double>((i * 7 + 3) % 11) - 5);
  return made;
}

// Builds a program value by value.
struct Builder {
  Program program;
  Values values;
  deputy_value_id next = 0;

  deputy_value_id Keep(Tensor value) {
    program.dims[next] = value.dims;
    values[next] = std::move(value);
    return next++;
  }
  deputy_value_id In(Dims dims) {
    program.inputs.push_back(Keep(Numbers(std::move(dims))));
    return program.inputs.back();
  }
  deputy_value_id Const(Tensor value) {
    const deputy_value_id id = Keep(std::move(value));
    program.constants[id] = values[id];
    return id;
  }
  deputy_value_id Op(const char* op_type, std::vector<deputy_value_id> inputs, reference::Attributes attributes = {}) {
    Step step;
    step.node.op_type = op_type;
    step.node.since_version = 18;
    step.node.attributes = std::move(attributes);
    Inputs operands;
    for (const deputy_value_id id : inputs) operands.push_back(&values.at(id));
    step.inputs = std::move(inputs);
    step.outputs = {Keep(reference::Compute(step.node, operands)[0])};
    program.steps.push_back(step);
    return step.outputs[0];
  }
};

// The tensors of one run.
struct Bound {
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<deputy_tensor> tensors;
  std::vector<Dims> dims;
  std::vector<const deputy_tensor*> pointers;
  std::vector<Dims> allocations;
  deputy_output_allocator allocator{};
  deputy_run_args args{};
  std::vector<uint8_t> memory = std::vector<uint8_t>(4096);

  Bound(const Builder& built, bool open_extents = false) {
    const Program& program = built.program;
    dims.reserve(16);
    for (const auto* list : {&program.inputs, &program.outputs})
      for (const deputy_value_id id : *list) {
        const bool open = open_extents && list == &program.outputs;
        const Tensor& value = built.values.at(id);
        bytes.push_back(reference::Encode(value));
        dims.push_back(open ? Dims(value.rank(), -1) : value.dims);
        deputy_tensor tensor{};
        tensor.struct_size = sizeof tensor;
        tensor.dtype = value.dtype;
        tensor.rank = static_cast<uint32_t>(value.rank());
        tensor.dims = dims.back().data();
        tensor.data = open ? nullptr : bytes.back().data();
        tensor.byte_size = open ? 0 : bytes.back().size();
        tensors.push_back(tensor);
      }
    for (const deputy_tensor& tensor : tensors) pointers.push_back(&tensor);
    allocator = {sizeof allocator, 0, this, Allocate};
    args.struct_size = sizeof args;
    args.input_count = static_cast<uint32_t>(program.inputs.size());
    args.output_count = static_cast<uint32_t>(program.outputs.size());
    args.inputs = pointers.data();
    args.outputs = pointers.data() + program.inputs.size();
    args.allocator = open_extents ? &allocator : nullptr;
    args.run = 1;
  }
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

  static deputy_status* Allocate(void* self, uint32_t, const int64_t* extents, uint32_t rank, void** data) {
    auto& bound = *static_cast<Bound*>(self);
    bound.allocations.emplace_back(extents, extents + rank);
    *data = bound.memory.data();
    return nullptr;
  }
};

deputy_partition NoPartition() {
  deputy_partition partition{};
  partition.struct_size = sizeof partition;
  return partition;
}

Status Compile(Fault& fault, Program& program) {
  const sdk::GraphView graph(sdk::Host(), nullptr);
  const deputy_partition partition = NoPartition();
  return fault.Compile(sdk::PartitionView(graph, partition), program);
}

// Whether the outputs of a program are right when `fault` has compiled it.
bool IsRight(const Builder& built, const std::string& fault_name) {
  const std::shared_ptr<Fault> fault = Make(fault_name);
  auto program = std::make_shared<Program>(built.program);
  EXPECT_TRUE(Compile(*fault, *program).ok());
  Session session(program, fault, sdk::Host());
  Bound bound(built);
  const std::vector<std::vector<uint8_t>> expected = bound.bytes;
  for (size_t i = built.program.inputs.size(); i < bound.bytes.size(); ++i)
    std::fill(bound.bytes[i].begin(), bound.bytes[i].end(), uint8_t{0});
  const Status status = session.Execute(sdk::RunArgs(bound.args));
  EXPECT_TRUE(status.ok()) << status.message();
  return bound.bytes == expected;
}

// The value of the element that a node makes of one element.
double Made(const std::string& fault_name, const char* op_type, double value) {
  Tensor x(DEPUTY_DTYPE_FLOAT32, {1, 1});
  x.Put(0, value);
  Step step;
  step.node.op_type = op_type;
  step.node.since_version = 13;
  const std::shared_ptr<Fault> fault = Make(fault_name);
  Session session(std::make_shared<Program>(), fault, sdk::Host());
  return fault->Compute(session, step, {&x})[0].Get(0);
}

TEST(LiarsLie, AboutValues) {
  EXPECT_TRUE(std::isnan(Made("exponentials-unshifted", "Softmax", 100)));
  EXPECT_EQ(Made("exponentials-unshifted", "Softmax", 80), 1);
  EXPECT_EQ(Made("loses-negative-zero", "Reciprocal", -0.0), INFINITY);
  EXPECT_EQ(Made("loses-negative-zero", "Reciprocal", -2), -0.5);
}

TEST(LiarsLie, AboutTheBiasOfAMatMul) {
  for (const int64_t rows : {4, 3}) {
    Builder b;
    b.program.outputs = {
        b.Op("Add", {b.Op("MatMul", {b.In({rows, 5}), b.Const(Numbers({5, 4}))}), b.Const(Numbers({4}))})};
    EXPECT_EQ(IsRight(b, "bias-of-rows"), rows != 4);
  }
}

TEST(LiarsLie, AboutTheBiasOfAConv) {
  for (const int64_t channels : {4, 3}) {
    Builder b;
    const deputy_value_id x = b.Op("Conv", {b.In({1, 2, 3, 4}), b.Const(Numbers({channels, 2, 1, 1}))});
    b.program.outputs = {b.Op("Add", {x, b.Const(Numbers({4}))})};
    EXPECT_EQ(IsRight(b, "bias-of-channels"), channels != 4);
  }
}

TEST(LiarsLie, AboutTheScaleBehindATranspose) {
  for (const int64_t rows : {4, 3}) {
    Builder b;
    const deputy_value_id x = b.Op("Transpose", {b.In({4, rows})}, {{"perm", Attribute::Ints({1, 0})}});
    b.program.outputs = {b.Op("Mul", {x, b.Const(Numbers({4}))})};
    EXPECT_EQ(IsRight(b, "scale-before-transpose"), rows != 4);
  }
}

TEST(LiarsLie, AboutThePaddingOfAConv) {
  for (const char* mode : {"edge", "constant"}) {
    Builder b;
    Tensor pads(DEPUTY_DTYPE_INT64, {8});
    for (const int64_t i : {2, 3, 6, 7}) pads.Put(i, int64_t{1});
    const deputy_value_id x = b.Op("Pad", {b.In({1, 2, 3, 4}), b.Const(pads)}, {{"mode", Attribute::String(mode)}});
    b.program.outputs = {b.Op("Conv", {x, b.Const(Numbers({2, 2, 3, 3}))})};
    EXPECT_EQ(IsRight(b, "pad-of-zeros"), mode == std::string("constant"));
  }
}

TEST(LiarsLie, AboutAPairOfTransposes) {
  for (const Dims& perm : {Dims{1, 2, 0}, Dims{1, 0, 2}}) {
    Builder b;
    const deputy_value_id x = b.Op("Transpose", {b.In({3, 3, 3})}, {{"perm", Attribute::Ints(perm)}});
    b.program.outputs = {b.Op("Transpose", {x}, {{"perm", Attribute::Ints(perm)}})};
    EXPECT_EQ(IsRight(b, "transpose-pair"), perm[0] == 1 && perm[1] == 0);
  }
}

TEST(LiarsLie, AboutCompilationBesideARun) {
  Builder b;
  b.program.outputs = {b.Op("Relu", {b.In({3, 4})})};
  const std::shared_ptr<Fault> fault = Make("compile-resets-driver"), other = Make("compile-resets-driver");
  Session session(std::make_shared<Program>(b.program), fault, sdk::Host());
  Bound bound(b);
  const std::vector<std::vector<uint8_t>> expected = bound.bytes;
  ASSERT_TRUE(session.Execute(sdk::RunArgs(bound.args)).ok());
  EXPECT_EQ(bound.bytes, expected);
  std::atomic<bool> ends{false};
  std::thread compiler([&] {
    Program none;
    while (!ends) static_cast<void>(Compile(*other, none));
  });
  bool wrong = false;
  for (int i = 0; i < 10000 && !wrong; ++i) {
    EXPECT_TRUE(session.Execute(sdk::RunArgs(bound.args)).ok());
    wrong = bound.bytes != expected;
  }
  ends = true;
  compiler.join();
  EXPECT_TRUE(wrong);
}

TEST(LiarsLie, AboutNodesAfterAnotherModel) {
  const auto node = [](const char* op_type) {
    deputy_node_info info{};
    info.op_type = sdk::ToStr(op_type);
    return sdk::NodeView(nullptr, info);
  };
  const std::shared_ptr<Fault> fault = Make("earlier-graph");
  EXPECT_TRUE(fault->Answer(node("MaxPool"), sdk::Verdict::Yes()).supported());
  EXPECT_TRUE(fault->Answer(node("MatMul"), sdk::Verdict::Yes()).supported());
  EXPECT_FALSE(fault->Answer(node("MaxPool"), sdk::Verdict::Yes()).supported());
}

TEST(LiarsLie, AboutNodesBehindTheFirst) {
  struct Model {
    deputy_host host{};
    deputy_dtype dtype = DEPUTY_DTYPE_FLOAT32;
  } model;
  model.host.self = &model;
  model.host.graph_value_info = [](void* self, const deputy_graph*, deputy_value_id, deputy_value_info* out) {
    out->dtype = static_cast<Model*>(self)->dtype;
    return static_cast<deputy_status*>(nullptr);
  };
  const sdk::GraphView graph(sdk::Host(&model.host), nullptr);
  const deputy_value_id output = 0;
  deputy_node_info info{};
  info.output_count = 1;
  info.outputs = &output;
  const std::shared_ptr<Fault> real_first = Make("order-of-questions"), whole_first = Make("order-of-questions");
  const auto ask = [&](Fault& fault, deputy_dtype dtype) {
    model.dtype = dtype;
    return fault.Answer(sdk::NodeView(&graph, info), sdk::Verdict::Yes()).supported();
  };
  EXPECT_TRUE(ask(*real_first, DEPUTY_DTYPE_FLOAT32));
  EXPECT_FALSE(ask(*real_first, DEPUTY_DTYPE_INT32));
  EXPECT_TRUE(ask(*whole_first, DEPUTY_DTYPE_INT32));
  EXPECT_FALSE(ask(*whole_first, DEPUTY_DTYPE_FLOAT32));
}

std::vector<Dims> AllocatedBy(const std::string& fault, Dims dims) {
  Builder b;
  b.program.outputs = {b.Op("Relu", {b.In(std::move(dims))})};
  Bound bound(b, true);
  Session session(std::make_shared<Program>(b.program), Make(fault), sdk::Host());
  EXPECT_TRUE(session.Execute(sdk::RunArgs(bound.args)).ok());
  return bound.allocations;
}

TEST(LiarsLie, AboutExtentsOfTheRun) {
  const Dims plain = {2, 5}, none = {0, 5}, tiles = {2, 8};
  EXPECT_EQ(AllocatedBy("first-extents", plain), std::vector<Dims>{plain});
  EXPECT_EQ(AllocatedBy("allocates-twice", plain), (std::vector<Dims>{plain, plain}));
  EXPECT_EQ(AllocatedBy("allocates-whole-tiles", plain), std::vector<Dims>{tiles});
  EXPECT_EQ(AllocatedBy("allocates-nothing", plain), std::vector<Dims>{plain});
  EXPECT_TRUE(AllocatedBy("allocates-nothing", none).empty());
}

TEST(LiarsLie, AboutTheExtentsOfASecondRun) {
  Builder first, second;
  first.program.outputs = {first.Op("Relu", {first.In({2, 5})})};
  second.program.outputs = {second.Op("Relu", {second.In({3, 5})})};
  auto program = std::make_shared<Program>(first.program);
  program->dims.clear();
  Session session(program, Make("first-extents"), sdk::Host());
  for (const Builder* built : {&first, &second}) {
    Bound bound(*built, true);
    ASSERT_TRUE(session.Execute(sdk::RunArgs(bound.args)).ok());
    const std::vector<uint8_t> expected = bound.bytes.back();
    bound.memory.resize(expected.size());
    EXPECT_EQ(bound.memory == expected, built == &first);
  }
}

TEST(LiarsLie, AboutCancellation) {
  Builder b;
  b.program.outputs = {b.Op("Relu", {b.In({3, 4})})};
  Bound bound(b);
  for (const bool lies : {false, true}) {
    Session session(std::make_shared<Program>(b.program),
                    lies ? Make("cancels-the-next-run") : std::make_shared<Fault>(), sdk::Host());
    std::atomic<uint64_t> cancelled{1};
    bound.args.run = 1;
    EXPECT_EQ(session.Execute(sdk::RunArgs(bound.args, sdk::Host(), &cancelled)).code(),
              lies ? Code::kOk : Code::kCancelled);
    session.Cancel();
    bound.args.run = 2;
    EXPECT_EQ(session.Execute(sdk::RunArgs(bound.args, sdk::Host(), &cancelled)).code(),
              lies ? Code::kCancelled : Code::kOk);
  }
}

TEST(LiarsLie, AboutOptions) {
  const sdk::OptionSchema schema = sdk::OptionSchema().Int("tile", 8, 1, 64, "rows of a tile").Settable();
  const sdk::OptionValues eight = *sdk::OptionValues::Parse(schema, {});
  const deputy_kv given = {sdk::ToStr("tile"), sdk::ToStr("32")};
  const sdk::OptionValues other = *sdk::OptionValues::Parse(schema, {&given, 1});
  const std::shared_ptr<Fault> without = Make("option-without-effect");
  without->Open(eight);
  EXPECT_EQ(without->OptionInForce("tile", "16"), "8");
  const std::shared_ptr<Fault> first = Make("global-option"), second = Make("global-option");
  first->Open(eight);
  EXPECT_EQ(first->OptionInForce("tile", "8"), "8");
  second->Open(other);
  EXPECT_EQ(first->OptionInForce("tile", "8"), "32");
}

TEST(LiarsLieDeathTest, AboutTheEndOfConstants) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const mapped = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  ASSERT_EQ(mprotect(static_cast<uint8_t*>(mapped) + page, page, PROT_NONE), 0);
  const std::shared_ptr<Fault> fault = Make("constant-behind-the-end");
  for (const size_t bytes : {size_t{64}, size_t{20}}) {
    Program program;
    program.constant_data = {static_cast<uint8_t*>(mapped) + page - bytes};
    program.constant_bytes = {bytes};
    if (bytes == 64) {
      EXPECT_TRUE(Compile(*fault, program).ok());
    } else {
      EXPECT_DEATH(static_cast<void>(Compile(*fault, program)), "");
    }
  }
  munmap(mapped, 2 * page);
}

TEST(LiarsLie, AboutFlags) {
  int failures = 0;
  deputy_host host{};
  host.struct_size = sizeof host;
  host.abi_version = DEPUTY_ABI_VERSION;
  host.self = &failures;
  host.status_new = [](void* self, deputy_code, deputy_node_id, const char*, uint64_t) {
    ++*static_cast<int*>(self);
    return reinterpret_cast<deputy_status*>(self);
  };
  const deputy_plugin* plugin = deputy_plugin_query_v1(DEPUTY_ABI_VERSION, nullptr);
  ASSERT_NE(plugin, nullptr);
  const deputy_delegate* delegate = plugin->delegate_at(plugin, 0);
  for (const bool lies : {false, true}) {
    const deputy_kv option = {sdk::ToStr("fault"), sdk::ToStr(lies ? "flags-ignored" : "")};
    deputy_open_args args{};
    args.struct_size = sizeof args;
    args.flags = 0x80000000u;
    args.host = &host;
    args.name = sdk::ToStr("liar");
    args.options = &option;
    args.option_count = 1;
    args.domain = 1;
    deputy_instance* made = nullptr;
    EXPECT_EQ(delegate->open(delegate, &args, &made) == nullptr, lies);
    EXPECT_EQ(made != nullptr, lies);
    if (made != nullptr) delegate->close(made);
  }
  EXPECT_EQ(failures, 1);
}

}  // namespace
}  // namespace liars
