// Sparse tensors become dense ones when they are read.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "unit/import/model_builder.hpp"

namespace deputy::host {
namespace {

using test::ErrorOf;
using test::Find;
using test::ModelBuilder;

// Three elements of a [2,4] tensor named "s", by positions in each dimension.
onnx::SparseTensorProto SparseTensor(const std::vector<int64_t>& positions) {
  onnx::SparseTensorProto sparse;
  onnx::TensorProto& values = *sparse.mutable_values();
  values.set_name("s");
  values.set_data_type(onnx::TensorProto::FLOAT);
  values.add_dims(3);
  for (const float value : {1.0f, 2.0f, 3.0f}) values.add_float_data(value);
  onnx::TensorProto& indices = *sparse.mutable_indices();
  indices.set_data_type(onnx::TensorProto::INT64);
  indices.add_dims(3);
  if (positions.size() == 6) indices.add_dims(2);
  for (const int64_t position : positions) indices.add_int64_data(position);
  sparse.add_dims(2);
  sparse.add_dims(4);
  return sparse;
}

TEST(SparseTensors, R34_SparseInitializersAreWrittenOut) {
  for (const std::vector<int64_t>& positions :
       {std::vector<int64_t>{1, 4, 7}, std::vector<int64_t>{0, 1, 1, 0, 1, 3}}) {
    ModelBuilder builder;
    test::AddSmallModel(builder);
    *builder.proto().add_sparse_initializer() = SparseTensor(positions);
    builder.Node("Relu", {"s"}, {"z"});
    const Result<Graph> graph = builder.Import();
    ASSERT_TRUE(graph.ok()) << graph.status().ToString();
    const Value* const s = Find(*graph, "s");
    ASSERT_NE(s, nullptr);
    EXPECT_EQ(s->constant.shape(), (Shape{2, 4}));
    const std::span<const float> elements = s->constant.values<float>();
    EXPECT_EQ(std::vector<float>(elements.begin(), elements.end()), (std::vector<float>{0, 1, 0, 0, 2, 0, 0, 3}));
  }
}

TEST(SparseTensors, R34_SparseConstantsAreWrittenOut) {
  ModelBuilder builder;
  test::AddSmallModel(builder);
  onnx::SparseTensorProto sparse = SparseTensor({1, 4, 7});
  const float raw[] = {1, 2, 3};
  sparse.mutable_values()->clear_float_data();
  sparse.mutable_values()->set_raw_data(raw, sizeof raw);
  onnx::AttributeProto& value = *builder.Node("Constant", {}, {"s"}).add_attribute();
  value.set_name("sparse_value");
  value.set_type(onnx::AttributeProto::SPARSE_TENSOR);
  *value.mutable_sparse_tensor() = sparse;
  builder.Node("Relu", {"s"}, {"z"});
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const Value* const s = Find(*graph, "s");
  ASSERT_NE(s, nullptr);
  EXPECT_EQ(s->constant.values<float>()[7], 3);
}

TEST(SparseTensors, R34_SparseTensorsTogetherStayInProportionToTheFile) {
  ModelBuilder builder;
  test::AddSmallModel(builder);
  for (const char* name : {"s", "t", "u"}) {
    onnx::SparseTensorProto sparse = SparseTensor({1, 4, 7});
    sparse.mutable_values()->set_name(name);
    sparse.set_dims(0, 6 << 20);  // rows of four floats: 96 MiB
    *builder.proto().add_sparse_initializer() = sparse;
  }
  EXPECT_NE(ErrorOf(builder).find("is too large to convert to a dense one"), std::string::npos) << ErrorOf(builder);
}

TEST(SparseTensors, R34_SparseInitializersWithGarbageAreRefused) {
  const auto error_of = [](const onnx::SparseTensorProto& sparse) {
    ModelBuilder builder;
    test::AddSmallModel(builder);
    *builder.proto().add_sparse_initializer() = sparse;
    builder.Node("Relu", {"s"}, {"z"});
    return ErrorOf(builder);
  };
  EXPECT_EQ(error_of(SparseTensor({1, 4, 8})),
            "the model: sparse initializer 's': index 2 is out of range for shape [2,4]");
  EXPECT_EQ(error_of(SparseTensor({0, 1, 1, -1, 1, 3})),
            "the model: sparse initializer 's': index 1 is out of range for shape [2,4]");
  onnx::SparseTensorProto large = SparseTensor({1, 4, 7});
  large.set_dims(0, int64_t{1} << 40);
  EXPECT_NE(error_of(large).find("is too large to convert to a dense one"), std::string::npos) << error_of(large);
  onnx::SparseTensorProto longer = SparseTensor({1, 4, 7});
  longer.mutable_indices()->set_dims(0, 2);
  longer.mutable_indices()->mutable_int64_data()->RemoveLast();
  EXPECT_NE(error_of(longer).find("indices int64 [2] do not match values [3]"), std::string::npos) << error_of(longer);
}

}  // namespace
}  // namespace deputy::host
