// The host's services: log, threads, clock. A thin handle over the host's table, cheap to copy. Without a table (in
// tests of a vendor's own kernels) it logs nothing and runs jobs on the calling thread.
#pragma once

#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>

#include "deputy/abi/host.h"
#include "deputy/sdk/status.hpp"

namespace deputy::sdk {

inline deputy_str ToStr(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view ToView(const deputy_str& text) {
  return text.data == nullptr ? std::string_view() : std::string_view(text.data, static_cast<size_t>(text.size));
}

// [any-thread]
class Host {
 public:
  Host() = default;
  explicit Host(const deputy_host* table) : table_(table) {}

  const deputy_host* table() const { return table_; }

  void Debug(std::string_view message) const { Log(DEPUTY_LOG_DEBUG, message); }
  void Info(std::string_view message) const { Log(DEPUTY_LOG_INFO, message); }
  void Warning(std::string_view message) const { Log(DEPUTY_LOG_WARNING, message); }
  void Error(std::string_view message) const { Log(DEPUTY_LOG_ERROR, message); }
  void Log(deputy_log_level level, std::string_view message) const {
    if (table_ != nullptr) table_->log(table_->self, level, message.data(), message.size());
  }

  uint32_t thread_count() const { return table_ == nullptr ? 1 : table_->thread_count(table_->self); }
  // CLOCK_MONOTONIC.
  uint64_t clock_ns() const { return table_ == nullptr ? 0 : table_->clock_ns(table_->self); }
  // NULL if this host lacks the extension.
  const void* Extension(const char* id) const {
    return table_ == nullptr ? nullptr : table_->get_extension(table_->self, id);
  }

  // Calls job(begin, end), or job(begin, end, worker), for ranges that cover [0, count), each of at least `grain` items
  // (but the last), over the host's threads; returns when all are done. `worker` is less than thread_count(), and calls
  // with the same one do not overlap. An exception of a job is thrown again here, on the calling thread.
  template <class Job>
  void ParallelFor(int64_t count, int64_t grain, Job&& job) const {
    if (count <= 0) return;
    if (table_ == nullptr) return Invoke(job, 0, count, 0);
    Shared<Job> shared{job};
    table_->parallel_for(table_->self, count, grain, &Shared<Job>::Run, &shared);
    if (shared.thrown) std::rethrow_exception(shared.thrown);
  }

  // Takes a status of the host's functions that is not returned to it.
  Status Take(deputy_status* status) const {
    if (status == nullptr) return {};
    const deputy_str message = table_->status_message(table_->self, status);
    Status taken(static_cast<Code>(table_->status_code(table_->self, status)), std::string(ToView(message)),
                 table_->status_node(table_->self, status));
    table_->status_release(table_->self, status);
    return taken;
  }
  // The host's own form of a failure; NULL for success.
  deputy_status* Make(const Status& status) const noexcept {
    if (status.ok()) return nullptr;
    return table_->status_new(table_->self, static_cast<deputy_code>(status.code()),
                              status.node().value_or(DEPUTY_NO_NODE), status.message().data(), status.message().size());
  }

 private:
  template <class Job>
  static void Invoke(Job& job, int64_t begin, int64_t end, uint32_t worker) {
    if constexpr (std::is_invocable_v<Job&, int64_t, int64_t, uint32_t>)
      job(begin, end, worker);
    else
      job(begin, end);
  }

  template <class Job>
  struct Shared {
    Job& job;
    std::mutex mutex{};
    std::exception_ptr thrown{};

    static void Run(void* self, int64_t begin, int64_t end, uint32_t worker) noexcept {
      auto* shared = static_cast<Shared*>(self);
      try {
        Invoke(shared->job, begin, end, worker);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(shared->mutex);
        if (!shared->thrown) shared->thrown = std::current_exception();
      }
    }
  };

  const deputy_host* table_ = nullptr;
};

}  // namespace deputy::sdk
