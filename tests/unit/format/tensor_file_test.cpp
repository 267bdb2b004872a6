#include "format/tensor_file.hpp"

#include <gtest/gtest.h>

#include <string>

#include "unit/format/graph_builder.hpp"

namespace deputy::host {
namespace {

class TensorFile : public test::Scratch {};

// A .npy file of version 1 with this header.
std::string Npy(std::string header, const std::string& elements) {
  header += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header + elements;
}

Result<Tensor> Parse(const std::string& bytes) {
  return ParseNpy({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

constexpr char kTwoBytes[] = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }";

TEST_F(TensorFile, NpyOfEveryTypeComesBack) {
  for (const DType dtype :
       {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBool, DType::kInt8, DType::kUint8, DType::kInt16,
        DType::kUint16, DType::kInt32, DType::kUint32, DType::kInt64, DType::kUint64}) {
    Result<Tensor> tensor = Tensor::Allocate(dtype, {2, 3});
    ASSERT_TRUE(tensor.ok());
    tensor->mutable_values<uint8_t>()[0] = 1;
    ASSERT_TRUE(WriteNpyFile(*tensor, folder_ / "t.npy").ok()) << NameOf(dtype);
    const Result<Tensor> read = ReadNpyFile(folder_ / "t.npy");
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(read->dtype(), dtype);
    EXPECT_EQ(read->shape(), (Shape{2, 3}));
    EXPECT_EQ(read->values<uint8_t>()[0], 1);
  }
}

TEST_F(TensorFile, ScalarsAndVectorsComeBack) {
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{0}, Shape{1, 1, 1}}) {
    ASSERT_TRUE(WriteNpyFile(*Tensor::Allocate(DType::kInt32, shape), folder_ / "t.npy").ok());
    const Result<Tensor> read = ReadNpyFile(folder_ / "t.npy");
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(read->shape(), shape);
  }
}

TEST_F(TensorFile, HeaderIsWrittenAsNumpyWritesIt) {
  ASSERT_TRUE(WriteNpyFile(test::Floats({1}), folder_ / "t.npy").ok());
  const std::string bytes = Load(folder_ / "t.npy");
  EXPECT_EQ(bytes.substr(10, 57), "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }");
  EXPECT_EQ(bytes.size(), 128u + 4u);
}

TEST_F(TensorFile, VersionTwoIsRead) {
  std::string header = kTwoBytes;
  const std::string bytes =
      std::string("\x93NUMPY\x02\x00", 8) + static_cast<char>(header.size()) + std::string(3, '\0');
  const Result<Tensor> tensor = Parse(bytes + header + "ab");
  ASSERT_TRUE(tensor.ok()) << tensor.status().ToString();
  EXPECT_EQ(tensor->values<uint8_t>()[0], 'a');
  EXPECT_EQ(tensor->values<uint8_t>()[1], 'b');
}

TEST_F(TensorFile, BfloatCannotBeWritten) {
  const Status status = WriteNpyFile(*Tensor::Allocate(DType::kBFloat16, {1}), folder_ / "t.npy");
  EXPECT_EQ(status.code(), StatusCode::kNotSupported);
}

TEST_F(TensorFile, FortranOrderIsRefused) {
  const Result<Tensor> tensor = Parse(Npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 1), }", "ab"));
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.status().code(), StatusCode::kNotSupported);
}

TEST_F(TensorFile, BigEndianIsRefused) {
  EXPECT_FALSE(Parse(Npy("{'descr': '>i2', 'fortran_order': False, 'shape': (1,), }", "ab")).ok());
}

TEST_F(TensorFile, TextElementsAreRefused) {
  EXPECT_FALSE(Parse(Npy("{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }", "abcd")).ok());
}

TEST_F(TensorFile, WrongNumberOfElementsIsRefused) { EXPECT_FALSE(Parse(Npy(kTwoBytes, "abc")).ok()); }

TEST_F(TensorFile, HugeShapeIsRefusedUnallocated) {
  EXPECT_FALSE(Parse(Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4503599627370496,), }", "")).ok());
}

TEST_F(TensorFile, TruncationAtEveryByteIsRefused) {
  const std::string bytes = Npy(kTwoBytes, "ab");
  ASSERT_TRUE(Parse(bytes).ok());
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(Parse(bytes.substr(0, size)).ok()) << size;
}

TEST_F(TensorFile, RawFileIsReadWithItsShape) {
  const Result<Tensor> tensor = ReadRawFile(Store("t.raw", std::string("\1\0\2\0", 4)), DType::kInt16, {2, 1});
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->values<int16_t>()[1], 2);
}

TEST_F(TensorFile, RawFileOfWrongSizeIsRefusedByName) {
  const std::filesystem::path path = Store("t.raw", "123");
  const Result<Tensor> tensor = ReadRawFile(path, DType::kInt16, {2});
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.status().where(), path.string());
}

}  // namespace
}  // namespace deputy::host
