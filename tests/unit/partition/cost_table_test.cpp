#include "partition/cost_table.hpp"

#include <gtest/gtest.h>

#include "support/test_graph.hpp"

namespace deputy::host {
namespace {

constexpr DType kF32 = DType::kFloat32;
Work Products(uint64_t amount) { return {WorkUnit::kMultiplyAdds, amount}; }
Work Bytes(uint64_t amount) { return {WorkUnit::kBytes, amount}; }

class CostTableTest : public testing::Test {
 protected:
  CostTableTest() {
    table_.Add("npu frequency=low", "Conv", kF32, Products(1000), 500);
    table_.Add("npu frequency=low", "Conv", kF32, Products(1'000'000), 100'000);
    table_.Add("npu frequency=low", "Relu", kF32, Bytes(4096), 80);
    table_.AddTransfer("npu frequency=low", 4096, 2000);
  }

  CostTable table_;
};

TEST_F(CostTableTest, SameSizeClassIsScaledByWork) {
  EXPECT_DOUBLE_EQ(*table_.Find("npu frequency=low", "Conv", kF32, Products(800)), 400);
  table_.Add("npu frequency=low", "Conv", kF32, Products(600), 460);
  EXPECT_DOUBLE_EQ(*table_.Find("npu frequency=low", "Conv", kF32, Products(800)), 480);
}

TEST_F(CostTableTest, NearestSizeClassStandsInForAMissingOne) {
  EXPECT_DOUBLE_EQ(*table_.Find("npu frequency=low", "Conv", kF32, Products(2000)), 1000);
  EXPECT_DOUBLE_EQ(*table_.Find("npu frequency=low", "Conv", kF32, Products(500'000)), 50'000);
  EXPECT_DOUBLE_EQ(*table_.Find("npu frequency=low", "Conv", kF32, Products(10'000'000)), 1'000'000);
  EXPECT_DOUBLE_EQ(*table_.Find("npu frequency=low", "Conv", kF32, Products(1)), 0.5);
}

TEST_F(CostTableTest, WhatWasNotMeasuredIsNotFound) {
  EXPECT_FALSE(table_.Find("npu frequency=low", "Conv", DType::kInt8, Products(1000)));
  EXPECT_FALSE(table_.Find("npu frequency=low", "Conv", kF32, Bytes(1000)));
  EXPECT_FALSE(table_.Find("npu frequency=low", "Gemm", kF32, Products(1000)));
  EXPECT_FALSE(table_.Find("npu frequency=high", "Conv", kF32, Products(1000)));
  EXPECT_FALSE(table_.RateOf("npu frequency=high", WorkUnit::kBytes));
  EXPECT_FALSE(table_.FindTransfer("cpu", 4096));
}

TEST_F(CostTableTest, RateIsThatOfAllOperatorsWithoutTransfers) {
  EXPECT_DOUBLE_EQ(*table_.RateOf("npu frequency=low", WorkUnit::kMultiplyAdds), 100'500.0 / 1'001'000);
  EXPECT_DOUBLE_EQ(*table_.RateOf("npu frequency=low", WorkUnit::kBytes), 80.0 / 4096);
  EXPECT_DOUBLE_EQ(*table_.FindTransfer("npu frequency=low", 2048), 1000);
}

TEST_F(CostTableTest, InvalidMeasurementsAreIgnored) {
  table_.Add("cpu", "Relu", kF32, Bytes(1), -1);
  table_.Add("cpu", "Relu", kF32, Bytes(1), std::numeric_limits<double>::quiet_NaN());
  table_.Add("cpu\t", "Relu", kF32, Bytes(1), 1);
  table_.Add("cpu", "", kF32, Bytes(1), 1);
  EXPECT_FALSE(table_.RateOf("cpu", WorkUnit::kBytes));
}

TEST_F(CostTableTest, TextIsReadBackAsItWas) {
  const std::string text = table_.ToText();
  const Result<CostTable> read = CostTable::Parse(text);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->ToText(), text);
  EXPECT_EQ(read->Find("npu frequency=low", "Conv", kF32, Products(800)),
            table_.Find("npu frequency=low", "Conv", kF32, Products(800)));
  EXPECT_TRUE(CostTable::Parse(CostTable().ToText())->empty());
}

TEST_F(CostTableTest, TablesAreAddedAndDividedByDelegate) {
  CostTable more;
  more.Add("npu frequency=low", "Conv", kF32, Products(600), 460);
  more.Add("npu frequency=high", "Conv", kF32, Products(600), 90);
  more.Add("cpu", "Conv", kF32, Products(600), 60);
  table_.Add(more);
  EXPECT_DOUBLE_EQ(*table_.Find("npu frequency=low", "Conv", kF32, Products(800)), 480);
  const CostTable high = table_.Of("npu frequency=high");
  EXPECT_EQ(high.ToText(), "deputy costs 1\nnpu frequency=high\tConv\tfloat32\tmultiply-adds\t9\t1\t600\t90\n");
  EXPECT_TRUE(table_.Of("npu frequency").empty());
}

TEST_F(CostTableTest, AnyTruncationIsRefused) {
  const std::string text = table_.ToText();
  const size_t first = text.find('\n') + 1;
  for (size_t size = 0; size < text.size(); ++size) {
    const bool whole_lines = size >= first && text[size - 1] == '\n';
    EXPECT_EQ(CostTable::Parse(text.substr(0, size)).ok(), whole_lines) << size;
  }
}

TEST_F(CostTableTest, DamagedLinesAreRefusedByNumber) {
  const std::string head = "deputy costs 1\n";
  const std::string good = "cpu\tRelu\tfloat32\tbytes\t2\t1\t4\t10\n";
  ASSERT_TRUE(CostTable::Parse(head + good).ok());
  for (const char* bad :
       {"cpu\tRelu\tfloat32\tbytes\t2\t1\t4\n", "cpu\tRelu\tfloat32\tbytes\t2\t1\t4\t10\t\n",
        "\tRelu\tfloat32\tbytes\t2\t1\t4\t10\n", "cpu\tRelu\tfloat33\tbytes\t2\t1\t4\t10\n",
        "cpu\tRelu\tfloat32\tbites\t2\t1\t4\t10\n", "cpu\tRelu\tfloat32\tbytes\t3\t1\t4\t10\n",
        "cpu\tRelu\tfloat32\tbytes\t64\t1\t4\t10\n", "cpu\tRelu\tfloat32\tbytes\t2\t0\t4\t10\n",
        "cpu\tRelu\tfloat32\tbytes\t2\t1\tnan\t10\n", "cpu\tRelu\tfloat32\tbytes\t2\t1\t4\t-1\n",
        "cpu\tRelu\tfloat32\tbytes\t2\t1\t4\tinf\n", "cpu\tRelu\tfloat32\tbytes\t2\t1\t4\t10x\n", "\n"}) {
    const Result<CostTable> read = CostTable::Parse(head + good + bad);
    ASSERT_FALSE(read.ok()) << bad;
    EXPECT_NE(read.status().message().find("line 3"), std::string::npos) << read.status().message();
  }
  EXPECT_EQ(CostTable::Parse(head + good + good).status().message(),
            "line 3 of a table of costs: the entries are not in order");
  EXPECT_EQ(CostTable::Parse("deputy costs 2\n").status().code(), StatusCode::kIncompatible);
}

TEST(CostKey, NamesOperatorsWithTheirDomain) {
  EXPECT_EQ(OperatorOf(MakeNode("Relu", 14, {}, {})), "Relu");
  EXPECT_EQ(OperatorOf(MakeNode(PrimitiveBuilder("com.microsoft", "FusedConv", 1), {}, {})), "com.microsoft.FusedConv");
}

TEST(Work, IsMultiplyAddsOrElseBytesWithUnknownExtentsAsOne) {
  Graph graph;
  const ValueId a = graph.AddValue("a", {kF32, true, {2, 3}}), b = graph.AddValue("b", {kF32, true, {3, 5}}),
                product = graph.AddValue("p", {kF32, true, {2, 5}}), open = graph.AddValue("o", {kF32, true, {-1, 8}});
  const Work products = WorkOf(graph, MakeNode("MatMul", 13, {a, b}, {product}));
  EXPECT_EQ(products.unit, WorkUnit::kMultiplyAdds);
  EXPECT_EQ(products.amount, 30u);
  const Work bytes = WorkOf(graph, MakeNode("Relu", 14, {open}, {open}));
  EXPECT_EQ(bytes.unit, WorkUnit::kBytes);
  EXPECT_EQ(bytes.amount, 64u);
}

}  // namespace
}  // namespace deputy::host
