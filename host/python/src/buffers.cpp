// Buffers: memory that outlives runs, of a device or shared.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "calls.hpp"
#include "errors.hpp"
#include "sessions.hpp"

namespace deputy::python {
namespace {

// Owns a handle of the library.
class Buffer {
 public:
  explicit Buffer(DeputyBuffer* buffer) : buffer_(buffer) {
    info_.struct_size = sizeof(info_);
    DeputyBufferDescribe(buffer_, &info_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { DeputyBufferFree(buffer_); }

  DeputyBuffer* get() const { return buffer_; }
  const DeputyBufferInfo& info() const { return info_; }

 private:
  DeputyBuffer* buffer_;
  DeputyBufferInfo info_{};
};

template <class F>
Buffer* MakeBuffer(const F& make) {
  DeputyBuffer* buffer = nullptr;
  Check(Unlocked([&] { return make(&buffer); }));
  return new Buffer(buffer);
}

Buffer* MakeShared(const std::string& dtype, const std::vector<int64_t>& shape) {
  const DeputyDType number = DTypeOf(dtype.c_str());
  return MakeBuffer([&](DeputyBuffer** buffer) {
    return DeputyBufferMakeShared(number, shape.data(), static_cast<uint32_t>(shape.size()), buffer);
  });
}

Buffer* Import(int descriptor, const std::string& dtype, const std::vector<int64_t>& shape, uint64_t offset) {
  const DeputyDType number = DTypeOf(dtype.c_str());
  return MakeBuffer([&](DeputyBuffer** buffer) {
    return DeputyBufferImport(descriptor, offset, number, shape.data(), static_cast<uint32_t>(shape.size()), buffer);
  });
}

void Write(Buffer& buffer, nb::handle values) {
  const Borrowed borrowed = Borrowed::Input(values, buffer.info().dtype);
  Check(Unlocked([&] { return DeputyBufferWrite(buffer.get(), &borrowed.tensor()); }));
}

nb::object Read(const Buffer& buffer) {
  DeputyTensor tensor{};
  Check(Unlocked([&] { return DeputyBufferRead(buffer.get(), &tensor); }));
  return ArrayOf(tensor);
}

nb::tuple Shape(const Buffer& buffer) {
  nb::list extents;
  for (uint32_t i = 0; i < buffer.info().rank; ++i) extents.append(buffer.info().shape[i]);
  return nb::tuple(extents);
}

}  // namespace

void AddBuffers(nb::module_& module, nb::class_<Session>& session) {
  nb::class_<Buffer>(module, "Buffer", "Memory that outlives runs: of a device, or shared with other processes.")
      .def_static("make_shared", &MakeShared, nb::arg("dtype"), nb::arg("shape"),
                  nb::sig("def make_shared(dtype: str, shape: collections.abc.Sequence[int]) -> Buffer"),
                  "In memory that other processes can map by `descriptor`.")
      .def_static("from_descriptor", &Import, nb::arg("descriptor"), nb::arg("dtype"), nb::arg("shape"),
                  nb::arg("offset") = 0,
                  nb::sig("def from_descriptor(descriptor: int, dtype: str, shape: collections.abc.Sequence[int], "
                          "offset: int = 0) -> Buffer"),
                  "On memory of memfd_create that is sealed with F_SEAL_SHRINK; the descriptor is duplicated.")
      .def("write", &Write, nb::arg("values"), nb::sig("def write(self, values: object) -> None"),
           "Copies all elements.")
      .def("read", &Read, nb::sig("def read(self) -> numpy.typing.NDArray[typing.Any]"), "A copy of all elements.")
      .def_prop_ro("dtype", [](const Buffer& buffer) { return std::string(DeputyDTypeName(buffer.info().dtype)); })
      .def_prop_ro("shape", &Shape, nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro("byte_size", [](const Buffer& buffer) { return buffer.info().byte_size; })
      .def_prop_ro("is_on_device", [](const Buffer& buffer) { return buffer.info().is_on_device != 0; })
      .def_prop_ro(
          "descriptor", [](const Buffer& buffer) { return buffer.info().descriptor; }, "-1 where it is not shared.")
      .def_prop_ro("offset", [](const Buffer& buffer) { return buffer.info().offset; });
  session
      .def("input_buffer",
           [](Session& s, const std::string& name) {
             return MakeBuffer(
                 [&](DeputyBuffer** buffer) { return DeputySessionInputBuffer(s.get(), name.c_str(), buffer); });
           })
      .def("output_buffer",
           [](Session& s, const std::string& name) {
             return MakeBuffer(
                 [&](DeputyBuffer** buffer) { return DeputySessionOutputBuffer(s.get(), name.c_str(), buffer); });
           })
      .def(
          "bind_input",
          [](Session& s, const std::string& name, const Buffer* buffer) {
            s.Bind(name, buffer == nullptr ? nullptr : buffer->get(), true);
          },
          nb::arg("name"), nb::arg("buffer").none())
      .def(
          "bind_output",
          [](Session& s, const std::string& name, const Buffer* buffer) {
            s.Bind(name, buffer == nullptr ? nullptr : buffer->get(), false);
          },
          nb::arg("name"), nb::arg("buffer").none());
}

}  // namespace deputy::python
