#include "tensors.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <string>
#include <utility>

#include "calls.hpp"
#include "errors.hpp"

namespace deputy::python {
namespace {

static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));

using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;
constexpr auto kAsMade = nb::rv_policy::reference;  // the memory has an owner already

// What a type is for NumPy, which has none but those of C, and for DLPack, by its codes.
struct Element {
  DeputyDType dtype;
  nb::dlpack::dtype stored;  // in NumPy; ml_dtypes gives the view
  uint8_t code;              // in DLPack
  uint8_t bits;
};

constexpr nb::dlpack::dtype Stored(nb::dlpack::dtype_code code, uint8_t bits) {
  return {static_cast<uint8_t>(code), bits, 1};
}

using Code = nb::dlpack::dtype_code;
constexpr Element kElements[] = {
    {kDeputyFloat32, Stored(Code::Float, 32), 2, 32},
    {kDeputyUint8, Stored(Code::UInt, 8), 1, 8},
    {kDeputyInt8, Stored(Code::Int, 8), 0, 8},
    {kDeputyUint16, Stored(Code::UInt, 16), 1, 16},
    {kDeputyInt16, Stored(Code::Int, 16), 0, 16},
    {kDeputyInt32, Stored(Code::Int, 32), 0, 32},
    {kDeputyInt64, Stored(Code::Int, 64), 0, 64},
    {kDeputyBoolean, Stored(Code::Bool, 8), 6, 8},
    {kDeputyFloat16, Stored(Code::Float, 16), 2, 16},
    {kDeputyFloat64, Stored(Code::Float, 64), 2, 64},
    {kDeputyUint32, Stored(Code::UInt, 32), 1, 32},
    {kDeputyUint64, Stored(Code::UInt, 64), 1, 64},
    {kDeputyBFloat16, Stored(Code::UInt, 16), 4, 16},
    {kDeputyFloat8E4M3FN, Stored(Code::UInt, 8), 10, 8},
    {kDeputyFloat8E4M3FNUZ, Stored(Code::UInt, 8), 11, 8},
    {kDeputyFloat8E5M2, Stored(Code::UInt, 8), 12, 8},
    {kDeputyFloat8E5M2FNUZ, Stored(Code::UInt, 8), 13, 8},
    {kDeputyFloat8E8M0, Stored(Code::UInt, 8), 14, 8},
};

const Element* ElementOf(DeputyDType dtype) {
  for (const Element& element : kElements)
    if (element.dtype == dtype) return &element;
  return nullptr;
}

bool IsCustom(const Element& element) { return element.code != element.stored.code; }

// Of a format of the buffer protocol in the order of this machine; kDeputyUndefined for another.
DeputyDType DTypeOfFormat(const char* format, Py_ssize_t size) {
  if (format == nullptr) return kDeputyUint8;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (format[0] == '\0' || format[1] != '\0') return kDeputyUndefined;
  const bool small = size == 1, medium = size == 2, large = size == 4;
  switch (*format) {
    case '?': return kDeputyBoolean;
    case 'e': return kDeputyFloat16;
    case 'f': return kDeputyFloat32;
    case 'd': return kDeputyFloat64;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q': return small ? kDeputyInt8 : medium ? kDeputyInt16 : large ? kDeputyInt32 : kDeputyInt64;
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q': return small ? kDeputyUint8 : medium ? kDeputyUint16 : large ? kDeputyUint32 : kDeputyUint64;
    default: return kDeputyUndefined;
  }
}

nb::object Arrays() { return nb::module_::import_("deputy._arrays"); }

nb::object OwnerOf(DeputyMemory* memory) {
  return nb::capsule(memory, [](void* held) noexcept { DeputyMemoryRelease(static_cast<DeputyMemory*>(held)); });
}

nb::object StoredArray(const DeputyTensor& tensor, nb::object owner) {
  const Element* element = ElementOf(tensor.dtype);
  if (element == nullptr) {  // packed
    const size_t bytes = tensor.byte_size;
    nb::ndarray<nb::numpy> raw(tensor.data, 1, &bytes, owner, nullptr, Stored(Code::UInt, 8));
    nb::list shape;
    for (uint32_t i = 0; i < tensor.rank; ++i) shape.append(tensor.shape[i]);
    return Arrays().attr("unpacked")(nb::cast(raw, kAsMade), DeputyDTypeName(tensor.dtype), shape);
  }
  nb::ndarray<nb::numpy> array(tensor.data, tensor.rank, reinterpret_cast<const size_t*>(tensor.shape), owner, nullptr,
                               element->stored);
  nb::object made = nb::cast(array, kAsMade);
  return IsCustom(*element) ? Arrays().attr("seen_as")(made, DeputyDTypeName(tensor.dtype)) : made;
}

// An array of an object of DLPack, in its memory, and the number of its type.
nb::tuple FromDlpack(nb::handle object) {
  AnyArray array;
  if (!nb::try_cast(object, array))
    throw nb::type_error("the tensor is not in host memory, or its type has no equal in a model");
  const nb::dlpack::dtype dtype = array.dtype();
  for (const Element& element : kElements) {
    if (element.code != dtype.code || element.bits != dtype.bits || dtype.lanes != 1) continue;
    std::vector<size_t> shape;
    std::vector<int64_t> strides;
    for (size_t i = 0; i < array.ndim(); ++i) {
      shape.push_back(array.shape(i));
      strides.push_back(array.stride(i));
    }
    nb::ndarray<nb::numpy, nb::ro> seen(array.data(), array.ndim(), shape.data(), nb::cast(array, kAsMade),
                                        strides.data(), element.stored);
    return nb::make_tuple(nb::cast(seen, kAsMade), element.dtype);
  }
  throw nb::type_error("the type of the tensor has no equal in a model");
}

// A result in the memory of the library, for other frameworks.
class Tensor {
 public:
  explicit Tensor(DeputyTensor tensor) : tensor_(tensor) {}
  Tensor(Tensor&& other) noexcept : tensor_(std::exchange(other.tensor_, {})) {}
  Tensor& operator=(Tensor&&) = delete;
  ~Tensor() { DeputyTensorRelease(&tensor_); }

  std::string dtype() const { return DeputyDTypeName(tensor_.dtype); }
  nb::tuple shape() const {
    nb::list extents;
    for (uint32_t i = 0; i < tensor_.rank; ++i) extents.append(tensor_.shape[i]);
    return nb::tuple(extents);
  }
  nb::object numpy() const {
    DeputyMemoryRetain(tensor_.memory);
    DeputyTensor shared = tensor_;
    return ArrayOf(shared);
  }
  // A capsule without a version, which all versions of the protocol allow. The arguments are stream, max_version,
  // dl_device, which can only be this device, and copy.
  nb::object dlpack(nb::kwargs arguments) const {
    const Element* element = ElementOf(tensor_.dtype);
    if (element == nullptr) throw nb::buffer_error("DLPack has no packed types: use numpy()");
    DeputyTensor shared = tensor_;
    if (arguments.contains("copy") && nb::object(arguments["copy"]).is(nb::bool_(true))) {
      Check(DeputyTensorAllocate(tensor_.dtype, tensor_.shape, tensor_.rank, &shared));
      std::memcpy(shared.data, tensor_.data, tensor_.byte_size);
    } else {
      DeputyMemoryRetain(shared.memory);
    }
    nb::ndarray<> array(shared.data, shared.rank, reinterpret_cast<const size_t*>(shared.shape), OwnerOf(shared.memory),
                        nullptr, nb::dlpack::dtype{element->code, element->bits, 1});
    return nb::cast(array, kAsMade);
  }

 private:
  DeputyTensor tensor_;
};

nb::dict DTypes() {
  nb::dict numbers;
  for (DeputyDType dtype = kDeputyFloat32; dtype <= kDeputyInt2; ++dtype) {
    const char* name = DeputyDTypeName(dtype);
    if (std::strcmp(name, "unknown") != 0) numbers[name] = dtype;
  }
  return numbers;
}

nb::object Allocate(const std::string& dtype, const std::vector<int64_t>& shape) {
  DeputyTensor tensor{};
  const DeputyDType number = DTypeOf(dtype.c_str());
  Check(Unlocked(
      [&] { return DeputyTensorAllocate(number, shape.data(), static_cast<uint32_t>(shape.size()), &tensor); }));
  return ArrayOf(tensor);
}

nb::object ReadTensor(const std::string& path, const std::string& dtype, const std::vector<int64_t>& shape) {
  DeputyTensor tensor{};
  const DeputyDType wanted = dtype.empty() ? kDeputyUndefined : DTypeOf(dtype.c_str());
  Check(Unlocked([&] {
    return DeputyTensorRead(path.c_str(), wanted, shape.data(), static_cast<uint32_t>(shape.size()), &tensor);
  }));
  return ArrayOf(tensor);
}

void WriteTensor(const std::string& path, nb::handle values) {
  const Borrowed borrowed = Borrowed::Input(values, kDeputyUndefined);
  Check(Unlocked([&] { return DeputyTensorWrite(path.c_str(), &borrowed.tensor()); }));
}

}  // namespace

Borrowed::Borrowed(Borrowed&& other) noexcept { *this = std::move(other); }

Borrowed& Borrowed::operator=(Borrowed&& other) noexcept {
  if (view_.obj != nullptr) PyBuffer_Release(&view_);
  tensor_ = std::exchange(other.tensor_, {});
  // The buffers of plain objects have their one dimension in the view itself.
  if (tensor_.shape == reinterpret_cast<const int64_t*>(&other.view_.len))
    tensor_.shape = reinterpret_cast<const int64_t*>(&view_.len);
  view_ = std::exchange(other.view_, {});
  shape_ = std::move(other.shape_);
  return *this;
}

Borrowed::~Borrowed() {
  if (view_.obj != nullptr) PyBuffer_Release(&view_);
}

bool Borrowed::Export(nb::handle object, int flags) {
  if (PyObject_CheckBuffer(object.ptr()) == 0) return false;
  if (PyObject_GetBuffer(object.ptr(), &view_, flags | PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
    PyErr_Clear();
    view_ = {};
    return false;
  }
  const DeputyDType dtype = DTypeOfFormat(view_.format, view_.itemsize);
  // What has a type has a size.
  if (dtype == kDeputyUndefined ||
      reinterpret_cast<uintptr_t>(view_.buf) % static_cast<uintptr_t>(view_.itemsize) != 0) {
    PyBuffer_Release(&view_);
    view_ = {};
    return false;
  }
  tensor_ = {dtype,     static_cast<uint32_t>(view_.ndim), reinterpret_cast<const int64_t*>(view_.shape),
             view_.buf, static_cast<uint64_t>(view_.len),  nullptr};
  return true;
}

void Borrowed::ExportOther(nb::handle object, DeputyDType dtype, int flags) {
  const nb::tuple prepared = nb::cast<nb::tuple>(
      Arrays().attr("prepared")(object, DeputyDTypeName(dtype), (flags & PyBUF_WRITABLE) == PyBUF_WRITABLE));
  if (PyObject_GetBuffer(nb::object(prepared[0]).ptr(), &view_, flags | PyBUF_C_CONTIGUOUS) != 0) {
    view_ = {};
    throw nb::python_error();
  }
  shape_ = ShapeOf(prepared[2]);
  tensor_ = {nb::cast<DeputyDType>(prepared[1]),
             static_cast<uint32_t>(shape_.size()),
             shape_.data(),
             view_.buf,
             static_cast<uint64_t>(view_.len),
             nullptr};
}

Borrowed Borrowed::Input(nb::handle object, DeputyDType wanted) {
  Borrowed made;
  if (!made.Export(object, 0)) made.ExportOther(object, wanted, 0);
  return made;
}

Borrowed Borrowed::Output(nb::handle object, DeputyDType wanted) {
  Borrowed made;
  if (!made.Export(object, PyBUF_WRITABLE)) made.ExportOther(object, wanted, PyBUF_WRITABLE);
  return made;
}

nb::object ArrayOf(DeputyTensor& tensor) {
  const nb::object owner = OwnerOf(tensor.memory);
  const DeputyTensor made = std::exchange(tensor, {});
  return StoredArray(made, owner);
}

nb::object CopyOf(const DeputyTensor& tensor) { return StoredArray(tensor, nb::none()).attr("copy")(); }

nb::object TensorOf(DeputyTensor& tensor) { return nb::cast(Tensor(std::exchange(tensor, {}))); }

std::vector<int64_t> ShapeOf(nb::handle shape) { return nb::cast<std::vector<int64_t>>(nb::list(shape)); }

DeputyDType DTypeOf(const char* name) {
  for (DeputyDType dtype = kDeputyFloat32; dtype <= kDeputyInt2; ++dtype)
    if (std::strcmp(DeputyDTypeName(dtype), name) == 0) return dtype;
  throw nb::value_error((std::string("there is no element type '") + name + "'").c_str());
}

void AddTensors(nb::module_& module) {
  nb::class_<Tensor>(module, "Tensor", "A result in the memory of the library, for frameworks that read DLPack.")
      .def_prop_ro("dtype", &Tensor::dtype)
      .def_prop_ro("shape", &Tensor::shape, nb::sig("def shape(self) -> tuple[int, ...]"))
      .def("numpy", &Tensor::numpy, nb::sig("def numpy(self) -> numpy.typing.NDArray[typing.Any]"),
           "An array in the same memory.")
      .def("__dlpack__", &Tensor::dlpack, nb::sig("def __dlpack__(self, **kwargs: typing.Any) -> typing.Any"))
      .def(
          "__dlpack_device__", [](const Tensor&) { return nb::make_tuple(1, 0); },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"));
  module.def("allocate", &Allocate, nb::arg("dtype"), nb::arg("shape"),
             nb::sig("def allocate(dtype: str, shape: collections.abc.Sequence[int]) -> "
                     "numpy.typing.NDArray[typing.Any]"),
             "A zeroed array, aligned to 64 bytes.");
  module.def("read_tensor", &ReadTensor, nb::arg("path"), nb::arg("dtype"), nb::arg("shape"),
             nb::sig("def read_tensor(path: str, dtype: str, shape: collections.abc.Sequence[int]) -> "
                     "numpy.typing.NDArray[typing.Any]"));
  module.def("write_tensor", &WriteTensor, nb::arg("path"), nb::arg("values"),
             nb::sig("def write_tensor(path: str, values: object) -> None"));
  module.def("from_dlpack", &FromDlpack, nb::arg("tensor"),
             nb::sig("def from_dlpack(tensor: object) -> tuple[numpy.typing.NDArray[typing.Any], int]"));
  module.def("dtypes", &DTypes, nb::sig("def dtypes() -> dict[str, int]"), "The numbers of all element types.");
}

}  // namespace deputy::python
