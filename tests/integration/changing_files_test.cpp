// Files of models that change while the model is in use, with `models: {map_files: false}`.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "deputy/deputy.hpp"
#include "support/digits.hpp"
#include "support/temp_folder.hpp"

namespace deputy {
namespace {

namespace fs = std::filesystem;

Context WithSettings(const std::string& settings) {
  Result<Context> context = Context::FromYamlText("t.yaml", "version: 1\ncache: {dir: 'off'}\n" + settings);
  EXPECT_TRUE(context.ok()) << context.status().ToString();
  return *std::move(context);
}

// The parameter: settings of the delegates, which compile the whole model.
class ChangingFiles : public testing::TestWithParam<const char*> {
 protected:
  // The digits model with any number of pictures, so that its plans are made after the file has changed.
  ChangingFiles() : file_(folder_.path() / "digits.dpm") {
    Model model;
    EXPECT_TRUE(model.Build(DEPUTY_TEST_DIGITS, WithSettings(GetParam())).ok());
    EXPECT_TRUE(model.Save(file_.string()).ok());
    Session session = *model.CreateSession();
    expected_ = Answer(session, Pictures(3));
  }

  void ExpectRightAfter(const std::function<void()>& change) {
    const Context context = WithSettings("models: {map_files: false}\n" + std::string(GetParam()));
    Model model;
    const Status built = model.Build(file_.string(), context);
    ASSERT_TRUE(built.ok()) << built.ToString();
    change();
    Result<Session> session = model.CreateSession();
    ASSERT_TRUE(session.ok()) << session.status().ToString();
    EXPECT_EQ(Answer(*session, Pictures(3)), expected_);
    const fs::path copy = folder_.path() / "copy.dpm";
    EXPECT_TRUE(model.Save(copy.string()).ok());
    Model again;
    EXPECT_TRUE(again.Build(copy.string(), context).ok());
  }

  const host::TempFolder folder_;
  const fs::path file_;
  std::vector<float> expected_;
};

TEST_P(ChangingFiles, R21_AFileThatIsCutCostsNoAnswer) {
  ExpectRightAfter([&] { fs::resize_file(file_, 0); });
}

// It was checked before it was overwritten.
TEST_P(ChangingFiles, R40_AFileThatIsOverwrittenChangesNothing) {
  ExpectRightAfter([&] {
    const auto size = static_cast<size_t>(fs::file_size(file_));
    std::fstream(file_, std::ios::in | std::ios::out | std::ios::binary) << std::string(size, '\x7f');
  });
}

INSTANTIATE_TEST_SUITE_P(Delegates, ChangingFiles,
                         testing::Values("delegates: []\n",
                                         "delegates: [{name: sim_npu, isolation: process, required: true}]\n"));

}  // namespace
}  // namespace deputy
