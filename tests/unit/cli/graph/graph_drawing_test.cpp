#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "cli/graph/delegate_colour.hpp"
#include "cli/graph/graph_dot.hpp"
#include "cli/graph/graph_page.hpp"
#include "cli/report/attribute_text.hpp"
#include "cli/report/json_report.hpp"

namespace deputy::cli {
namespace {

constexpr const char* kMarkup = "</script><script>alert(1)</script><!-- \" \\ \n";

// x -> first -> a -> second -> y, of two delegates.
PlacedGraph TwoNodes(const std::string& first) {
  PlacedGraph graph;
  for (const char* delegate : {"npu0", "cpu"}) graph.placement.delegates.emplace_back().name = delegate;
  const PlacedValue x{"x", "float32 [2]", {}}, a{"a", "float32 [2]", {}}, y{"y", "float32 [2]", {}};
  const auto add = [&](const std::string& name, const std::string& delegate, const PlacedValue& in,
                       const PlacedValue& out) {
    NodeReport node;
    node.name = name;
    node.op_type = "Relu";
    node.since_version = 14;
    node.delegate = delegate;
    node.partition = delegate + "/0";
    node.refusals = {{delegate == "cpu" ? "npu0" : "cpu", "dtype", name}};
    graph.placement.nodes.push_back(node);
    graph.nodes.push_back({static_cast<uint32_t>(graph.nodes.size()), {in}, {out}, {}, {{"alpha", 0.5F}}});
    PartitionReport partition;
    partition.name = node.partition;
    partition.delegate = delegate;
    partition.nodes = {name};
    graph.placement.partitions.push_back(partition);
  };
  add(first, "npu0", x, a);
  add("second", "cpu", a, y);
  graph.regions = {{"", {x}, {y}, {}}};
  return graph;
}

Json DataOf(const std::string& page) {
  const std::string before = R"(<script id="data" type="application/json">)";
  const size_t begin = page.find(before) + before.size();
  return Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST(GraphPage, HoldsEachNodeWithItsReasonAndItsAttributes) {
  const Json data = DataOf(GraphPage("m.onnx", TwoNodes("first"), nullptr));
  ASSERT_EQ(data["nodes"].size(), 2u);
  const Json& node = data["nodes"][0];
  EXPECT_EQ(node["name"], "first");
  EXPECT_EQ(data["delegates"][node["delegate"].get<size_t>()]["name"], "npu0");
  EXPECT_EQ(data["refusals"][node["refusals"].get<size_t>()], Json::parse(R"([[1, "dtype", "first"]])"));
  EXPECT_EQ(node["attributes"], Json::parse(R"([["alpha", "0.5"]])"));
  EXPECT_EQ(node["outputs"], data["nodes"][1]["inputs"]);
  EXPECT_TRUE(data["measured"].is_null());
}

TEST(GraphPage, NamesOfTheModelCannotEndTheScriptThatHoldsThem) {
  const std::string plain = GraphPage("m", TwoNodes("first"), nullptr);
  const std::string hostile = GraphPage(kMarkup, TwoNodes(kMarkup), nullptr);
  EXPECT_EQ(std::count(hostile.begin(), hostile.end(), '<'), std::count(plain.begin(), plain.end(), '<'));
  EXPECT_EQ(DataOf(hostile)["nodes"][0]["name"], "</script><script>alert(1)</script><!-- \" \\ \\x0a");
}

TEST(GraphPage, MeasuredTimesAndWrongNodesAreInIt) {
  MeasuredRun measured;
  measured.runs = 3;
  measured.total_ns = 1000;
  measured.partition_ns["npu0/0"] = 400;
  measured.node_ns["second"] = 600;
  PartitionVerification verified;
  verified.delegate = "npu0";
  verified.nodes = {"first"};
  verified.result = VerificationResult::kWrong;
  verified.wrong_nodes = {{"first"}};
  measured.verifications = {verified};
  const Json data = DataOf(GraphPage("m", TwoNodes("first"), &measured));
  EXPECT_EQ(data["measured"]["total_ns"], 1000);
  EXPECT_EQ(data["partitions"][0]["time_ns"], 400);
  EXPECT_EQ(data["nodes"][1]["time_ns"], 600);
  EXPECT_FALSE(data["nodes"][1].contains("check"));
  const Json& check = data["checks"][data["nodes"][0]["check"].get<size_t>()];
  EXPECT_EQ(check["result"], "wrong");
  EXPECT_EQ(check["wrong_nodes"], Json::parse(R"(["first"])"));
}

TEST(GraphDot, HasEdgesOfProducersAndColoursOfDelegates) {
  const std::string dot = GraphDot("m", TwoNodes("first"));
  EXPECT_NE(dot.find("n0 -> n1 [label=\"float32 [2]\"]"), std::string::npos) << dot;
  EXPECT_NE(dot.find("in0_0 -> n0"), std::string::npos) << dot;
  EXPECT_NE(dot.find("n1 -> out0_0"), std::string::npos) << dot;
  EXPECT_NE(dot.find("n0 [label=\"Relu\\nfirst\""), std::string::npos) << dot;
  EXPECT_NE(dot.find("color=\"" + DelegateColour(0, 2) + "\""), std::string::npos) << dot;
}

TEST(GraphDot, NamesStayInsideTheirQuotes) {
  const std::string dot = GraphDot("m", TwoNodes("\"]; evil [x=\"\\"));
  EXPECT_NE(dot.find(R"(\"]; evil [x=\"\\")"), std::string::npos) << dot;
}

TEST(DelegateColour, TheLastIsGreyAndTheOthersDiffer) {
  EXPECT_EQ(DelegateColour(2, 3), "#7b828c");
  for (size_t i = 0; i < 8; ++i)
    for (size_t j = 0; j < i; ++j) EXPECT_NE(DelegateColour(i, 9), DelegateColour(j, 9));
  EXPECT_EQ(PaleColour("#000000"), "#b3b3b3");
  EXPECT_EQ(PaleColour("#ffffff"), "#ffffff");
}

TEST(AttributeText, ListsAreCutAndSayTheirLength) {
  EXPECT_EQ(AttributeText(std::vector<int64_t>{1, -2}), "1, -2");
  const std::string text = AttributeText(std::vector<float>(100, 0.1F));
  EXPECT_EQ(text.substr(0, 10), "0.1, 0.1, ");
  EXPECT_EQ(text.substr(text.size() - 21), "0.1, ... (100 in all)");
}

TEST(AttributeText, LongTextsAreCut) {
  const std::string text = AttributeText(std::string(1000, 'a'));
  EXPECT_EQ(text, std::string(400, 'a') + "... (1000 bytes)");
}

TEST(AttributeText, LargeConstantsHaveTheirTypeOnly) {
  const std::vector<float> values(9, 1.5F);
  const auto tensor = [&](size_t count) {
    return *Tensor::FromValues<float>(DType::kFloat32, {static_cast<int64_t>(count)},
                                      std::span(values).subspan(0, count));
  };
  EXPECT_EQ(ConstantText(tensor(2)), "float32 [2]: 1.5, 1.5");
  EXPECT_EQ(ConstantText(tensor(9)), "float32 [9]");
}

}  // namespace
}  // namespace deputy::cli
