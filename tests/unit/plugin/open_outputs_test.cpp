// Outputs whose extents only the run knows: the plugin allocates each once, with extents that fit.
#include "plugin/proxy/open_outputs.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "unit/plugin/able_delegate.hpp"

namespace deputy::host {
namespace {

using testing::AbleDelegate;

// Memory of one output, by the extents that it gets.
class Memory final : public OutputAllocator {
 public:
  Status Allocate(deputy_tensor* tensor, std::span<const int64_t> dims) override {
    if (refuses) return Error(StatusCode::kResourceExhausted, "no memory");
    dims_.assign(dims.begin(), dims.end());
    size_t count = 1;
    for (const int64_t dim : dims_) count *= static_cast<size_t>(dim);
    elements.assign(count + 1, -1.0f);
    tensor->rank = static_cast<uint32_t>(dims_.size());
    tensor->dims = dims_.data();
    tensor->data = elements.data();
    tensor->byte_size = count * sizeof(float);
    return {};
  }
  std::vector<float> elements;
  bool refuses = false;

 private:
  std::vector<int64_t> dims_;
};

// The first value of the graph has the extents [?, 4].
class AllocatedOutputs : public AbleDelegate {
 protected:
  using Calls = std::function<deputy_status*(const deputy_run_args&)>;

  AllocatedOutputs() {
    open_graph_.values[1].type.dims = {kUnknownDim, 4};
    actor_.run = [this](const deputy_run_args& args) {
      if (!calls_) return;
      deputy_status* status = calls_(args);
      refused_ = status != nullptr;
      if (refused_) actor_.host->status_release(actor_.host->self, status);
    };
    output_.struct_size = sizeof output_;
    output_.dtype = DEPUTY_DTYPE_FLOAT32;
  }
  // The status of a run in which the plugin makes these calls.
  Status Run(Calls calls) {
    calls_ = std::move(calls);
    if (context_ == nullptr) context_ = std::move((*Open().Compile(open_view_, kFirst))->CreateContext()).value();
    const deputy_tensor* inputs[] = {nullptr};
    deputy_tensor* outputs[] = {&output_};
    return context_->Execute({inputs, outputs, &memory_});
  }
  static deputy_status* Allocate(const deputy_run_args& args, uint32_t output, std::vector<int64_t> dims, void** data) {
    return args.allocator->allocate(args.allocator->self, output, dims.data(), static_cast<uint32_t>(dims.size()),
                                    data);
  }
  // Allocates three rows and writes them.
  static deputy_status* Right(const deputy_run_args& args) {
    void* data = nullptr;
    if (deputy_status* status = Allocate(args, 0, {3, 4}, &data)) return status;
    std::fill_n(static_cast<float*>(data), 12, 7.0f);
    return nullptr;
  }

  Graph open_graph_ = testing::ReluSigmoid();
  GraphView view_of_open_ = OfferAll(open_graph_);
  const GraphView& open_view_ = view_of_open_;
  deputy_tensor output_{};
  Memory memory_;
  Calls calls_;
  bool refused_ = false;
  std::unique_ptr<ExecutionContext> context_;
};

TEST_F(AllocatedOutputs, AreShownWithoutExtentsAndGetThoseOfTheRun) {
  deputy_tensor shown{};
  const Status status = Run([&](const deputy_run_args& args) {
    shown = *args.outputs[0];
    EXPECT_EQ(std::vector<int64_t>(shown.dims, shown.dims + 2), (std::vector<int64_t>{-1, 4}));
    return Right(args);
  });
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(shown.data, nullptr);
  EXPECT_EQ(shown.byte_size, 0u);
  EXPECT_EQ(output_.dims[0], 3);
  EXPECT_EQ(output_.byte_size, 48u);
  EXPECT_EQ(memory_.elements[11], 7.0f);
}

TEST_F(AllocatedOutputs, AreShownWithoutExtentsInTheNextRunToo) {
  ASSERT_TRUE(Run(Right).ok());
  ASSERT_TRUE(Run([&](const deputy_run_args& args) {
                EXPECT_EQ(args.outputs[0]->dims[0], -1);
                EXPECT_EQ(args.outputs[0]->data, nullptr);
                void* data = nullptr;
                EXPECT_EQ(Allocate(args, 0, {0, 4}, &data), nullptr);
                EXPECT_EQ(data, nullptr) << "there are no elements";
                return static_cast<deputy_status*>(nullptr);
              }).ok());
  EXPECT_EQ(output_.dims[0], 0);
}

TEST_F(AllocatedOutputs, ThatAreNotAllocatedAreAFault) {
  const Status status = Run([](const deputy_run_args&) -> deputy_status* { return nullptr; });
  EXPECT_EQ(status.code(), StatusCode::kPlugin);
  EXPECT_NE(status.message().find("it gave no extents to output 0"), std::string::npos);
}

TEST_F(AllocatedOutputs, ThatAreAllocatedTwiceAreAFault) {
  const Status status = Run([](const deputy_run_args& args) {
    (void)Right(args);
    void* data = nullptr;
    return Allocate(args, 0, {3, 4}, &data);
  });
  EXPECT_EQ(status.message(), "it allocates output 0 twice");
  EXPECT_TRUE(refused_);
}

TEST_F(AllocatedOutputs, OfExtentsThatDoNotFitAreAFault) {
  const Status status = Run([](const deputy_run_args& args) {
    void* data = nullptr;
    return Allocate(args, 0, {3, 5}, &data);
  });
  EXPECT_EQ(status.message(), "it gives output 0 the shape [3,5], which does not fit [?,4]");
}

TEST_F(AllocatedOutputs, OfNegativeExtentsAreAFault) {
  const Status status = Run([](const deputy_run_args& args) {
    void* data = nullptr;
    return Allocate(args, 0, {-3, 4}, &data);
  });
  EXPECT_EQ(status.code(), StatusCode::kPlugin);
}

TEST_F(AllocatedOutputs, ThatDoNotExistAreAFault) {
  const Status status = Run([](const deputy_run_args& args) {
    void* data = nullptr;
    return Allocate(args, 1, {3, 4}, &data);
  });
  EXPECT_EQ(status.message(), "it allocates output 1, whose extents are known");
}

TEST_F(AllocatedOutputs, ThatAreNotWrittenInTheFirstRunAreAFault) {
  const Status status = Run([](const deputy_run_args& args) {
    void* data = nullptr;
    return Allocate(args, 0, {3, 4}, &data);
  });
  EXPECT_EQ(status.code(), StatusCode::kPlugin);
  EXPECT_NE(status.message().find("was not written"), std::string::npos);
}

TEST_F(AllocatedOutputs, WithoutMemoryAreAFailureOfTheHosts) {
  memory_.refuses = true;
  deputy_code code = DEPUTY_OK;
  (void)Run([&](const deputy_run_args& args) {
    void* data = nullptr;
    deputy_status* status = Allocate(args, 0, {3, 4}, &data);
    code = actor_.host->status_code(actor_.host->self, status);
    actor_.host->status_release(actor_.host->self, status);
    return static_cast<deputy_status*>(nullptr);
  });
  EXPECT_EQ(code, DEPUTY_OUT_OF_MEMORY);
}

TEST_F(AllocatedOutputs, AreGuardedInACheckedDelegate) {
  ASSERT_TRUE(registry_.AddInProcess(&actor_.plugin, nullptr).ok());
  OpenRequest request{"able", "stage", "", {}, nullptr};
  request.check = true;
  delegate_ = registry_.Open(request).value();
  const Status status = Run([](const deputy_run_args& args) {
    void* data = nullptr;
    if (deputy_status* failure = Allocate(args, 0, {3, 4}, &data)) return failure;
    std::fill_n(static_cast<float*>(data), 12, 7.0f);
    return static_cast<deputy_status*>(nullptr);
  });
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(memory_.elements[11], 7.0f) << "copied back";
  EXPECT_EQ(memory_.elements[12], -1.0f);
}

}  // namespace
}  // namespace deputy::host
