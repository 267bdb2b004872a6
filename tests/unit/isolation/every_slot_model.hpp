// The model that the plugin every_slot is shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "support/temp_folder.hpp"
#include "support/test_graph.hpp"

namespace deputy::host::testing {

// A model with constants of every kind: small, large, and mapped from a file; with attributes of every kind, an open
// extent, quantization and named data.
class EverySlotModel {
 public:
  // Large enough to be read in two pieces, and to be streamed; not at the beginning of a page.
  static constexpr size_t kInFile = 10u << 20, kFileBytes = kInFile + 6000;

  EverySlotModel() {
    std::vector<uint8_t> bytes(kFileBytes);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7);
    const std::filesystem::path path = folder_.path() / "weights";
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), kFileBytes);
    file_ = *MappedFile::Open(path);
    graph.mapped.push_back({file_->bytes(), file_, file_->descriptor()});
    const ValueId x = graph.AddValue("x", {DType::kFloat32, true, {4}});
    const ValueId middle = graph.AddValue("middle", {DType::kFloat32, true, {4}});
    const ValueId y = graph.AddValue("y", {DType::kFloat32, true, {kUnknownDim}});
    const float small[] = {1, 2, 3, 4};
    const ValueId constant = graph.AddConstant("small", *Tensor::FromValues<float>(DType::kFloat32, {4}, small));
    const ValueId large = graph.AddConstant("large", *Tensor::Allocate(DType::kFloat32, {5000}));
    std::memset(const_cast<void*>(graph.values[large].constant.data()), 3, 20000);
    auto* mapped = const_cast<uint8_t*>(file_->bytes().data()) + 5004;
    const ValueId in_file =
        graph.AddConstant("in_file", *Tensor::Wrap(DType::kFloat32, {kInFile / 4}, mapped, kInFile, file_));
    PrimitiveBuilder first("", "Relu", 14);
    first.Set("an_int", int64_t{-7}).Set("a_float", 1.5f).Set("a_string", std::string("text"));
    first.Set("ints", std::vector<int64_t>{1, -2, 3}).Set("floats", std::vector<float>{0.5f});
    first.Set("strings", std::vector<std::string>{"one", "", "three"});
    first.Set("a_tensor", *Tensor::FromValues<float>(DType::kFloat32, {4}, small));
    graph.nodes.push_back(MakeNode(first, {x, constant}, {middle}, "first"));
    graph.nodes.push_back(MakeNode(PrimitiveBuilder("", "Sigmoid", 13), {middle, large, in_file}, {y}, "second"));
    graph.inputs = {x};
    graph.outputs = {y};
    graph.metadata = {{"calibration", "twelve bytes"}};
  }

  Graph graph;

 private:
  TempFolder folder_;
  std::shared_ptr<const MappedFile> file_;
};

}  // namespace deputy::host::testing
