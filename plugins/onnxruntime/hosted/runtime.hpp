// ONNX Runtime's library, opened at run time: its functions, its environment, and the providers registered with it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "../api/types.hpp"
#include "../provider.hpp"

namespace ort {

// Functions of OrtApi by their numbers in slots.inc.
struct Functions {
#define DEPUTY_ORT_FUNCTION(name, result, ...) result (*name)(__VA_ARGS__) = nullptr;
#include "functions.inc"
#undef DEPUTY_ORT_FUNCTION

  explicit Functions(const Api* table);
};

// Ends an object by a function of the library.
template <class T>
struct Releaser {
  void (*release)(T*) = nullptr;
  void operator()(T* object) const { release(object); }
};
template <class T>
using Owned = std::unique_ptr<T, Releaser<T>>;

// One for the process, which is never closed: ONNX Runtime has one environment, and providers keep threads.
// [any-thread]
class Runtime {
 public:
  // The oldest version whose tables are used, and the one that is asked for.
  static constexpr uint32_t kVersion = 24;

  // kNotFound: no such library. kFailedPrecondition: another one is open. kIncompatible: it is too old.
  static sdk::Result<Runtime*> Open(const std::string& path);

  const Functions& functions() const { return functions_; }
  const ApiBase& base() const { return *base_; }
  const Api* table() const { return table_; }
  Env* env() const { return env_; }
  const std::string& version() const { return version_; }
  const MemoryInfo* memory() const { return memory_; }

  // The devices of the EP `name` in `library`, which is registered as `registered` at the first call. An empty name:
  // the library's first EP; an empty library: an EP that is built in.
  sdk::Result<std::vector<const EpDevice*>> DevicesOf(const std::string& library, const std::string& name,
                                                      const std::string& registered);

  // The failure in words, with `what` before it; releases it. OK for NULL.
  sdk::Status Take(Status* status, std::string_view what) const;
  template <class T>
  Owned<T> Own(T* object, void (*release)(T*)) const {
    return Owned<T>(object, {release});
  }

 private:
  Runtime(const ApiBase* base, const Api* table, std::string path);
  static void Log(void* self, LoggingLevel level, const char* category, const char* id, const char* location,
                  const char* message);

  const ApiBase* base_;
  const Api* table_;
  const Functions functions_;
  const std::string path_, version_;
  Env* env_ = nullptr;
  MemoryInfo* memory_ = nullptr;
  std::mutex mutex_;
  std::vector<std::string> registered_;
};

// Lines that ONNX Runtime and its providers log in this thread, while it lives: to the host, and the last one kept.
class LogScope {
 public:
  explicit LogScope(const sdk::Host& host);
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;
  ~LogScope();

  const std::string& last() const { return last_; }
  void Clear() { last_.clear(); }
  // Quiet: no line is for the user's eyes, as while an EP is asked and a session ends with the answers.
  void SetQuiet(bool is_quiet) { is_quiet_ = is_quiet; }
  void Add(LoggingLevel level, std::string_view message);

 private:
  const sdk::Host& host_;
  LogScope* const outer_;
  std::string last_;
  bool is_quiet_ = false;
};

}  // namespace ort
