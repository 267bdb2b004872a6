// The importer as a library of its own, opened by name.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "unit/import/model_builder.hpp"

namespace deputy::host {
namespace {

ImporterFunction Open() {
  void* library = dlopen(DEPUTY_ONNX_IMPORTER, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  EXPECT_NE(library, nullptr) << dlerror();
  return library == nullptr ? nullptr : reinterpret_cast<ImporterFunction>(dlsym(library, kImporterSymbol));
}

TEST(ImporterLibrary, ImportsAModel) {
  const ImporterFunction function = Open();
  ASSERT_NE(function, nullptr);
  const Importer* importer = function(kImporterBuild);
  ASSERT_NE(importer, nullptr);
  EXPECT_EQ(importer->format_name(), "ONNX");
  test::ModelBuilder builder;
  test::AddSmallModel(builder);
  const std::string bytes = builder.Bytes();
  const Result<Graph> graph =
      importer->Import({{reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, {}, {}});
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->nodes.size(), 2u);
}

TEST(ImporterLibrary, AnotherBuildIsRefused) {
  const ImporterFunction function = Open();
  ASSERT_NE(function, nullptr);
  EXPECT_EQ(function("0.0.1 another compiler"), nullptr);
}

TEST(ImporterLibrary, ExportsNothingElse) {
  void* library = dlopen(DEPUTY_ONNX_IMPORTER, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  ASSERT_NE(library, nullptr);
  Dl_info own{}, other{};
  ASSERT_NE(dladdr(dlsym(library, kImporterSymbol), &own), 0);
  // A function of the host that is linked into the library, by its mangled name.
  void* leaked = dlsym(library, "_ZN6deputy4host11VerifyGraphERKNS0_5GraphE");
  EXPECT_TRUE(leaked == nullptr || dladdr(leaked, &other) == 0 || std::string(own.dli_fname) != other.dli_fname);
}

}  // namespace
}  // namespace deputy::host
