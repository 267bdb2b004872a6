// Constants that the file has without their zeros.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "unit/tflite/model_writer.hpp"

namespace deputy::test {
namespace {

struct Level {
  int32_t positions = 0;  // of a level that has all
  std::vector<uint8_t> segments, indices;
};

struct Sparse {
  std::vector<int32_t> dims, order, block_map;
  std::vector<Level> levels;
  std::vector<float> values;
};

// 5 . . 6
// . . . .
// . 7 . .
Sparse Rows() { return {{3, 4}, {0, 1}, {}, {{3, {}, {}}, {0, {0, 2, 2, 3}, {0, 3, 1}}}, {5, 6, 7}}; }

std::string ModelOf(const Sparse& sparse) {
  ModelWriter model;
  flatbuffers::FlatBufferBuilder& fbb = model.fbb;
  const auto indices = [&](const std::vector<uint8_t>& values) {
    return flatbuffers::Offset<fb::AnyTable>(fb::CreateUint8Indices(fbb, fbb.CreateVector(values)).o);
  };
  std::vector<flatbuffers::Offset<fb::DimensionMetadata>> levels;
  for (const Level& level : sparse.levels) {
    if (level.segments.empty()) {
      levels.push_back(fb::CreateDimensionMetadata(fbb, fb::DimensionType_DENSE, level.positions));
      continue;
    }
    const auto segments = indices(level.segments), positions = indices(level.indices);
    levels.push_back(fb::CreateDimensionMetadata(fbb, fb::DimensionType_SPARSE_CSR, 0, fb::IndicesType_UINT8, segments,
                                                 fb::IndicesType_UINT8, positions));
  }
  const auto order = fbb.CreateVector(sparse.order), block_map = fbb.CreateVector(sparse.block_map);
  const auto sparsity = fb::CreateSparsityParameters(fbb, order, block_map, fbb.CreateVector(levels));
  const uint32_t buffer =
      model.Buffer({reinterpret_cast<const uint8_t*>(sparse.values.data()), sparse.values.size() * sizeof(float)});
  const int32_t x = model.Input(fb::TensorType_FLOAT32, {1});
  const int32_t stored = model.Tensor(fb::TensorType_FLOAT32, sparse.dims, {}, buffer, {}, sparsity);
  const int32_t whole = model.Tensor(fb::TensorType_FLOAT32, sparse.dims);
  const int32_t y = model.Tensor(fb::TensorType_FLOAT32, sparse.dims);
  model.Add(fb::BuiltinOperator_DENSIFY, {stored}, {whole});
  model.Add(fb::BuiltinOperator_ADD, {whole, x}, {y});
  return model.Finish({y});
}

std::vector<float> WholeOf(const Sparse& sparse) {
  return ValuesOf<float>(Predict(ModelOf(sparse), {TensorOf<float>({1}, {0})})[0]);
}

TEST(TfliteSparse, RowsHaveTheirElementsWhereTheIndicesSay) {
  EXPECT_EQ(WholeOf(Rows()), (std::vector<float>{5, 0, 0, 6, 0, 0, 0, 0, 0, 7, 0, 0}));
}

TEST(TfliteSparse, ColumnsMayComeFirst) {
  Sparse columns = Rows();
  columns.order = {1, 0};
  columns.levels = {{4, {}, {}}, {0, {0, 1, 2, 2, 3}, {0, 2, 0}}};
  columns.values = {5, 7, 6};
  EXPECT_EQ(WholeOf(columns), WholeOf(Rows()));
}

TEST(TfliteSparse, BlocksHaveAllTheirElements) {
  Sparse blocks{{4, 4}, {0, 1, 2, 3}, {0, 1}, {}, {1, 2, 3, 4, 5, 6, 7, 8}};
  blocks.levels = {{2, {}, {}}, {0, {0, 1, 2}, {1, 0}}, {2, {}, {}}, {2, {}, {}}};
  EXPECT_EQ(WholeOf(blocks), (std::vector<float>{0, 0, 1, 2, 0, 0, 3, 4, 5, 6, 0, 0, 7, 8, 0, 0}));
}

TEST(TfliteSparse, WhatDoesNotFitIsRefused) {
  std::vector<Sparse> damaged(11, Rows());
  damaged[0].levels[1].segments = {0, 2, 2, 9};
  damaged[1].levels[1].segments = {0, 2, 1, 3};
  damaged[2].levels[1].segments = {0, 3};
  damaged[3].levels[1].indices = {0, 4, 1};
  damaged[4].values = {5, 6};
  damaged[5].values = {5, 6, 7, 8};
  damaged[6].order = {0, 0};
  damaged[7].levels.pop_back();
  damaged[8].levels[0].positions = 0;
  damaged[9].levels[0].positions = 2;
  damaged[10].levels[1].segments = {1, 2, 2, 3};
  for (const Sparse& sparse : damaged)
    EXPECT_NE(Refusal(ModelOf(sparse)).find("has invalid sparsity parameters"), std::string::npos);
}

TEST(TfliteSparse, AnyByteMayBeWrong) { ExpectNoByteDoesHarm(ModelOf(Rows())); }

}  // namespace
}  // namespace deputy::test
