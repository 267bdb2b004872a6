// The host's end of the report of a sandbox, where the worker does not send what it should.
#include "base/refused_calls.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string_view>
#include <utility>

namespace deputy::host::testing {
namespace {

struct Pair {
  Descriptor ours, theirs;
  Pair() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    ours.Replace(ends[0]);
    theirs.Replace(ends[1]);
  }
};

TEST(RefusedCalls, R169_AWorkerThatSendsNothingIsNotWaitedFor) {
  Pair pair;
  const RefusedCalls calls(std::move(pair.ours));
  EXPECT_TRUE(calls.List().empty());
}

TEST(RefusedCalls, R169_AWorkerThatEndsBeforeItsSandboxIsNoFault) {
  Pair pair;
  const RefusedCalls calls(std::move(pair.ours));
  pair.theirs.Replace(-1);
  EXPECT_TRUE(calls.List().empty());
}

TEST(RefusedCalls, R169_BytesWithoutAListenerEndTheReport) {
  Pair pair;
  const RefusedCalls calls(std::move(pair.ours));
  constexpr std::string_view kTable = "41 1 socket\n";
  ASSERT_EQ(send(pair.theirs.get(), kTable.data(), kTable.size(), MSG_NOSIGNAL), static_cast<ssize_t>(kTable.size()));
  char byte = 0;
  EXPECT_EQ(read(pair.theirs.get(), &byte, 1), 0);  // the other side has closed it
  EXPECT_TRUE(calls.List().empty());
}

TEST(RefusedCalls, R169_TheTextNamesEightCallsAtMost) {
  EXPECT_EQ(RefusedText({}), "");
  EXPECT_EQ(RefusedText({"bind (2)", "socket (1)"}),
            "; the sandbox has refused system calls of the plugin: bind (2), socket (1)");
  const std::vector<std::string> ten(10, "socket (1)");
  EXPECT_NE(RefusedText(ten).find(" and 2 others"), std::string::npos);
}

}  // namespace
}  // namespace deputy::host::testing
