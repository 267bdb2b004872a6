// The checked proxy around memory of the device: wishes, buffers, copies.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "base/memory_file.hpp"
#include "unit/plugin/able_delegate.hpp"

namespace deputy::host {
namespace {

using testing::AbleDelegate;

class DeviceMemoryOfAPlugin : public AbleDelegate {
 protected:
  // The wish for a tensor of 16 bytes.
  MemoryWish Wish(const std::function<void(deputy_memory_wish&)>& change) {
    actor_.wish = [&](uint32_t index, deputy_memory_wish& wish) -> deputy_status* {
      EXPECT_EQ(index, 1u);
      EXPECT_EQ(wish.byte_size, 16u);
      EXPECT_EQ(wish.alignment, 64u);
      EXPECT_EQ(wish.memory, deputy_memory_kind{DEPUTY_MEMORY_HOST});
      wish.memory = DEPUTY_MEMORY_DEVICE;
      change(wish);
      return nullptr;
    };
    deputy_tensor tensor{};
    tensor.byte_size = 16;
    return Context()->WishOf(1, tensor);
  }
  std::shared_ptr<DeviceMemory> Memory() { return Context()->device_memory(); }
  bool Logged(const std::string& text) const { return log_.text().find(text) != std::string::npos; }
  size_t Faults() const {
    size_t faults = 0;
    const std::string text = log_.text(), fault = "broke its contract";
    for (size_t at = text.find(fault); at != std::string::npos; at = text.find(fault, at + 1)) ++faults;
    return faults;
  }
};

TEST_F(DeviceMemoryOfAPlugin, DenseTensorsOnTheDeviceAreTaken) {
  const MemoryWish plain = Wish([](deputy_memory_wish&) {});
  EXPECT_TRUE(plain.on_device);
  EXPECT_EQ(plain.byte_size, 16u);
  const MemoryWish more = Wish([](deputy_memory_wish& wish) {
    wish.byte_size = 100;
    wish.alignment = 4096;
  });
  EXPECT_TRUE(more.on_device);
  EXPECT_EQ(more.byte_size, 100u);
  EXPECT_EQ(more.alignment, 4096u);
  EXPECT_EQ(Faults(), 0u);
}

TEST_F(DeviceMemoryOfAPlugin, OtherWishesAreHostMemory) {
  EXPECT_FALSE(Wish([](deputy_memory_wish& wish) { wish.memory = DEPUTY_MEMORY_HOST; }).on_device);
  EXPECT_FALSE(Wish([](deputy_memory_wish& wish) { wish.layout = DEPUTY_LAYOUT_OPAQUE; }).on_device);
  EXPECT_EQ(Faults(), 0u);
  actor_.wish = [&](uint32_t, deputy_memory_wish&) { return actor_.Fail(DEPUTY_NOT_SUPPORTED, "no"); };
  EXPECT_FALSE(Context()->WishOf(0, {}).on_device);
  EXPECT_EQ(Faults(), 0u);
}

TEST_F(DeviceMemoryOfAPlugin, WishesThatNoTensorCanFulfilAreReported) {
  EXPECT_FALSE(Wish([](deputy_memory_wish& wish) { wish.byte_size = 15; }).on_device);
  EXPECT_TRUE(Logged("broke its contract: it wants tensor 1 in memory of kind 1 and layout 0, 15 bytes aligned to 64"));
  EXPECT_FALSE(Wish([](deputy_memory_wish& wish) { wish.alignment = 0; }).on_device);
  EXPECT_FALSE(Wish([](deputy_memory_wish& wish) { wish.alignment = 96; }).on_device);
  EXPECT_FALSE(Wish([](deputy_memory_wish& wish) { wish.memory = 7; }).on_device);
  EXPECT_FALSE(Wish([](deputy_memory_wish& wish) { wish.layout = 7; }).on_device);
  EXPECT_EQ(Faults(), 5u);
  actor_.wish = [&](uint32_t, deputy_memory_wish&) { return actor_.Fail(DEPUTY_INTERNAL, "confused"); };
  EXPECT_FALSE(Context()->WishOf(0, {}).on_device);
  EXPECT_TRUE(Logged("confused"));
}

TEST_F(DeviceMemoryOfAPlugin, ATableWithoutASlotIsNone) {
  actor_.memory.copy = nullptr;
  EXPECT_EQ(Memory(), nullptr);
}

TEST_F(DeviceMemoryOfAPlugin, BuffersAreReleasedOnce) {
  actor_.allocate = [](const deputy_buffer_request& request, uint64_t& handle) -> deputy_status* {
    EXPECT_EQ(request.byte_size, 100u);
    EXPECT_EQ(request.alignment, 256u);
    EXPECT_EQ(request.uses, DEPUTY_BUFFER_CPU_READS | DEPUTY_BUFFER_CPU_WRITES);
    handle = 5;
    return nullptr;
  };
  {
    Result<DeviceBuffer> made = DeviceBuffer::Make(Memory(), 100, 256);
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    const DeviceBuffer moved = std::move(made).value();
    EXPECT_EQ(moved.handle(), 5u);
    EXPECT_TRUE(moved.is_valid());
    EXPECT_TRUE(actor_.released_buffers.empty());
    moved.memory().CountLoss(0);
    moved.memory().CountLoss(0);  // another user finds the same loss
    EXPECT_FALSE(moved.is_valid());
    EXPECT_EQ(Memory()->losses(), 1u);
  }
  EXPECT_EQ(actor_.released_buffers, (std::vector<uint64_t>{5}));
}

TEST_F(DeviceMemoryOfAPlugin, AFailedAllocationHasNoBuffer) {
  actor_.allocate = [&](const deputy_buffer_request&, uint64_t&) { return actor_.Fail(DEPUTY_OUT_OF_MEMORY, "full"); };
  EXPECT_EQ(DeviceBuffer::Make(Memory(), 1, 64).status().code(), StatusCode::kResourceExhausted);
  actor_.allocate = [](const deputy_buffer_request&, uint64_t&) -> deputy_status* { return nullptr; };
  EXPECT_EQ(DeviceBuffer::Make(Memory(), 1, 64).status().code(), StatusCode::kPlugin);
  EXPECT_TRUE(Logged("it succeeded without a buffer"));
  EXPECT_TRUE(actor_.released_buffers.empty());
}

TEST_F(DeviceMemoryOfAPlugin, MemoryOfOthersIsImportedByItsDescriptor) {
  const Descriptor file = *SealedMemory(8192);
  actor_.import = [&](const deputy_shared_buffer& buffer, uint64_t& handle) -> deputy_status* {
    EXPECT_EQ(buffer.kind, deputy_memory_handle_kind{DEPUTY_MEMORY_HANDLE_MEMFD});
    EXPECT_EQ(*SharedMemorySize(static_cast<int>(buffer.handle)), 8192u);
    EXPECT_NE(buffer.handle, file.get()) << "a duplicate";
    EXPECT_EQ(buffer.offset, 4096u);
    EXPECT_EQ(buffer.byte_size, 100u);
    EXPECT_EQ(buffer.driver.size, 0u);
    EXPECT_EQ(buffer.planes, nullptr);
    handle = 6;
    return nullptr;
  };
  const float host = 0;
  {
    const Result<DeviceBuffer> made = DeviceBuffer::Import(Memory(), {file.get(), 4096, 100}, &host, 64);
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    EXPECT_EQ(made->handle(), 6u);
    EXPECT_EQ(made->size(), 100u);
    EXPECT_EQ(made->host(), &host);
  }
  EXPECT_EQ(actor_.released_buffers, (std::vector<uint64_t>{6}));
}

TEST_F(DeviceMemoryOfAPlugin, AnImportThatIsNoneHasNoBuffer) {
  const Descriptor file = *SealedMemory(100);
  actor_.import = [](const deputy_shared_buffer&, uint64_t&) -> deputy_status* { return nullptr; };
  EXPECT_EQ(Memory()->Import({file.get(), 0, 100}).status().code(), StatusCode::kPlugin);
  EXPECT_TRUE(Logged("it succeeded without a buffer"));
  actor_.import = [&](const deputy_shared_buffer&, uint64_t&) { return actor_.Fail(DEPUTY_NOT_SUPPORTED, "far away"); };
  EXPECT_EQ(Memory()->Import({file.get(), 0, 100}).status().code(), StatusCode::kNotSupported);
  EXPECT_TRUE(actor_.released_buffers.empty());
}

TEST_F(DeviceMemoryOfAPlugin, ANameOfABufferThatIsNotReleasedIsNoneOfAnother) {
  actor_.allocate = [](const deputy_buffer_request&, uint64_t& handle) -> deputy_status* {
    return handle = 5, nullptr;
  };
  actor_.import = [](const deputy_shared_buffer&, uint64_t& handle) -> deputy_status* { return handle = 5, nullptr; };
  const Descriptor file = *SealedMemory(100);
  EXPECT_EQ(*Memory()->Allocate(100, 64), 5u);
  EXPECT_EQ(Memory()->Allocate(100, 64).status().code(), StatusCode::kPlugin);
  EXPECT_EQ(Memory()->Import({file.get(), 0, 100}).status().code(), StatusCode::kPlugin);
  EXPECT_TRUE(Logged("it gave a buffer the name 5 of one that is not released"));
  EXPECT_TRUE(actor_.released_buffers.empty());
  Memory()->Release(5);
  EXPECT_EQ(*Memory()->Import({file.get(), 0, 100}), 5u);
}

TEST_F(DeviceMemoryOfAPlugin, ItCannotCloseTheDescriptorOfTheApplication) {
  actor_.import = [](const deputy_shared_buffer& buffer, uint64_t& handle) -> deputy_status* {
    close(static_cast<int>(buffer.handle));
    return handle = 8, nullptr;
  };
  const Descriptor file = *SealedMemory(100);
  EXPECT_EQ(Memory()->Import({file.get(), 0, 100}).status().code(), StatusCode::kPlugin);
  EXPECT_TRUE(Logged("it closed the descriptor of the memory"));
  EXPECT_NE(fcntl(file.get(), F_GETFD), -1);
}

TEST_F(DeviceMemoryOfAPlugin, KindsThatAreNotDeclaredAreNotImported) {
  actor_.import = [](const deputy_shared_buffer&, uint64_t&) -> deputy_status* {
    ADD_FAILURE() << "it is not asked";
    return nullptr;
  };
  actor_.memory.imports = 1u << DEPUTY_MEMORY_HANDLE_DMA_BUF;
  EXPECT_EQ(Memory()->Import({17, 0, 100}).status().code(), StatusCode::kNotSupported);
  actor_.memory.imports = 1u << DEPUTY_MEMORY_HANDLE_MEMFD;
  actor_.memory.import = nullptr;
  EXPECT_EQ(Memory()->Import({17, 0, 100}).status().code(), StatusCode::kNotSupported);
}

TEST_F(DeviceMemoryOfAPlugin, CopiesNameOneSideByItsHandle) {
  float device = 0;
  actor_.copy = [&](const deputy_copy_args& args, deputy_async_run*&) -> deputy_status* {
    EXPECT_EQ(args.sink, nullptr);
    EXPECT_EQ(args.wait_count, 0u);
    EXPECT_EQ(args.byte_size, sizeof device);
    const bool in = args.to->data == nullptr;
    const deputy_copy_side &buffer = in ? *args.to : *args.from, &host = in ? *args.from : *args.to;
    EXPECT_EQ(buffer.handle, 9u);
    EXPECT_EQ(buffer.offset, 0u);
    EXPECT_EQ(host.handle, 0u);
    if (in)
      std::memcpy(&device, host.data, sizeof device);
    else
      std::memcpy(host.data, &device, sizeof device);
    return nullptr;
  };
  const float given = 3;
  float taken = 0;
  ASSERT_TRUE(Memory()->CopyIn(&given, 9, sizeof given).ok());
  ASSERT_TRUE(Memory()->CopyOut(9, &taken, sizeof taken).ok());
  EXPECT_EQ(taken, 3);
  actor_.copy = [&](const deputy_copy_args&, deputy_async_run*&) { return actor_.Fail(DEPUTY_DEVICE_LOST, "gone"); };
  EXPECT_EQ(Memory()->CopyOut(9, &taken, sizeof taken).code(), StatusCode::kDeviceLost);
  actor_.copy = [&](const deputy_copy_args&, deputy_async_run*& run) -> deputy_status* {
    run = reinterpret_cast<deputy_async_run*>(&actor_);
    return nullptr;
  };
  EXPECT_EQ(Memory()->CopyIn(&given, 9, sizeof given).code(), StatusCode::kPlugin);
}

}  // namespace
}  // namespace deputy::host
