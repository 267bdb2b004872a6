// The tables as EPs get them: every slot can be called, and objects that are released are released once.
#include <gtest/gtest.h>

#include <cstring>

#include "unit/onnxruntime/calls.hpp"

namespace ort::own {
namespace {

TEST(Tables, EveryVersionUpToTheLastHasTheTableAndOthersHaveNone) {
  const ApiBase& base = Tables::Get().base();
  for (uint32_t version = kFirstVersion; version <= kLastVersion; ++version)
    EXPECT_EQ(base.GetApi(version), Tables::Get().api()) << version;
  for (const uint32_t version : {0u, kLastVersion + 1, 99u}) EXPECT_EQ(base.GetApi(version), nullptr) << version;
  EXPECT_STREQ(base.GetVersionString(), ("1." + std::to_string(kLastVersion) + ".0").c_str());
}

TEST(Tables, NoSlotIsNull) {
  for (const Function function : Tables::Get().api_slots()) EXPECT_NE(function, nullptr);
  for (const Function function : Tables::Get().ep_api_slots()) EXPECT_NE(function, nullptr);
  EXPECT_EQ(Call<const EpApi*>(Slot::GetEpApi), Tables::Get().ep_api());
}

TEST(Tables, AStubNamesItsFunctionWhateverItsArgumentsAre) {
  Session* session = nullptr;
  const Failure failure(Call(Slot::CreateSession, static_cast<Env*>(nullptr), "model.onnx",
                             static_cast<SessionOptions*>(nullptr), &session));
  EXPECT_EQ(failure.code, kNotImplemented);
  EXPECT_NE(failure.message.find("OrtApi::CreateSession is not implemented"), std::string::npos) << failure.message;
  EXPECT_EQ(session, nullptr);
  EXPECT_EQ(Failure(Call(EpSlot::CreateKernelRegistry, 1.0, 2, "three", 4, 5, 6, 7, 8, 9)).code, kNotImplemented);
  const std::string missing = TakeMissingFunctions();
  EXPECT_NE(missing.find("OrtApi::CreateSession"), std::string::npos) << missing;
  EXPECT_NE(missing.find("OrtEpApi::CreateKernelRegistry"), std::string::npos) << missing;
  EXPECT_EQ(missing.find("OrtApi::CreateStatus"), std::string::npos) << "it is implemented: " << missing;
  EXPECT_EQ(TakeMissingFunctions(), "") << "they are taken";
}

TEST(Tables, AStubOfAFunctionWithoutAStatusReturnsNothing) {
  EXPECT_EQ(Call<const void*>(Slot::ReleaseEnv, static_cast<Env*>(nullptr)), nullptr);
  EXPECT_EQ(Call<const void*>(Slot::SyncStream_GetHandle, static_cast<SyncStream*>(nullptr)), nullptr);
  EXPECT_EQ(Call<const void*>(EpSlot::KernelDef_GetOperatorType, static_cast<void*>(nullptr)), nullptr);
  EXPECT_FALSE(ReturnsStatus("ReleaseSession"));
  EXPECT_TRUE(ReturnsStatus("ReleaseAvailableProviders")) << "the one such function with a status";
  EXPECT_TRUE(ReturnsStatus("CreateSession"));
}

TEST(Tables, ElementTypesAreThoseOfOnnxWithTheLastThreeInAnotherOrder) {
  const auto onnx = [](ElementType type) { return static_cast<sdk::DType>(ToOnnx(type)); };
  EXPECT_EQ(onnx(23), sdk::DType::kFloat4E2M1);
  EXPECT_EQ(onnx(24), sdk::DType::kUint2);
  EXPECT_EQ(onnx(25), sdk::DType::kInt2);
  EXPECT_EQ(onnx(26), sdk::DType::kFloat8E8M0);
  for (int32_t type = 0; type < 30; ++type) EXPECT_EQ(FromOnnx(ToOnnx(type)), type);
}

TEST(Tables, SlotsOfLaterVersionsAreStubsWithTheirNumber) {
  const Function last = Tables::Get().api_slots().back();
  const Failure failure(reinterpret_cast<Status* (*)(int)>(last)(1));
  EXPECT_EQ(failure.code, kNotImplemented);
  EXPECT_NE(failure.message.find("OrtApi::function " + std::to_string(kApiSlots - 1)), std::string::npos)
      << failure.message;
}

TEST(Tables, TablesOfOtherPurposesAreStubsAndExperimentsAreNone) {
  const auto* editor = Call<const Function*>(Slot::GetModelEditorApi);
  const Failure failure(reinterpret_cast<Status* (*)()>(editor[3])());
  EXPECT_NE(failure.message.find("OrtModelEditorApi::function 3"), std::string::npos) << failure.message;
  EXPECT_EQ(Call<Function>(Slot::GetExperimentalFunction, "OrtApi_ExperimentalApiTest_SinceV28"), nullptr);
}

TEST(KeyValues, TheyAreFoundReplacedListedAndRemoved) {
  KeyValuePairs* pairs = nullptr;
  Call<void>(Slot::CreateKeyValuePairs, &pairs);
  const KeyValuePairs* const_pairs = pairs;
  const auto find = [&](const char* key) { return Call<const char*>(Slot::GetKeyValue, const_pairs, key); };
  EXPECT_EQ(find("a"), nullptr);
  Call<void>(Slot::AddKeyValuePair, pairs, "b", "1");
  Call<void>(Slot::AddKeyValuePair, pairs, "a", "2");
  Call<void>(Slot::AddKeyValuePair, pairs, "b", "3");
  Call<void>(Slot::AddKeyValuePair, pairs, "", "a key is not empty");
  EXPECT_STREQ(find("b"), "3");
  const char* const* keys = nullptr;
  const char* const* values = nullptr;
  size_t count = 0;
  Call<void>(Slot::GetKeyValuePairs, const_pairs, &keys, &values, &count);
  ASSERT_EQ(count, 2u);
  EXPECT_STREQ(keys[0], "a");
  EXPECT_STREQ(values[0], "2");
  EXPECT_STREQ(keys[1], "b");
  Call<void>(Slot::RemoveKeyValuePair, pairs, "a");
  Call<void>(Slot::RemoveKeyValuePair, pairs, "not there");
  EXPECT_EQ(find("a"), nullptr);
  Call<void>(Slot::ReleaseKeyValuePairs, pairs);
}

TEST(Statuses, TheyKeepCodeAndMessageUntilTheyAreReleased) {
  const Failure failure(Call(Slot::CreateStatus, kEpFail, "of the device"));
  EXPECT_EQ(failure.code, kEpFail);
  EXPECT_EQ(failure.message, "of the device");
}

TEST(Values, ATensorOverMemoryIsThatMemory) {
  float data[6] = {};
  const int64_t dims[] = {2, 3};
  MemoryInfo* memory = Get<MemoryInfo*>(Slot::CreateCpuMemoryInfo, kArenaAllocator, kDefaultMem);
  Value* value = nullptr;
  const auto make = [&](size_t bytes) {
    return Failure(Call(Slot::CreateTensorWithDataAsOrtValue, static_cast<const MemoryInfo*>(memory),
                        static_cast<void*>(data), bytes, static_cast<const int64_t*>(dims), size_t{2}, ElementType{1},
                        &value));
  };
  EXPECT_NE(make(sizeof data - 1).message.find("smaller than its elements"), std::string::npos);
  EXPECT_EQ(make(sizeof data).message, "");
  EXPECT_EQ(Get<void*>(Slot::GetTensorMutableData, value), data);
  EXPECT_EQ(Get<size_t>(Slot::GetTensorSizeInBytes, static_cast<const Value*>(value)), sizeof data);
  auto* info = Get<TensorTypeAndShapeInfo*>(Slot::GetTensorTypeAndShape, static_cast<const Value*>(value));
  Call<void>(Slot::ReleaseValue, value);  // what was made of it stays
  EXPECT_EQ(Get<size_t>(Slot::GetTensorShapeElementCount, static_cast<const TensorTypeAndShapeInfo*>(info)), 6u);
  Call<void>(Slot::ReleaseTensorTypeAndShapeInfo, info);
  Call<void>(Slot::ReleaseMemoryInfo, memory);
}

TEST(Values, AnAllocatedTensorFreesItsMemoryAndStringsHaveNone) {
  auto* allocator = Get<Allocator*>(Slot::GetAllocatorWithDefaultOptions);
  const int64_t dims[] = {5};
  Value* value = nullptr;
  const auto make = [&](ElementType type) {
    return Failure(
        Call(Slot::CreateTensorAsOrtValue, allocator, static_cast<const int64_t*>(dims), size_t{1}, type, &value));
  };
  ASSERT_EQ(make(static_cast<ElementType>(deputy::sdk::DType::kInt4)).message, "");
  EXPECT_EQ(Get<size_t>(Slot::GetTensorSizeInBytes, static_cast<const Value*>(value)), 3u) << "two in a byte";
  std::memset(Get<void*>(Slot::GetTensorMutableData, value), 7, 3);
  Call<void>(Slot::ReleaseValue, value);
  EXPECT_EQ(make(static_cast<ElementType>(deputy::sdk::DType::kString)).code, kNotImplemented);
}

}  // namespace
}  // namespace ort::own
