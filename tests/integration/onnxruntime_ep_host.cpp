// A program in C++ that runs a model in ONNX Runtime with Deputy: libonnxruntime.so is opened, and used through its
// tables by number. Prints the outputs of four threads, which share the session; onnxruntime_ep_test.py compares them.
//
//   onnxruntime_ep_host LIBONNXRUNTIME LIBDEPUTY_ORT_EP MODEL DELEGATE REPORT
#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "plugins/onnxruntime/api/types.hpp"

namespace {

using ort::Slot;

const ort::Function* api = nullptr;

template <class Returned, class... Arguments>
Returned Do(Slot slot, Arguments... arguments) {
  return reinterpret_cast<Returned (*)(Arguments...)>(api[static_cast<size_t>(slot)])(arguments...);
}

template <class... Arguments>
void Try(Slot slot, Arguments... arguments) {
  auto* status = Do<ort::Status*>(slot, arguments...);
  if (status == nullptr) return;
  std::fprintf(stderr, "%s\n", Do<const char*>(Slot::GetErrorMessage, static_cast<const ort::Status*>(status)));
  std::exit(1);
}

void Fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

const ort::EpDevice* FindDevice(const ort::Env* env, const char* delegate) {
  const ort::EpDevice* const* devices = nullptr;
  size_t count = 0;
  Try(Slot::GetEpDevices, env, &devices, &count);
  for (size_t i = 0; i < count; ++i) {
    const auto* metadata = Do<const ort::KeyValuePairs*>(Slot::EpDevice_EpMetadata, devices[i]);
    const char* name = Do<const char*>(Slot::GetKeyValue, metadata, "delegate");
    if (name != nullptr && std::strcmp(name, delegate) == 0) return devices[i];
  }
  Fail("there is no device of this delegate");
  return nullptr;
}

void Run(ort::Session* session, std::array<float, 4>& output) {
  std::array<float, 4> input = {-1, 0.5F, -2, 2};
  const int64_t shape[] = {1, 4};
  ort::MemoryInfo* memory = nullptr;
  Try(Slot::CreateCpuMemoryInfo, ort::kDeviceAllocator, ort::kDefaultMem, &memory);
  const auto tensor_of = [&](std::array<float, 4>& values) {
    ort::Value* value = nullptr;
    Try(Slot::CreateTensorWithDataAsOrtValue, static_cast<const ort::MemoryInfo*>(memory),
        static_cast<void*>(values.data()), sizeof values, static_cast<const int64_t*>(shape), size_t{2},
        ort::ElementType{1}, &value);
    return value;
  };
  ort::Value *x = tensor_of(input), *y = tensor_of(output);
  const char *inputs[] = {"x"}, *outputs[] = {"y"};
  const ort::Value* values[] = {x};
  for (int i = 0; i < 20; ++i) {
    output.fill(-1);
    Try(Slot::Run, session, static_cast<const ort::RunOptions*>(nullptr), static_cast<const char* const*>(inputs),
        static_cast<const ort::Value* const*>(values), size_t{1}, static_cast<const char* const*>(outputs), size_t{1},
        &y);
  }
  for (ort::Value* value : {x, y}) Do<void>(Slot::ReleaseValue, value);
  Do<void>(Slot::ReleaseMemoryInfo, memory);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) Fail("usage: onnxruntime_ep_host LIBONNXRUNTIME LIBDEPUTY_ORT_EP MODEL DELEGATE REPORT");
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) Fail(dlerror());
  const auto get_base = reinterpret_cast<const ort::ApiBase* (*)()>(dlsym(library, "OrtGetApiBase"));
  if (get_base == nullptr) Fail("this is not ONNX Runtime");
  api = reinterpret_cast<const ort::Function*>(get_base()->GetApi(23));
  if (api == nullptr) Fail("this ONNX Runtime is too old");

  ort::Env* env = nullptr;
  Try(Slot::CreateEnv, ort::kError, "test", &env);
  Try(Slot::RegisterExecutionProviderLibrary, env, "deputy", static_cast<const char*>(argv[2]));
  const ort::EpDevice* device = FindDevice(env, argv[4]);
  ort::SessionOptions* options = nullptr;
  Try(Slot::CreateSessionOptions, &options);
  const char *keys[] = {"report"}, *values[] = {argv[5]};
  Try(Slot::SessionOptionsAppendExecutionProvider_V2, options, env, &device, size_t{1},
      static_cast<const char* const*>(keys), static_cast<const char* const*>(values), size_t{1});
  ort::Session* session = nullptr;
  Try(Slot::CreateSession, static_cast<const ort::Env*>(env), static_cast<const char*>(argv[3]),
      static_cast<const ort::SessionOptions*>(options), &session);

  std::vector<std::array<float, 4>> outputs(4);
  std::vector<std::thread> threads;
  for (std::array<float, 4>& output : outputs) threads.emplace_back([&] { Run(session, output); });
  for (std::thread& thread : threads) thread.join();
  for (const std::array<float, 4>& output : outputs)
    std::printf("y = %g %g %g %g\n", output[0], output[1], output[2], output[3]);

  Do<void>(Slot::ReleaseSession, session);
  Do<void>(Slot::ReleaseSessionOptions, options);
  Try(Slot::UnregisterExecutionProviderLibrary, env, "deputy");
  Do<void>(Slot::ReleaseEnv, env);
  return 0;
}
