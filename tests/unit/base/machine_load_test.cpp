#include "base/machine_load.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/temp_folder.hpp"

namespace deputy::host {
namespace {

// A /proc of one process with one child, on the processors that this process may use and one that it may not.
class FakeProc {
 public:
  void WriteMachine(uint64_t user, uint64_t idle) const {
    std::string text = "cpu  1 2 3 4 5 6 7 8\n";
    for (size_t i = 0; i < 1024; ++i)
      text +=
          "cpu" + std::to_string(i) + " " + std::to_string(user) + " 1 2 " + std::to_string(idle) + " 3 4 5 6 0 0\n";
    Write("stat", text + "intr 1 2 3\n");
  }
  void WriteProcess(const std::string& pid, uint64_t utime, uint64_t stime, const std::string& children) const {
    std::filesystem::create_directories(folder_.path() / pid / "task" / "1");
    Write(pid + "/stat", "7 (a name) with) parentheses) S 1 1 1 0 -1 0 0 0 0 0 " + std::to_string(utime) + " " +
                             std::to_string(stime) + " 2 1 20 0 1 0 0 0 0\n");
    Write(pid + "/task/1/children", children);
  }
  std::string path() const { return folder_.path(); }

 private:
  void Write(const std::string& name, const std::string& text) const { std::ofstream(folder_.path() / name) << text; }
  const TempFolder folder_;
};

TEST(MachineLoad, OthersAreAllButThisProcessAndItsDescendants) {
  const FakeProc proc;
  proc.WriteMachine(100, 1000);
  proc.WriteProcess("self", 10, 5, "42 ");
  proc.WriteProcess("42", 100, 0, "");
  const std::optional<ProcessorTime> begin = ReadProcessorTime(proc.path());
  ASSERT_TRUE(begin);
  EXPECT_EQ(begin->own, 10u + 5 + 3 + 100 + 3);
  proc.WriteMachine(160, 1040);
  proc.WriteProcess("self", 20, 5, "42 ");
  proc.WriteProcess("42", 120, 0, "");
  const std::optional<ProcessorTime> end = ReadProcessorTime(proc.path());
  ASSERT_TRUE(end);
  EXPECT_EQ(end->wall - begin->wall, 100u);
  const double processors = end->processors;
  EXPECT_DOUBLE_EQ(*ShareOfOthers(*begin, *end), (60 * processors - 30) / (100 * processors));
}

TEST(MachineLoad, AShortTimeSaysNothing) {
  EXPECT_FALSE(ShareOfOthers({1000, 100, 0, 2}, {1004, 108, 0, 2}));
  EXPECT_TRUE(ShareOfOthers({1000, 100, 0, 2}, {1010, 108, 0, 2}));
}

TEST(MachineLoad, IsUnknownWithoutProc) {
  const TempFolder empty;
  EXPECT_FALSE(ReadProcessorTime(empty.path()));
}

// A worker that computes is no disturbance.
TEST(MachineLoad, ARunningChildIsCountedAsOwn) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::optional<ProcessorTime> begin = ReadProcessorTime();
  ASSERT_TRUE(begin);
  const pid_t child = fork();
  if (child == 0) {
    for (rusage used{}; used.ru_utime.tv_sec == 0 && used.ru_utime.tv_usec < 300'000;) getrusage(RUSAGE_SELF, &used);
    (void)!write(ends[1], "x", 1);
    pause();
  }
  char ready = 0;
  ASSERT_EQ(read(ends[0], &ready, 1), 1);
  EXPECT_GE(ReadProcessorTime()->own, begin->own + 25);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace deputy::host
