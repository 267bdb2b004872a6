#include "test.hpp"
namespace deputy::conformance {
std::vector<Test> EntryTests() { return {}; }
std::vector<Test> OptionTests() { return {}; }
std::vector<Test> LifeCycleTests(const std::vector<Case>&) { return {}; }
std::vector<Test> ExecutionTests(const std::vector<Case>&) { return {}; }
std::vector<Test> ShapeTests(const std::vector<Case>&) { return {}; }
std::vector<Test> LeakTests(const std::vector<Case>&) { return {}; }
std::vector<Test> HostTests(const std::vector<Case>&) { return {}; }
}  // namespace deputy::conformance
