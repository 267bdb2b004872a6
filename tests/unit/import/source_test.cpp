// The line of the program that exported a node.
#include "import/onnx/source.hpp"

#include <gtest/gtest.h>

#include <string>

#include "graph/graph.hpp"
#include "unit/import/model_builder.hpp"

namespace deputy::host {
namespace {

using onnx_import::SourceOf;
using onnx_import::StackTraceOf;
using test::ModelBuilder;

constexpr char kOfTorchScript[] =
    "/usr/lib/python3/dist-packages/torch/nn/modules/conv.py(460): _conv_forward\n"
    "/usr/lib/python3/dist-packages/torch/nn/modules/module.py(1501): _call_impl\n"
    "/home/me/model.py(42): forward\n"
    "/home/me/model.py(17): outer\n"
    "/home/me/export.py(9): <module>\n";

constexpr char kOfPython[] =
    "  File \"/home/me/model.py\", line 17, in outer\n    return self.inner(x)\n"
    "  File \"/home/me/model.py\", line 42, in forward\n    x = self.conv(x)\n"
    "  File \"/usr/lib/python3.11/site-packages/torch/nn/modules/conv.py\", line 548, in forward\n    return y\n";

TEST(Source, OfATraceOfTorchScriptIsTheInnermostLineOfTheUser) {
  EXPECT_EQ(SourceOf(kOfTorchScript), "/home/me/model.py:42");
}

TEST(Source, OfATraceOfPythonIsTheInnermostLineOfTheUser) { EXPECT_EQ(SourceOf(kOfPython), "/home/me/model.py:42"); }

TEST(Source, OfAModelInAPackageIsItsLineNotThatOfTheScriptThatExportsIt) {
  EXPECT_EQ(
      SourceOf("/usr/lib/site-packages/torch/nn/functional.py(1): relu\n"
               "/usr/lib/site-packages/torchvision/models/resnet.py(97): forward\n/home/me/export.py(9): <module>"),
      "/usr/lib/site-packages/torchvision/models/resnet.py:97");
}

TEST(Source, WithAColumnIsRead) { EXPECT_EQ(SourceOf("# model.py:42:8"), "model.py:42"); }

TEST(Source, OfATextThatIsNoTraceIsEmpty) {
  for (const char* text : {"", "a convolution", "see model.py", "model.py()", "model.py(x): f", "File \"a.py\", line ",
                           ".py", "model.py:", "File \"\", line 3, in f", "model.py(99999999999): f"})
    EXPECT_EQ(SourceOf(text), "") << text;
}

TEST(Source, OfALongPathIsItsEnd) {
  std::string path;
  for (int i = 0; i < 40; ++i) path += "/folder";
  const std::string source = SourceOf(path + "/model.py(42): forward");
  EXPECT_LE(source.size(), onnx_import::kLongestSource);
  EXPECT_EQ(source.rfind("...", 0), 0u) << source;
  EXPECT_NE(source.find("/folder/model.py:42"), std::string::npos) << source;
}

TEST(Source, DamagedPropertiesHaveNone) {
  const std::string good = std::string("\x0a\x1a") + "pkg.torch.onnx.stack_trace" + "\x12\x04" + "text";
  EXPECT_EQ(StackTraceOf(good), "text");
  for (size_t size = 0; size + 1 < good.size(); ++size)
    EXPECT_NE(StackTraceOf(std::string_view(good).substr(0, size)), "text") << size;
  EXPECT_EQ(StackTraceOf("\x0a\x01k\x12\x01v"), "");
}

TEST(Source, OfANodeIsInTheGraphAndShared) {
  ModelBuilder builder;
  builder.Input("x");
  builder.Node("Relu", {"x"}, {"a"}, "one").set_doc_string(kOfTorchScript);
  builder.Node("Neg", {"a"}, {"b"}, "two").set_doc_string("of no line");
  builder.Node("Exp", {"b"}, {"y"}, "three").set_doc_string(kOfTorchScript);
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  ASSERT_NE(graph->nodes[0].source, nullptr);
  EXPECT_EQ(*graph->nodes[0].source, "/home/me/model.py:42");
  EXPECT_EQ(graph->nodes[1].source, nullptr);
  EXPECT_EQ(graph->nodes[2].source, graph->nodes[0].source);
  EXPECT_EQ(Describe(*graph, 0), "node 'one' (Relu), exported at /home/me/model.py:42");
  EXPECT_EQ(Describe(*graph, 1), "node 'two' (Neg)");
}

// metadata_props is newer than the types of libonnx 1.12.
TEST(Source, OfMetadataIsReadAndGoesBeforeTheDocumentation) {
  ModelBuilder builder;
  builder.Input("x");
  onnx::NodeProto& node = builder.Node("Relu", {"x"}, {"y"}, "one");
  node.set_doc_string("other.py:1");
  const std::string trace = kOfPython;
  const std::string property = std::string("\x0a\x1a") + "pkg.torch.onnx.stack_trace" + "\x12" +
                               static_cast<char>((trace.size() & 0x7f) | 0x80) + static_cast<char>(trace.size() >> 7) +
                               trace;
  for (const std::string& text : {std::string("\x0a\x09namespace\x12\x01x"), property})
    *node.mutable_unknown_fields() += test::Chunk(9, text);
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  ASSERT_NE(graph->nodes[0].source, nullptr);
  EXPECT_EQ(*graph->nodes[0].source, "/home/me/model.py:42");
}

// A field of no bytes must not end the node.
TEST(Source, AnEmptyOverloadIsSkipped) {
  ModelBuilder builder;
  builder.Input("x");
  onnx::NodeProto& node = builder.Node("Relu", {"x"}, {"y"}, "one");
  *node.mutable_unknown_fields() += test::Chunk(8, "");
  *node.mutable_unknown_fields() += test::Chunk(12, "later");
  builder.Output("y");
  EXPECT_TRUE(builder.Import().ok()) << builder.Import().status().ToString();
}

TEST(Source, OfACallIsThatOfTheNodesOfItsFunctionThatStateNone) {
  ModelBuilder builder;
  builder.ImportDomain("own", 1);
  onnx::FunctionProto& function = builder.Function("own", "Twice", {"a"}, {"b"});
  test::AddNode(function, "Relu", {"a"}, {"m"});
  test::AddNode(function, "Add", {"m", "m"}, {"b"}).set_doc_string("inner.py:7");
  builder.Input("x");
  onnx::NodeProto& call = builder.Node("Twice", {"x"}, {"y"}, "call");
  call.set_domain("own");
  call.set_doc_string("outer.py:5");
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(*graph->nodes[0].source, "outer.py:5");
  EXPECT_EQ(*graph->nodes[1].source, "inner.py:7");
}

TEST(Source, IsInErrorsOfTheImport) {
  ModelBuilder builder;
  builder.Input("x");
  builder.Node("Relu", {"absent"}, {"y"}, "one").set_doc_string("model.py:3");
  builder.Output("y");
  const Result<Graph> graph = builder.Import();
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.status().ToString().find("node 'one' (Relu), exported at model.py:3"), std::string::npos)
      << graph.status().ToString();
}

}  // namespace
}  // namespace deputy::host
