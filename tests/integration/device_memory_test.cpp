// Values in memory of a device, of the process and of a worker process, through the public API: what stays there
// between partitions, and buffers that are bound to inputs and outputs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "deputy/deputy.hpp"
#include "support/waiting.hpp"

namespace deputy {
namespace {

constexpr const char* kModels = DEPUTY_TEST_MODELS;

Result<Context> Open(const std::string& entry, const std::string& more = "") {
  return Context::FromYamlText("memory.yaml",
                               "version: 1\nplugins: {paths: [" DEPUTY_TEST_PLUGINS
                               "]}\ncache: {dir: \"off\"}\nlog: {level: error}\ndelegates:\n  - {name: npu, delegate: "
                               "sim_npu" +
                                   entry + "}\n" + more);
}

Tensor Numbers(float first) {
  std::vector<float> values(64);
  for (size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i % 7) / 8;
  return *Tensor::FromValues<float>(DType::kFloat32, {4, 16}, values);
}

std::vector<float> Values(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

class DeviceMemoryTest : public testing::TestWithParam<std::string> {
 protected:
  void Load(const std::string& model, const std::string& entry = "") {
    const Result<Context> context = Open(", isolation: " + GetParam() + entry);
    ASSERT_TRUE(context.ok()) << context.status().ToString();
    const Status status = model_.Build(std::string(kModels) + "/" + model + ".onnx", *context);
    ASSERT_TRUE(status.ok()) << status.ToString();
    session_ = *model_.CreateSession();
    session_.EnableEvents(true);
  }
  uint64_t Copies() const {
    uint64_t copies = session_.statistics().buffer_copies;
    for (const RunEvent& event : session_.events()) copies += event.copies;
    return copies;
  }
  // Of adding_up: runs it so often, each result being the next one's `last`.
  void AddUp(Buffer from, Buffer to, int runs) {
    for (int run = 0; run < runs; ++run) {
      ASSERT_TRUE(session_.BindInput("last", from).ok());
      ASSERT_TRUE(session_.BindOutput("next", to).ok());
      std::vector<Tensor> outputs;
      const Status status = session_.Predict({Numbers(0.5F), Tensor()}, &outputs);
      ASSERT_TRUE(status.ok()) << status.ToString();
      ASSERT_EQ(outputs.size(), 1u);
      EXPECT_TRUE(outputs[0].empty());
      copies_ += Copies();
      std::swap(from, to);
    }
  }
  // The same by tensors.
  std::vector<float> AddedUp(int runs) {
    std::vector<Tensor> outputs = {Numbers(0)};
    for (int run = 0; run < runs; ++run) {
      std::vector<Tensor> made;
      EXPECT_TRUE(session_.Predict({Numbers(0.5F), outputs[0]}, &made).ok());
      outputs = std::move(made);
    }
    return Values(outputs[0]);
  }

  Model model_;
  Session session_;
  uint64_t copies_ = 0;
};

// Seed row 50.
TEST_P(DeviceMemoryTest, BetweenPartitionsOfTheDelegateNothingIsCopied) {
  Load("around_the_cpu");
  ASSERT_EQ(model_.Placement()->partitions.size(), 3u);
  for (const float first : {-1.0F, 0.25F}) {
    std::vector<Tensor> outputs;
    const Tensor x = Numbers(first);
    const Status status = session_.Predict({x}, &outputs);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(Copies(), 0u);
    for (size_t i = 0; i < 64; ++i) {
      const float a = std::max(x.values<float>()[i], 0.0F);
      EXPECT_NEAR(outputs[0].values<float>()[i], std::tanh(a) + std::erf(a), 1e-5);
    }
  }
}

TEST_P(DeviceMemoryTest, AfterAReloadBuffersOfTheFormerDeviceAreCopied) {
  Result<Context> context = Open(", isolation: " + GetParam());
  ASSERT_TRUE(context.ok()) << context.status().ToString();
  ASSERT_TRUE(model_.Build(std::string(kModels) + "/adding_up.onnx", *context).ok());
  session_ = *model_.CreateSession();
  session_.EnableEvents(true);
  const std::vector<float> expected = AddedUp(4);
  const Buffer one = *session_.InputBuffer("last"), two = *session_.OutputBuffer("next");
  ASSERT_TRUE(Buffer(one).Write(Numbers(0)).ok());
  AddUp(one, two, 2);
  EXPECT_EQ(copies_, 0u);
  ASSERT_TRUE(context->Reload().ok());
  AddUp(one, two, 2);
  EXPECT_GE(copies_, 4u);
  EXPECT_EQ(Values(*one.Read()), expected);
  // Those that are made now are of the present device.
  copies_ = 0;
  Buffer from = *session_.InputBuffer("last");
  ASSERT_TRUE(from.Write(Numbers(0)).ok());
  AddUp(from, *session_.OutputBuffer("next"), 4);
  EXPECT_EQ(copies_, 0u);
  EXPECT_EQ(Values(*from.Read()), expected);
}

// Seed row 53.
TEST_P(DeviceMemoryTest, TenRunsFromBufferToBufferCopyNothing) {
  Load("adding_up");
  const std::vector<float> expected = AddedUp(10);
  Buffer one = *session_.InputBuffer("last"), two = *session_.OutputBuffer("next");
  EXPECT_TRUE(one.is_on_device());
  EXPECT_TRUE(two.is_on_device());
  ASSERT_TRUE(one.Write(Numbers(0)).ok());
  AddUp(one, two, 10);
  EXPECT_EQ(copies_, 0u);
  EXPECT_EQ(Values(*one.Read()), expected);
}

TEST_P(DeviceMemoryTest, ABufferGoesFromOneModelToAnother) {
  Load("adding_up");
  const Result<Context> context = Open(", isolation: " + GetParam());
  Model other;
  ASSERT_TRUE(other.Build(std::string(kModels) + "/around_the_cpu.onnx", *context).ok());
  Session reader = *other.CreateSession();
  Buffer last = *session_.InputBuffer("last"), next = *session_.OutputBuffer("next");
  ASSERT_TRUE(last.Write(Numbers(-1)).ok());
  AddUp(last, next, 1);
  ASSERT_TRUE(reader.BindInput("x", next).ok());
  std::vector<Tensor> bound, given;
  ASSERT_TRUE(reader.Predict({Tensor()}, &bound).ok());
  // The devices of two contexts are opened twice: the second one gets a copy.
  EXPECT_EQ(reader.statistics().buffer_copies, 1u);
  ASSERT_TRUE(reader.BindInput("x", Buffer()).ok());
  ASSERT_TRUE(reader.Predict({*next.Read()}, &given).ok());
  EXPECT_EQ(reader.statistics().buffer_copies, 0u);
  EXPECT_EQ(Values(bound[0]), Values(given[0]));
}

TEST_P(DeviceMemoryTest, SessionsOfOneContextShareABufferWithoutACopy) {
  Load("adding_up");
  Session second = *model_.CreateSession();
  second.EnableEvents(true);
  Buffer last = *session_.InputBuffer("last"), next = *session_.OutputBuffer("next"),
         end = *second.OutputBuffer("next");
  ASSERT_TRUE(last.Write(Numbers(2)).ok());
  AddUp(last, next, 1);
  ASSERT_TRUE(second.BindInput("last", next).ok());
  ASSERT_TRUE(second.BindOutput("next", end).ok());
  std::vector<Tensor> outputs;
  ASSERT_TRUE(second.Predict({Numbers(0.5F), Tensor()}, &outputs).ok());
  EXPECT_EQ(second.statistics().buffer_copies, 0u);
  for (const RunEvent& event : second.events()) EXPECT_EQ(event.copies, 0u);
  for (size_t i = 0; i < 64; ++i)
    EXPECT_NEAR(Values(*end.Read())[i], Numbers(2).values<float>()[i] + 2 * std::tanh(Numbers(0.5F).values<float>()[i]),
                1e-5);
}

TEST_P(DeviceMemoryTest, RequestsUseBuffersInTheirOrder) {
  Load("adding_up");
  const std::vector<float> expected = AddedUp(1);
  Buffer last = *session_.InputBuffer("last"), next = *session_.OutputBuffer("next");
  ASSERT_TRUE(last.Write(Numbers(0)).ok());
  ASSERT_TRUE(session_.BindInput("last", last).ok());
  ASSERT_TRUE(session_.BindOutput("next", next).ok());
  ASSERT_TRUE(session_.SetInFlight(3).ok());
  std::vector<std::future<PredictResult>> results;
  for (int i = 0; i < 3; ++i) {
    Result<std::future<PredictResult>> result = session_.PredictAsync({Numbers(0.5F), Tensor()});
    ASSERT_TRUE(result.ok()) << result.status().ToString();
    results.push_back(std::move(result).value());
  }
  for (std::future<PredictResult>& result : results) {
    const PredictResult ended = result.get();
    EXPECT_TRUE(ended.status.ok()) << ended.status.ToString();
  }
  EXPECT_EQ(Values(*next.Read()), expected);
}

TEST_P(DeviceMemoryTest, ABoundOutputMayBeReadInTheCallback) {
  Load("adding_up");
  Buffer next = *session_.OutputBuffer("next");
  ASSERT_TRUE(session_.BindOutput("next", next).ok());
  ASSERT_TRUE(session_.SetInFlight(8).ok());
  std::atomic<int> ended{0}, right{0};
  for (int i = 0; i < 8; ++i) {
    const Result<uint64_t> request = session_.PredictAsync({Numbers(0), Numbers(1)}, [&](PredictResult&& result) {
      // The next request may write it already: then it is in use.
      const Result<Tensor> read = next.Read();
      if (result.status.ok() && (read.ok() || read.status().code() == StatusCode::kFailedPrecondition)) ++right;
      ++ended;
    });
    ASSERT_TRUE(request.ok()) << request.status().ToString();
  }
  EXPECT_TRUE(Eventually([&] { return ended == 8; }));
  EXPECT_EQ(right, 8);
}

TEST_P(DeviceMemoryTest, AForkedChildGetsAnErrorAndChangesNothing) {
  Load("adding_up");
  Buffer last = *session_.InputBuffer("last");
  ASSERT_TRUE(last.Write(Numbers(3)).ok());
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = last.Write(Numbers(9)).code() == StatusCode::kFailedPrecondition &&
                         last.Read().status().code() == StatusCode::kFailedPrecondition;
    last = Buffer();
    session_ = Session();
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Values(*last.Read()), Values(Numbers(3)));
}

TEST_P(DeviceMemoryTest, WhatStaysTakesNoTimeOfTheDevice) {
  Load("adding_up");
  session_.EnableProfiling(true);
  std::vector<Tensor> outputs;
  ASSERT_TRUE(session_.Predict({Numbers(0.5F), Numbers(1)}, &outputs).ok());
  const uint64_t transferred_ns = session_.statistics().device_ns.at(0);
  Buffer last = *session_.InputBuffer("last"), next = *session_.OutputBuffer("next");
  ASSERT_TRUE(last.Write(Numbers(1)).ok());
  AddUp(last, next, 1);
  // Two values of 256 bytes, in and out, at 32 bytes and 900 MHz.
  EXPECT_NEAR(static_cast<double>(transferred_ns - session_.statistics().device_ns.at(0)), 16 / 0.9, 2);
}

TEST_P(DeviceMemoryTest, CopiesOfTheHostTakeTimeOfTheDevice) {
  Load("adding_up");
  const auto busy_ns = [&] { return model_.Placement()->delegates.at(0).device.busy_ns; };
  Buffer last = *session_.InputBuffer("last");
  const uint64_t before_ns = busy_ns();
  ASSERT_TRUE(last.Write(Numbers(0)).ok());
  EXPECT_NEAR(static_cast<double>(busy_ns() - before_ns), 8 / 0.9, 2);
}

TEST_P(DeviceMemoryTest, ABufferThatARunUsesIsNotWritten) {
  Load("two_branches", ", options: {realtime: true, frequency: low}");
  Buffer x = *session_.InputBuffer("x");
  ASSERT_TRUE(x.Write(Numbers(1)).ok());
  ASSERT_TRUE(session_.BindInput("x", x).ok());
  std::atomic<bool> ends{false};
  std::thread runs([&] {
    std::vector<Tensor> outputs;
    while (!ends) {
      const Status status = session_.Predict({Tensor()}, &outputs);
      EXPECT_TRUE(status.ok()) << "a run waits for a copy: " << status.ToString();
    }
  });
  EXPECT_TRUE(Eventually([&] { return x.Write(Numbers(1)).code() == StatusCode::kFailedPrecondition; }));
  EXPECT_TRUE(Eventually([&] { return x.Read().ok(); })) << "runs only read it";
  ends = true;
  runs.join();
  EXPECT_TRUE(x.Write(Numbers(1)).ok());
}

TEST_P(DeviceMemoryTest, ACallbackBindsNothing) {
  Load("adding_up");
  const Buffer last = *session_.InputBuffer("last");
  std::promise<Status> bound;
  const Result<uint64_t> request = session_.PredictAsync(
      {Numbers(0), Numbers(0)}, [&](PredictResult&&) { bound.set_value(session_.BindInput("last", last)); });
  ASSERT_TRUE(request.ok()) << request.status().ToString();
  EXPECT_EQ(bound.get_future().get().code(), StatusCode::kFailedPrecondition);
}

TEST_P(DeviceMemoryTest, AnUnboundInputIsATensorAgain) {
  Load("adding_up");
  Buffer last = *session_.InputBuffer("last");
  ASSERT_TRUE(last.Write(Numbers(8)).ok());
  ASSERT_TRUE(session_.BindInput("last", last).ok());
  std::vector<Tensor> bound, given;
  ASSERT_TRUE(session_.Predict({Numbers(0.5F), Tensor()}, &bound).ok());
  EXPECT_EQ(session_.Predict({Numbers(0.5F), Numbers(8)}, &given).code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(session_.BindInput("last", Buffer()).ok());
  EXPECT_EQ(session_.Predict({Numbers(0.5F), Tensor()}, &given).code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(session_.Predict({Numbers(0.5F), Numbers(8)}, &given).ok());
  EXPECT_EQ(Values(bound[0]), Values(given[0]));
}

TEST_P(DeviceMemoryTest, MistakesAreRefused) {
  Load("adding_up");
  EXPECT_EQ(session_.InputBuffer("none").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(session_.OutputBuffer("last").status().code(), StatusCode::kNotFound);
  Buffer last = *session_.InputBuffer("last");
  EXPECT_EQ(Buffer().Write(Numbers(0)).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Buffer().Read().status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(last.Write(*Tensor::Allocate(DType::kFloat32, {16, 4})).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(last.Write(*Tensor::Allocate(DType::kInt32, {4, 16})).code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(session_.BindInput("last", last).ok());
  ASSERT_TRUE(session_.BindOutput("next", last).ok());
  std::vector<Tensor> outputs;
  EXPECT_EQ(session_.Predict({Numbers(0), Tensor()}, &outputs).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(session_.BindInput("none", last).code(), StatusCode::kNotFound);
  EXPECT_EQ(Session().BindInput("last", last).code(), StatusCode::kFailedPrecondition);
  const std::vector<ModelValue> values = {ModelValue(Numbers(0)), ModelValue(Numbers(0))};
  std::vector<ModelValue> results;
  EXPECT_EQ(session_.PredictValues(values, &results).code(), StatusCode::kFailedPrecondition);
}

// The values of a buffer as others that map its memory see them.
class OtherOwner {
 public:
  explicit OtherOwner(const Buffer& buffer) : offset_(static_cast<size_t>(buffer.shared().offset)) {
    base_ =
        static_cast<char*>(mmap(nullptr, size(), PROT_READ | PROT_WRITE, MAP_SHARED, buffer.shared().descriptor, 0));
  }
  ~OtherOwner() { munmap(base_, size()); }
  OtherOwner(const OtherOwner&) = delete;
  OtherOwner& operator=(const OtherOwner&) = delete;

  std::vector<float> Values() const { return {first(), first() + 64}; }
  void Write(const Tensor& values) { std::memcpy(first(), values.data(), values.byte_size()); }

 private:
  size_t size() const { return offset_ + 64 * sizeof(float); }
  float* first() const { return reinterpret_cast<float*>(base_ + offset_); }

  const size_t offset_;
  char* base_;
};

TEST_P(DeviceMemoryTest, SharedBuffersAreUsedInPlaceByTheDeviceAndByOthers) {
  Load("adding_up");
  session_.EnableProfiling(true);
  const std::vector<float> expected = AddedUp(10);
  const uint64_t transferred_ns = session_.statistics().device_ns.at(0);
  Buffer last = *Buffer::MakeShared(DType::kFloat32, {4, 16}), next = *Buffer::MakeShared(DType::kFloat32, {4, 16});
  EXPECT_FALSE(last.is_on_device());
  OtherOwner writer(last);
  writer.Write(Numbers(0));
  AddUp(last, next, 10);
  EXPECT_EQ(copies_, 0u);
  EXPECT_EQ(writer.Values(), expected);
  EXPECT_EQ(Values(*last.Read()), expected);
  // Two values of 256 bytes, in and out, at 32 bytes and 900 MHz, which the device does not transfer.
  EXPECT_NEAR(static_cast<double>(transferred_ns - session_.statistics().device_ns.at(0)), 16 / 0.9, 2);
}

// Where a delegate refuses the memory, which is said once, or wants more bytes than a buffer has.
TEST_P(DeviceMemoryTest, SharedBuffersThatADelegateDoesNotImportAreInHostMemory) {
  std::atomic<int> refused{0};
  SetLogSink([&](LogLevel, std::string_view, std::string_view message) {
    refused += message.find("is in host memory: ") != std::string_view::npos ? 1 : 0;
  });
  const auto run = [&](const std::string& delegate) {
    refused = 0;
    const Result<Context> context = Context::FromYamlText(
        "memory.yaml", "version: 1\nplugins: {paths: [" FIXTURE_PLUGINS
                       "], trust: any}\ncache: {dir: \"off\"}\nlog: {level: info}\ndelegates: [{name: " +
                           delegate + ", isolation: " + GetParam() + "}]\n");
    EXPECT_TRUE(context.ok()) << context.status().ToString();
    Model model;
    EXPECT_TRUE(model.Build(std::string(kModels) + "/relu.onnx", *context).ok());
    Session session = *model.CreateSession();
    Buffer x = *Buffer::MakeShared(DType::kFloat32, {2, 3}), y = *Buffer::MakeShared(DType::kFloat32, {2, 3});
    EXPECT_TRUE(session.BindInput("x", x).ok() && session.BindOutput("y", y).ok());
    for (int i = 0; i < 5; ++i) {
      const float first = static_cast<float>(i);
      EXPECT_TRUE(
          x.Write(*Tensor::FromValues<float>(DType::kFloat32, {2, 3}, std::vector<float>{-1, first, 2, -3, 4, 5}))
              .ok());
      std::vector<Tensor> outputs;
      const Status status = session.Predict({Tensor()}, &outputs);
      EXPECT_TRUE(status.ok()) << status.ToString();
      EXPECT_EQ(Values(*y.Read()), (std::vector<float>{0, first, 2, 0, 4, 5}));
      EXPECT_EQ(session.statistics().buffer_copies, 0u);
    }
    EXPECT_EQ(context->Health().delegates.at(0).failures, 0u);
    return refused.load();
  };
  EXPECT_EQ(run("memory_imports"), 0);
  EXPECT_EQ(run("memory_refuses_imports"), 2);
  EXPECT_EQ(run("memory_wants_tiles"), 0);
  SetLogSink(nullptr);
}

TEST_P(DeviceMemoryTest, SharedMemoryCarriesValuesFromAndToAnotherProcess) {
  Load("adding_up");
  Buffer last = *Buffer::MakeShared(DType::kFloat32, {4, 16}), next = *Buffer::MakeShared(DType::kFloat32, {4, 16});
  OtherOwner given(last), taken(next);
  const auto in_child = [](const std::function<bool()>& body) {
    const pid_t child = fork();
    if (child == 0) _exit(body() ? 0 : 1);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status == 0;
  };
  ASSERT_TRUE(in_child([&] {
    given.Write(Numbers(4));
    return true;
  }));
  AddUp(last, next, 1);
  const std::vector<float> made = Values(*next.Read());
  EXPECT_TRUE(in_child([&] { return taken.Values() == made; }));
  std::vector<Tensor> outputs;
  ASSERT_TRUE(session_.BindInput("last", Buffer()).ok());
  ASSERT_TRUE(session_.BindOutput("next", Buffer()).ok());
  ASSERT_TRUE(session_.Predict({Numbers(0.5F), Numbers(4)}, &outputs).ok());
  EXPECT_EQ(Values(outputs[0]), made);
}

TEST_P(DeviceMemoryTest, ManyBuffersLieInOneFile) {
  Load("adding_up");
  const Buffer whole = *Buffer::MakeShared(DType::kUint8, {3, 8192});
  std::vector<Buffer> parts;
  for (const uint64_t offset : {0, 64, 4096 + 320, 8192})
    for (const uint64_t behind : {0, 8192 + 128})
      parts.push_back(*Buffer::Import({whole.shared().descriptor, offset + behind}, DType::kFloat32, {4, 16}));
  for (size_t i = 0; i + 1 < parts.size(); i += 2) {
    const auto first = static_cast<float>(i);
    ASSERT_TRUE(parts[i].Write(Numbers(first)).ok());
    AddUp(parts[i], parts[i + 1], 1);
    EXPECT_EQ(copies_, 0u);
    EXPECT_EQ(OtherOwner(parts[i + 1]).Values(), Values(*parts[i + 1].Read()));
    for (size_t value = 0; value < 64; ++value)
      EXPECT_NEAR(Values(*parts[i + 1].Read())[value],
                  Numbers(first).values<float>()[value] + std::tanh(Numbers(0.5F).values<float>()[value]), 1e-5);
  }
}

TEST_P(DeviceMemoryTest, ARunWritesNoBytesThatAreBoundElsewhere) {
  Load("adding_up");
  const Buffer whole = *Buffer::MakeShared(DType::kUint8, {4096});
  const auto part = [&](uint64_t offset) {
    return *Buffer::Import({whole.shared().descriptor, offset}, DType::kFloat32, {4, 16});
  };
  const auto run = [&](uint64_t last, uint64_t next) {
    EXPECT_TRUE(session_.BindInput("last", part(last)).ok());
    EXPECT_TRUE(session_.BindOutput("next", part(next)).ok());
    std::vector<Tensor> outputs;
    return session_.Predict({Numbers(0), Tensor()}, &outputs);
  };
  for (const uint64_t next : {0, 64, 192}) {
    const Status status = run(0, next);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.ToString().find("output 'next' is bound twice"), std::string::npos) << status.ToString();
  }
  EXPECT_EQ(run(512, 320).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(run(0, 256).ok());
  EXPECT_TRUE(run(256, 0).ok());
}

TEST_P(DeviceMemoryTest, PlacementsAreMeasuredWithTensors) {
  Model model;
  const Result<Context> context = Open(", isolation: " + GetParam(), "placement: {policy: measured, budget: 10ms}\n");
  ASSERT_TRUE(model.Build(std::string(kModels) + "/adding_up.onnx", *context).ok());
  Session session = *model.CreateSession();
  ASSERT_TRUE(session.BindInput("last", *Buffer::MakeShared(DType::kFloat32, {4, 16})).ok());
  const Status status = session.MeasurePlacement({Numbers(0), Numbers(0)}, {}).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(status.ToString().find("buffers are bound: unbind them first"), std::string::npos) << status.ToString();
  ASSERT_TRUE(session.BindInput("last", Buffer()).ok());
  EXPECT_TRUE(session.MeasurePlacement({Numbers(0), Numbers(0)}, {}).ok());
}

TEST_P(DeviceMemoryTest, SharedMemoryNeedsADescriptor) {
  const Buffer whole = *Buffer::MakeShared(DType::kUint8, {4096});
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{3, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const StatusCode imported = Buffer::Import(whole.shared(), DType::kUint8, {4096}).status().code(),
                   made = Buffer::MakeShared(DType::kUint8, {4096}).status().code();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(imported, StatusCode::kResourceExhausted);
  EXPECT_EQ(made, StatusCode::kResourceExhausted);
}

TEST_P(DeviceMemoryTest, SharedMemoryThatIsNoneIsRefused) {
  const auto refused = [](const SharedMemory& memory, const std::string& why, const Shape& shape = {4, 16}) {
    const Status status = Buffer::Import(memory, DType::kFloat32, shape).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.ToString().find(why), std::string::npos) << status.ToString();
  };
  const auto memory = [](int seals) {
    const int file = memfd_create("test", MFD_ALLOW_SEALING);
    EXPECT_EQ(ftruncate(file, 4096), 0);
    EXPECT_EQ(fcntl(file, F_ADD_SEALS, seals), 0);
    return file;
  };
  const int sealed = memory(F_SEAL_SHRINK), loose = memory(F_SEAL_GROW),
            constant = memory(F_SEAL_SHRINK | F_SEAL_WRITE);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_TRUE(Buffer::Import({sealed, 0}, DType::kFloat32, {4, 16}).ok());
  EXPECT_TRUE(Buffer::Import({sealed, 0}, DType::kFloat32, {1024}).ok());
  EXPECT_TRUE(Buffer::Import({sealed, 4096}, DType::kFloat32, {0, 5}).ok());
  refused({}, "descriptor -1 cannot be used");
  refused({ends[0], 0}, "not memory of memfd_create");
  refused({loose, 0}, "add F_SEAL_SHRINK");
  refused({constant, 0}, "cannot be mapped for reading and writing");
  refused({sealed, 4}, "offset 4 of shared memory is no multiple of 64");
  refused({sealed, 4096}, "the memory has 4096 bytes, not 256 behind offset 4096");
  refused({sealed, UINT64_MAX - 63}, "the memory has 4096 bytes");
  refused({sealed, 0}, "the memory has 4096 bytes, not 4100", {1025});
  EXPECT_EQ(Buffer::Import({sealed, 0}, DType::kFloat32, {-1}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Buffer().shared().descriptor, -1);
  for (const int file : {sealed, loose, constant, ends[0], ends[1]}) close(file);
}

TEST_P(DeviceMemoryTest, ABufferOutlivesItsSessionAndModel) {
  Load("adding_up");
  Buffer last = *session_.InputBuffer("last");
  ASSERT_TRUE(last.Write(Numbers(3)).ok());
  session_ = Session();
  model_ = Model();
  EXPECT_EQ(Values(*last.Read()), Values(Numbers(3)));
}

INSTANTIATE_TEST_SUITE_P(Isolation, DeviceMemoryTest, testing::Values("none", "process"),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace deputy
