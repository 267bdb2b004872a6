// Values that stay in memory of a device between the partitions of its delegate: where the tensors of a run are, which
// copies the host makes, and what happens when the device is lost.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <string>

#include "base/log.hpp"
#include "memory/device_memory.hpp"
#include "plan/make_plan.hpp"
#include "support/test_delegate.hpp"
#include "unit/execute/cpu_fallback.hpp"
#include "unit/execute/cpu_plan.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kFew = 6;

// Buffers that only handles name.
class TestMemory final : public DeviceMemory {
 public:
  explicit TestMemory(uint64_t domain) : domain_(domain) {}

  uint64_t domain() const override { return domain_; }
  uint64_t losses() const override { return losses_; }
  void CountLoss(uint64_t seen) override { losses_ = seen + 1; }
  Result<uint64_t> Allocate(size_t bytes, size_t) override {
    if (full) return Status(StatusCode::kResourceExhausted, "the device is full");
    buffers_[++newest_].assign(bytes, 0xEE);
    return newest_;
  }
  Result<uint64_t> Import(const MemoryFilePart&) override {
    imported_[++newest_] = to_import;
    return newest_;
  }
  void Release(uint64_t handle) override { EXPECT_EQ(buffers_.erase(handle) + imported_.erase(handle), 1u); }
  Status CopyIn(const void* from, uint64_t handle, size_t bytes) override {
    if (!copying.ok()) return copying;
    ++copied_in;
    std::memcpy(At(handle, bytes), from, bytes);
    return {};
  }
  Status CopyOut(uint64_t handle, void* to, size_t bytes) override {
    if (!copying.ok()) return copying;
    ++copied_out;
    std::memcpy(to, At(handle, bytes), bytes);
    return {};
  }

  float* At(uint64_t handle, size_t bytes) {
    if (const auto imported = imported_.find(handle); imported != imported_.end()) return imported->second;
    const auto found = buffers_.find(handle);
    EXPECT_TRUE(found != buffers_.end()) << "there is no buffer " << handle;
    EXPECT_LE(bytes, found->second.size());
    return reinterpret_cast<float*>(found->second.data());
  }
  size_t buffers() const { return buffers_.size(); }
  uint64_t newest() const { return newest_; }

  bool full = false;
  float* to_import = nullptr;
  Status copying;
  int copied_in = 0, copied_out = 0;

 private:
  const uint64_t domain_;
  std::atomic<uint64_t> losses_{0};
  std::map<uint64_t, std::vector<uint8_t>> buffers_;
  std::map<uint64_t, float*> imported_;
  uint64_t newest_ = 0;
};

// What is logged in its life.
class LogText {
 public:
  LogText() {
    SetLogSink([this](LogLevel, std::string_view, std::string_view message) { text_ += std::string(message) + '\n'; });
  }
  ~LogText() { SetLogSink(nullptr); }
  LogText(const LogText&) = delete;
  LogText& operator=(const LogText&) = delete;

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

float Logistic(float x) { return 1 / (1 + std::exp(-x)); }

// a = Relu(x), b = Neg(a), t = Sigmoid(a), y = Add(b, t): the device has {a, b} and {y}, the CPU t. Only the device
// touches b.
class DeviceValuesTest : public testing::Test {
 protected:
  Status Prepare(StepFallback* fallback = nullptr, RunHandling handling = {}) {
    TestGraph graph(ValueType{DType::kFloat32, true, {kFew}});
    graph.Input("x").Node("a", "Relu", {"x"}).Node("b", "Neg", {"a"}).Node("t", "Sigmoid", {"a"});
    graph.Node("y", "Add", {summand_, "t"}).Output("y").Output("b");
    if (summand_ == "b") graph.graph.outputs.pop_back();
    device_->memory = memory_;
    device_->execute = [this](const RunArgs& args) { return Compute(args); };
    HostedDelegate hosted(device_);
    if (fallback != nullptr) hosted.health = std::make_shared<DelegateHealth>(handling);
    std::vector<HostedDelegate> delegates;
    delegates.push_back(std::move(hosted));
    delegates.emplace_back(MakeCpuDelegate(std::make_shared<ThreadPool>(1)));
    x_ = graph.Value("x");
    y_ = graph.Value("y");
    const ValueId b = graph.Value("b");
    DEPUTY_ASSIGN_OR_RETURN(plan_, MakePlan(std::make_shared<Graph>(std::move(graph.graph)), delegates, {}));
    DEPUTY_ASSIGN_OR_RETURN(execution_, Execution::Create(plan_, fallback));
    execution_->Bind(x_, in_.data());
    execution_->Bind(y_, out_.data());
    if (summand_ != "b") execution_->Bind(b, negated_.data());
    return {};
  }

  const float* Read(const deputy_tensor& tensor) {
    if (tensor.memory == DEPUTY_MEMORY_HOST) return static_cast<const float*>(tensor.data);
    EXPECT_EQ(tensor.data, nullptr);
    EXPECT_EQ(tensor.domain, memory_->domain());
    return memory_->At(tensor.handle, tensor.byte_size);
  }
  float* Write(const deputy_tensor& tensor) { return const_cast<float*>(Read(tensor)); }

  // The partitions of the device: {a, b} has one input, {y} has two.
  Status Compute(const RunArgs& args) {
    for (const auto* tensor : args.inputs) on_device_ += tensor->memory == DEPUTY_MEMORY_DEVICE;
    for (const auto* tensor : args.outputs) on_device_ += tensor->memory == DEPUTY_MEMORY_DEVICE;
    const bool is_first = args.inputs.size() == 1;
    if (!is_first && !second_.ok()) return second_;
    const float* const left = Read(*args.inputs[0]);
    for (int64_t i = 0; i < kFew; ++i) {
      if (is_first) {
        const float relu = std::max(left[i], 0.0F);
        Write(*args.outputs[0])[i] = relu;
        Write(*args.outputs[1])[i] = -relu;
      } else {
        Write(*args.outputs[0])[i] = left[i] + Read(*args.inputs[1])[i];
      }
    }
    return {};
  }

  void ExpectRight() {
    const Status status = execution_->Run();
    ASSERT_TRUE(status.ok()) << status.ToString();
    for (size_t i = 0; i < in_.size(); ++i) {
      const float a = std::max(in_[i], 0.0F);
      EXPECT_NEAR(out_[i], (summand_ == "x" ? in_[i] : summand_ == "a" ? a : -a) + Logistic(a), 1e-6) << i;
      if (summand_ != "b") {
        EXPECT_EQ(negated_[i], -a) << i;
      }
    }
    std::fill(out_.begin(), out_.end(), 99.0F);
    for (float& x : in_) x += 0.25F;  // what an earlier run has left is wrong
  }
  CopyCounts Copies() {
    CopyCounts sum;
    for (size_t step = 0; step < plan_->steps.size(); ++step) {
      const CopyCounts copies = execution_->TakeCopies(step);
      sum.count += copies.count;
      sum.bytes += copies.bytes;
    }
    return sum;
  }

  std::shared_ptr<TestMemory> memory_ = std::make_shared<TestMemory>(7);
  std::shared_ptr<TestDelegate> device_ =
      std::make_shared<TestDelegate>("npu", std::set<std::string>{"Relu", "Neg", "Add"});
  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<Execution> execution_;
  ValueId x_ = kNone, y_ = kNone;
  std::string summand_ = "b";  // of y; if another one, b is an output
  int on_device_ = 0;          // tensors of runs
  Status second_;              // of the second partition
  std::vector<float> in_ = {-2, -1, 0, 1, 2, 3}, out_ = std::vector<float>(kFew), negated_ = std::vector<float>(kFew);
};

TEST_F(DeviceValuesTest, WhatOnlyTheDeviceTouchesIsNeverCopied) {
  ASSERT_TRUE(Prepare().ok());
  for (int run = 0; run < 3; ++run) ExpectRight();
  EXPECT_EQ(memory_->buffers(), 1u);  // of b; what one partition alone touches is in host memory
  EXPECT_EQ(on_device_, 3 * 2);
  EXPECT_EQ(memory_->copied_in + memory_->copied_out, 0);
  EXPECT_EQ(Copies().count, 0u);
}

TEST_F(DeviceValuesTest, ReadersOnTheHostHaveOneCopy) {
  summand_ = "a";
  ASSERT_TRUE(Prepare().ok());
  for (int run = 0; run < 3; ++run) ExpectRight();
  EXPECT_EQ(memory_->buffers(), 1u);  // of a
  EXPECT_EQ(memory_->copied_in, 0);
  EXPECT_EQ(memory_->copied_out, 3);
  EXPECT_EQ(Copies().count, 3u);
  EXPECT_EQ(Copies().count, 0u) << "they were taken";
  ExpectRight();
  EXPECT_EQ(Copies().bytes, kFew * sizeof(float));
}

TEST_F(DeviceValuesTest, AnInputOfTwoPartitionsIsCopiedOnceInEachRun) {
  summand_ = "x";
  ASSERT_TRUE(Prepare().ok());
  for (int run = 0; run < 3; ++run) ExpectRight();
  EXPECT_EQ(memory_->buffers(), 1u);
  EXPECT_EQ(memory_->copied_in, 3);
  EXPECT_EQ(memory_->copied_out, 0);
}

// Four partitions of the device, b1 between the first two, b2 between the next, b3 between the last.
class ChainOfValues : public DeviceValuesTest {
 protected:
  void Prepare(bool overlaps) {
    if (overlaps)  // with enough to do
      for (std::vector<float>* values : {&in_, &out_, &negated_}) values->resize(200'000);
    TestGraph graph(ValueType{DType::kFloat32, true, {static_cast<int64_t>(in_.size())}});
    graph.Input("x").Node("s1", "Relu", {"x"}).Node("b1", "Neg", {"s1"}).Node("t1", "Sigmoid", {"s1"});
    graph.Node("s2", "Add", {"b1", "t1"}).Node("b2", "Neg", {"s2"}).Node("t2", "Sigmoid", {"s2"});
    graph.Node("s3", "Add", {"b2", "t2"}).Node("b3", "Neg", {"s3"}).Node("t3", "Sigmoid", {"s3"});
    graph.Node("y", "Add", {"b3", "t3"}).Output("y");
    if (overlaps) graph.Node("z", "Sigmoid", {"x"}).Output("z");
    device_->memory = memory_;
    device_->overlap = overlaps;
    device_->execute = [this](const RunArgs& args) { return Compute(args); };
    std::vector<HostedDelegate> delegates;
    delegates.emplace_back(device_);
    delegates.back().health = std::make_shared<DelegateHealth>(RunHandling());
    delegates.emplace_back(MakeCpuDelegate(std::make_shared<ThreadPool>(1)));
    x_ = graph.Value("x");
    y_ = graph.Value("y");
    plan_ = *MakePlan(std::make_shared<Graph>(std::move(graph.graph)), delegates, {});
    execution_ = *Execution::Create(plan_, &fallback_);
    execution_->Bind(x_, in_.data());
    execution_->Bind(y_, out_.data());
    if (overlaps) execution_->Bind(plan_->graph->outputs[1], negated_.data());
  }
  // A sum of one or two inputs, and its negative where that is an output, too.
  Status Compute(const RunArgs& args) {
    if (device_->runs == lost_in_) return Status(StatusCode::kDeviceLost, "gone");
    for (size_t i = 0; i < in_.size(); ++i) {
      const float sum = args.inputs.size() == 1 ? std::max(Read(*args.inputs[0])[i], 0.0F)
                                                : Read(*args.inputs[0])[i] + Read(*args.inputs[1])[i];
      Write(*args.outputs[0])[i] = sum;
      if (args.outputs.size() == 2) Write(*args.outputs[1])[i] = -sum;
    }
    return {};
  }
  void ExpectRight() {
    const Status status = execution_->Run();
    ASSERT_TRUE(status.ok()) << status.ToString();
    for (size_t i = 0; i < in_.size(); ++i) {
      float sum = std::max(in_[i], 0.0F);
      for (int step = 0; step < 3; ++step) sum = -sum + Logistic(sum);
      EXPECT_NEAR(out_[i], sum, 1e-6) << i;
    }
    std::fill(out_.begin(), out_.end(), 99.0F);
    for (float& x : in_) x += 0.25F;
  }

  CpuFallback fallback_{MakeCpuDelegate(std::make_shared<ThreadPool>(1))};
  int lost_in_ = -1;  // the run of the device that loses it
};

TEST_F(ChainOfValues, ThoseThatAreNotNeededAtOnceShareABuffer) {
  Prepare(false);
  for (int run = 0; run < 3; ++run) ExpectRight();
  EXPECT_EQ(memory_->buffers(), 2u);  // b1 and b3, b2
  EXPECT_EQ(memory_->copied_in + memory_->copied_out, 0);
  // After a loss, too.
  for (int lost = 0; lost < 4; ++lost) {
    lost_in_ = device_->runs + lost;
    ExpectRight();
    lost_in_ = -1;
    ExpectRight();
    EXPECT_EQ(memory_->buffers(), 2u);
  }
}

TEST_F(ChainOfValues, WhereStepsOverlapEachHasItsBuffer) {
  Prepare(true);
  ASSERT_TRUE(plan_->overlaps);
  ExpectRight();
  EXPECT_EQ(memory_->buffers(), 3u);
}

TEST_F(DeviceValuesTest, BuffersEndWithTheExecution) {
  ASSERT_TRUE(Prepare().ok());
  EXPECT_EQ(memory_->buffers(), 1u);
  execution_ = nullptr;
  EXPECT_EQ(memory_->buffers(), 0u);
}

TEST_F(DeviceValuesTest, ADeviceWithoutRoomGetsHostMemory) {
  memory_->full = true;
  const LogText log;
  ASSERT_TRUE(Prepare().ok());
  ExpectRight();
  EXPECT_EQ(on_device_, 0);
  EXPECT_NE(log.text().find("value 'b' stays in host memory: the device is full"), std::string::npos) << log.text();
}

TEST_F(DeviceValuesTest, AWishForOneSideOnlyKeepsNothingOnTheDevice) {
  device_->wish = [](size_t index, const deputy_tensor& tensor) {
    return MemoryWish{index > 1, static_cast<size_t>(tensor.byte_size), 64};
  };
  ASSERT_TRUE(Prepare().ok());
  ExpectRight();
  EXPECT_EQ(on_device_, 0);
  EXPECT_EQ(memory_->buffers(), 0u);
}

TEST_F(DeviceValuesTest, ALostDeviceIsAnsweredByARunFromTheBegin) {
  CpuFallback fallback(MakeCpuDelegate(std::make_shared<ThreadPool>(1)));
  ASSERT_TRUE(Prepare(&fallback).ok());
  ExpectRight();
  second_ = Status(StatusCode::kDeviceLost, "gone");
  const int runs = device_->runs;
  const LogText log;
  ExpectRight();
  EXPECT_NE(log.text().find("the run begins again from its inputs without it (gone)"), std::string::npos) << log.text();
  EXPECT_EQ(device_->runs, runs + 2) << "the run that began again used the device";
  EXPECT_EQ(fallback.reports, 1);
  EXPECT_EQ(fallback.reason.code(), StatusCode::kDeviceLost);
  // The device works again: its buffers are new ones.
  second_ = {};
  const uint64_t newest = memory_->newest();
  ExpectRight();
  EXPECT_GT(memory_->newest(), newest);
  EXPECT_EQ(device_->runs, runs + 4);
  EXPECT_EQ(memory_->buffers(), 1u);
}

TEST_F(DeviceValuesTest, ACopyThatFindsTheDeviceLostIsAnsweredToo) {
  summand_ = "a";
  CpuFallback fallback(MakeCpuDelegate(std::make_shared<ThreadPool>(1)));
  ASSERT_TRUE(Prepare(&fallback).ok());
  memory_->copying = Status(StatusCode::kDeviceLost, "gone");
  ExpectRight();
  EXPECT_EQ(device_->runs, 1);
  memory_->copying = {};
  ExpectRight();
  EXPECT_EQ(device_->runs, 3);
}

TEST_F(DeviceValuesTest, AnotherFailureIsAnsweredFromACopyOfTheInputs) {
  CpuFallback fallback(MakeCpuDelegate(std::make_shared<ThreadPool>(1)));
  ASSERT_TRUE(Prepare(&fallback).ok());
  second_ = Status(StatusCode::kInternal, "a fault");
  ExpectRight();
  EXPECT_EQ(device_->runs, 2);
  EXPECT_EQ(memory_->copied_out, 1);
  EXPECT_EQ(fallback.reports, 1);
}

TEST_F(DeviceValuesTest, WithoutAnAlternativeALossEndsTheRun) {
  ASSERT_TRUE(Prepare().ok());
  second_ = Status(StatusCode::kDeviceLost, "gone");
  EXPECT_EQ(execution_->Run().code(), StatusCode::kDeviceLost);
  second_ = {};
  ExpectRight();
}

TEST_F(DeviceValuesTest, ADeviceThatStaysFullAfterALossIsNotUsed) {
  CpuFallback fallback(MakeCpuDelegate(std::make_shared<ThreadPool>(1)));
  ASSERT_TRUE(Prepare(&fallback).ok());
  second_ = Status(StatusCode::kDeviceLost, "gone");
  ExpectRight();
  second_ = {};
  memory_->full = true;
  const int runs = device_->runs;
  ExpectRight();
  EXPECT_EQ(device_->runs, runs);
  memory_->full = false;
  ExpectRight();
  EXPECT_EQ(device_->runs, runs + 2);
}

TEST_F(DeviceValuesTest, ABoundInputIsNeverCopiedAndABoundOutputIsNotEither) {
  ASSERT_TRUE(Prepare().ok());
  const auto x = std::make_shared<DeviceBuffer>(std::move(DeviceBuffer::Make(memory_, 24, 64)).value());
  const auto y = std::make_shared<DeviceBuffer>(std::move(DeviceBuffer::Make(memory_, 24, 64)).value());
  ASSERT_TRUE(memory_->CopyIn(in_.data(), x->handle(), 24).ok());
  ASSERT_TRUE(execution_->BindBuffer(x_, true, x));
  ASSERT_TRUE(execution_->BindBuffer(y_, false, y));
  EXPECT_FALSE(execution_->BindBuffer(x_, false, x)) << "no step writes it";
  memory_->copied_in = 0;
  const std::vector<float> in = in_;
  in_.assign(in_.size(), 77);  // of the host's memory nothing is read
  ASSERT_TRUE(execution_->Run().ok());
  EXPECT_EQ(memory_->copied_in + memory_->copied_out, 0);
  EXPECT_EQ(on_device_, 4);
  for (size_t i = 0; i < in.size(); ++i) {
    const float a = std::max(in[i], 0.0F);
    EXPECT_NEAR(memory_->At(y->handle(), 24)[i], -a + Logistic(a), 1e-6);
  }
  // Without them again.
  in_ = in;
  EXPECT_FALSE(execution_->BindBuffer(x_, true, nullptr));
  EXPECT_FALSE(execution_->BindBuffer(y_, false, nullptr));
  ExpectRight();
}

TEST_F(DeviceValuesTest, WhatTheHostHasInImportedMemoryIsNotCopied) {
  summand_ = "x";
  CpuFallback fallback(MakeCpuDelegate(std::make_shared<ThreadPool>(1)));
  ASSERT_TRUE(Prepare(&fallback).ok());
  const auto bind = [&](ValueId value, bool is_input, std::vector<float>& values) {
    memory_->to_import = values.data();
    auto made = DeviceBuffer::Import(memory_, {-1, 0, values.size() * sizeof(float)}, values.data(), 64);
    return execution_->BindBuffer(value, is_input, std::make_shared<DeviceBuffer>(std::move(made).value()));
  };
  ASSERT_TRUE(bind(x_, true, in_));
  ASSERT_TRUE(bind(y_, false, out_));
  for (int run = 0; run < 3; ++run) ExpectRight();
  EXPECT_EQ(on_device_, 3 * 3);  // x twice, y
  // The alternative reads and writes the same memory.
  second_ = Status(StatusCode::kInternal, "a fault");
  ExpectRight();
  EXPECT_EQ(fallback.reports, 1);
  EXPECT_EQ(memory_->copied_in + memory_->copied_out, 0);
  EXPECT_EQ(Copies().count, 0u);
}

TEST_F(DeviceValuesTest, TheFirstRunInImportedMemoryIsVerifiedToo) {
  summand_ = "x";
  CpuFallback fallback(MakeCpuDelegate(std::make_shared<ThreadPool>(1)));
  RunHandling handling;
  handling.first_run = true;
  ASSERT_TRUE(Prepare(&fallback, handling).ok());
  ExpectRight();
  EXPECT_EQ(fallback.verifications, 2);
  for (const Step& step : plan_->steps)
    if (step.health != nullptr) step.health->SetVerified();
  ExpectRight();
  EXPECT_EQ(fallback.verifications, 2);
  memory_->to_import = out_.data();
  auto made = DeviceBuffer::Import(memory_, {-1, 0, out_.size() * sizeof(float)}, out_.data(), 64);
  const auto buffer = std::make_shared<DeviceBuffer>(std::move(made).value());
  ASSERT_TRUE(execution_->BindBuffer(y_, false, buffer));
  for (int run = 0; run < 2; ++run) ExpectRight();
  EXPECT_EQ(fallback.verifications, 3) << "that of the partition with y";
  // Another buffer is no other kind of memory.
  EXPECT_FALSE(execution_->BindBuffer(y_, false, nullptr));
  ASSERT_TRUE(execution_->BindBuffer(y_, false, buffer));
  ExpectRight();
  EXPECT_EQ(fallback.verifications, 3);
}

TEST_F(DeviceValuesTest, ABufferThatIsTooSmallOrOfAnotherMemoryIsNotUsed) {
  ASSERT_TRUE(Prepare().ok());
  const auto small = std::make_shared<DeviceBuffer>(std::move(DeviceBuffer::Make(memory_, 20, 64)).value());
  const auto coarse = std::make_shared<DeviceBuffer>(std::move(DeviceBuffer::Make(memory_, 24, 32)).value());
  const auto other =
      std::make_shared<DeviceBuffer>(std::move(DeviceBuffer::Make(std::make_shared<TestMemory>(8), 24, 64)).value());
  for (const auto& buffer : {small, coarse, other}) EXPECT_FALSE(execution_->BindBuffer(x_, true, buffer));
  ExpectRight();
}

TEST_F(DeviceValuesTest, ABoundOutputGetsWhatTheAlternativeComputes) {
  CpuFallback fallback(MakeCpuDelegate(std::make_shared<ThreadPool>(1)));
  ASSERT_TRUE(Prepare(&fallback).ok());
  const auto y = std::make_shared<DeviceBuffer>(std::move(DeviceBuffer::Make(memory_, 24, 64)).value());
  ASSERT_TRUE(execution_->BindBuffer(y_, false, y));
  second_ = Status(StatusCode::kInternal, "a fault");
  ASSERT_TRUE(execution_->Run().ok());
  EXPECT_EQ(memory_->copied_in, 1);
  for (size_t i = 0; i < in_.size(); ++i) {
    const float a = std::max(in_[i], 0.0F);
    EXPECT_NEAR(memory_->At(y->handle(), 24)[i], -a + Logistic(a), 1e-6);
  }
}

TEST_F(DeviceValuesTest, ABoundInputThatIsLostFailsUntilAnotherOneIsBound) {
  CpuFallback fallback(MakeCpuDelegate(std::make_shared<ThreadPool>(1)));
  ASSERT_TRUE(Prepare(&fallback).ok());
  const auto bind = [&] {
    const auto x = std::make_shared<DeviceBuffer>(std::move(DeviceBuffer::Make(memory_, 24, 64)).value());
    ASSERT_TRUE(memory_->CopyIn(in_.data(), x->handle(), 24).ok());
    ASSERT_TRUE(execution_->BindBuffer(x_, true, x));
  };
  bind();
  ExpectRight();
  second_ = Status(StatusCode::kDeviceLost, "gone");
  EXPECT_EQ(execution_->Run().code(), StatusCode::kDeviceLost);
  second_ = {};
  EXPECT_EQ(execution_->Run().code(), StatusCode::kDeviceLost);
  bind();
  ExpectRight();
}

TEST_F(DeviceValuesTest, ALossThatAnotherExecutionFoundEndsTheBuffers) {
  ASSERT_TRUE(Prepare().ok());
  const std::unique_ptr<Execution> other = std::move(Execution::Create(plan_)).value();
  other->Bind(x_, in_.data());
  other->Bind(y_, out_.data());
  second_ = Status(StatusCode::kDeviceLost, "gone");
  EXPECT_EQ(other->Run().code(), StatusCode::kDeviceLost);
  second_ = {};
  const uint64_t newest = memory_->newest();
  ExpectRight();
  EXPECT_GT(memory_->newest(), newest);
}

TEST_F(DeviceValuesTest, VerificationSeesHostMemory) {
  CpuFallback fallback(MakeCpuDelegate(std::make_shared<ThreadPool>(1)));
  ASSERT_TRUE(Prepare(&fallback, {.every = 1}).ok());
  fallback.verified = [](const StepRun& run) {
    for (const auto* tensor : run.before) EXPECT_EQ(tensor->memory, DEPUTY_MEMORY_HOST);
    for (const auto* tensor : run.outputs) EXPECT_EQ(tensor->memory, DEPUTY_MEMORY_HOST);
    if (run.outputs.size() == 2) {  // a delegate that was wrong: what replaces its result is what others read
      auto* const b = static_cast<float*>(run.outputs[1]->data);
      const auto* const a = static_cast<const float*>(run.outputs[0]->data);
      for (int64_t i = 0; i < kFew; ++i) {
        EXPECT_EQ(b[i], -a[i]);
        b[i] = 1;
      }
    }
  };
  const Status status = execution_->Run();
  ASSERT_TRUE(status.ok()) << status.ToString();
  for (size_t i = 0; i < in_.size(); ++i) EXPECT_NEAR(out_[i], 1 + Logistic(std::max(in_[i], 0.0F)), 1e-6);
  EXPECT_EQ(fallback.verifications, 2);
  EXPECT_EQ(memory_->copied_in, 1);
}

TEST_F(DeviceValuesTest, ObserversSeeHostMemory) {
  class Observer final : public StepObserver {
   public:
    Status Ended(const Execution& execution, size_t step) override {
      for (const ValueId value : execution.plan().steps[step].outputs) {
        const deputy_tensor& tensor = execution.tensor(value);
        EXPECT_EQ(tensor.memory, DEPUTY_MEMORY_HOST);
        if (execution.plan().graph->values[value].name == "b") last = static_cast<const float*>(tensor.data)[5];
      }
      return {};
    }
    float last = 0;
  } observer;
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(execution_->Run({}, {}, &observer).ok());
  EXPECT_EQ(observer.last, -3);
}

}  // namespace
}  // namespace deputy::host
