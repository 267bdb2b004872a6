#include "saved_case.hpp"

#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>

namespace deputy::conformance {
namespace {

namespace fs = std::filesystem;

// Letters that every file system takes, and a number that tells long labels apart.
std::string FolderName(const std::string& test, const std::string& label) {
  constexpr size_t kMost = 80;
  std::string name;
  for (const char letter : test + "_" + label) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.' || letter == '-' || letter == '=';
    name += plain ? letter : '_';
  }
  char number[16];
  std::snprintf(number, sizeof number, "_%04x", static_cast<unsigned>(std::hash<std::string>()(label) & 0xffffu));
  return name.substr(0, kMost) + number;
}

void WriteFile(const fs::path& path, const std::vector<uint8_t>& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

SavedCase::SavedCase(const TestRun& run, const std::string& label, const ModelCase& model)
    : run_(run), failures_(run.failures()) {
  Write(label, model);
}

SavedCase::SavedCase(const TestRun& run, const Case& tested) : run_(run), failures_(run.failures()) {
  if (!run.settings().save_failures.empty())
    Write(tested.label, ModelOf(tested, reference::Compute(tested.node, tested.operands())));
}

void SavedCase::Write(const std::string& label, const ModelCase& model) {
  if (run_.settings().save_failures.empty()) return;
  const fs::path wanted = fs::path(run_.settings().save_failures) / FolderName(run_.name(), label);
  std::error_code failed;
  fs::path folder = wanted;
  for (int i = 2; fs::exists(folder, failed); ++i) folder = wanted.native() + "_" + std::to_string(i);  // of one label
  const fs::path data = folder / "test_data_set_0";
  fs::create_directories(data, failed);
  if (failed) return;
  WriteFile(folder / "model.onnx", OnnxModel(model));
  const auto write = [&](const char* kind, const std::vector<size_t>& values) {
    for (size_t i = 0; i < values.size(); ++i)
      WriteFile(data / (std::string(kind) + "_" + std::to_string(i) + ".pb"),
                OnnxTensor(model.values[values[i]].value, "v" + std::to_string(values[i])));
  };
  write("input", model.inputs);
  write("output", model.outputs);
  folder_ = folder.string();
}

SavedCase::~SavedCase() {
  std::error_code failed;
  if (!folder_.empty() && run_.failures() == failures_) fs::remove_all(folder_, failed);
}

}  // namespace deputy::conformance
