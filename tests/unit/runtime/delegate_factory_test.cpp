// How a context opens its delegates: by a factory, with options that have been checked.
#include <gtest/gtest.h>

#include "delegate/factory.hpp"
#include "deputy/deputy.hpp"
#include "format/model_file.hpp"
#include "runtime/context_state.hpp"
#include "support/relu_delegate.hpp"
#include "support/temp_folder.hpp"
#include "support/test_delegate.hpp"
#include "support/test_graph.hpp"

namespace deputy::host {
namespace {

// Only described: the factory of this test opens another delegate in its place.
class Described final : public ReluDelegate {
 public:
  static sdk::OptionSchema Options() { return sdk::OptionSchema().Frequency("frequency", 3, "of the device"); }
};

class ContextFactory : public testing::Test, public DelegateFactory {
 protected:
  ContextFactory() {
    context_.AddDelegate(std::make_shared<Described>());
    Context::State::Of(context_).factory = {std::shared_ptr<void>(), this};
  }
  Result<std::unique_ptr<Delegate>> Open(const OpenRequest& request) override {
    opened_ += request.delegate + " as " + request.name + "\n";
    for (const auto& [name, value] : request.options) opened_ += name + ": " + value + "\n";
    auto made = std::make_unique<TestDelegate>(request.name, std::set<std::string>{"Relu"});
    delegate_ = made.get();
    return std::unique_ptr<Delegate>(std::move(made));
  }

  Context context_;
  std::string opened_;
  TestDelegate* delegate_ = nullptr;
};

TEST_F(ContextFactory, DelegateOfTheFactoryRunsTheModel) {
  const TempFolder folder;
  const Graph graph = TestGraph({{"first", "Relu"}, {"second", "Relu"}}).graph;
  ASSERT_TRUE(WriteModelFile(graph, folder.path() / "relu.dpm").ok());
  Model model;
  const Status built = model.Build(folder.path() / "relu.dpm", context_);
  ASSERT_TRUE(built.ok()) << built.ToString();
  Result<Session> session = model.CreateSession();
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  std::vector<Tensor> outputs;
  EXPECT_TRUE(session->Predict({*Tensor::Allocate(DType::kFloat32, {4})}, &outputs).ok());
  EXPECT_EQ(opened_, "in_process as in_process\n");
  EXPECT_EQ(delegate_->runs, 1);
}

TEST_F(ContextFactory, OptionsOfADeviceInfoAreCheckedBeforeOpen) {
  context_.MutableDeviceInfo().push_back({"mine", "in_process", 0, "", true, {{"frequency", "extreme"}}});
  EXPECT_TRUE(context_.Load().ok());
  EXPECT_EQ(opened_, "in_process as mine\nfrequency: 4\nin_process as in_process\n");
  opened_.clear();
  context_.MutableDeviceInfo()[0].options = {{"frequency", "none"}};
  EXPECT_EQ(context_.Load().code(), StatusCode::kConfig);
  EXPECT_EQ(opened_, "");
}

}  // namespace
}  // namespace deputy::host
