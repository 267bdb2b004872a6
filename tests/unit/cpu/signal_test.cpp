// Operators of signal processing, each as a node would run. Expected numbers are those of the ONNX reference
// implementation and of numpy.
#include "unit/cpu/expect_floats.hpp"

namespace deputy::host {
namespace {

const Tensor kNoInput;

TEST(DFT, PowerOfTwo) {
  const std::vector<Tensor> out =
      RunNode(MakeDFT, PrimitiveBuilder("", "DFT", 20), {TensorOf<float>({1, 4, 1}, {1, 2, 4, 0})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 4, 2}));
  ExpectFloats(out[0], {7, 0, -3, -2, 3, 0, -3, 2});
}

TEST(DFT, HalfTheSpectrumOfAnOddLength) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "DFT", 20).Set("onesided", int64_t{1});
  const std::vector<Tensor> out = RunNode(MakeDFT, builder, {TensorOf<float>({1, 3, 1}, {1, 2, 4})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 2, 2}));
  ExpectFloats(out[0], {7, 0, -2, 1.732051f});
}

TEST(DFT, InverseGivesTheSignalBack) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "DFT", 17).Set("inverse", int64_t{1});
  ExpectFloats(RunNode(MakeDFT, builder, {TensorOf<float>({1, 4, 2}, {7, 0, -3, -2, 3, 0, -3, 2})})[0],
               {1, 0, 2, 0, 4, 0, 0, 0});
}

TEST(DFT, HalfASpectrumGivesNumbersBack) {
  const PrimitiveBuilder builder =
      PrimitiveBuilder("", "DFT", 20).Set("inverse", int64_t{1}).Set("onesided", int64_t{1});
  const std::vector<Tensor> out =
      RunNode(MakeDFT, builder, {TensorOf<float>({1, 2, 2}, {7, 0, -2, 1.7320508f}), TensorOf<int64_t>({}, {3})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 3, 1}));
  ExpectFloats(out[0], {1, 2, 4});
}

TEST(DFT, LengthCutsOrFillsWithZeros) {
  const std::vector<Tensor> out = RunNode(MakeDFT, PrimitiveBuilder("", "DFT", 20),
                                          {TensorOf<float>({1, 3, 1}, {1, 2, 4}), TensorOf<int64_t>({}, {4})});
  ExpectFloats(out[0], {7, 0, -3, -2, 3, 0, -3, 2});
}

TEST(STFT, FramesUnderAWindow) {
  const std::vector<Tensor> out = RunNode(
      MakeSTFT, PrimitiveBuilder("", "STFT", 17),
      {TensorOf<float>({1, 6}, {1, 2, 3, 4, 5, 6}), TensorOf<int64_t>({}, {2}), TensorOf<float>({4}, {1, 2, 2, 1})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 2, 3, 2}));
  ExpectFloats(out[0], {15, 0, -5, 0, -1, 0, 27, 0, -7, -2, -1, 0});
}

TEST(Windows, PeriodicAndSymmetric) {
  ExpectFloats(RunNode(MakeHannWindow, PrimitiveBuilder("", "HannWindow", 17), {TensorOf<int64_t>({}, {4})})[0],
               {0, 0.5f, 1, 0.5f});
  const PrimitiveBuilder symmetric = PrimitiveBuilder("", "HammingWindow", 17).Set("periodic", int64_t{0});
  ExpectFloats(RunNode(MakeHammingWindow, symmetric, {TensorOf<int32_t>({}, {4})})[0],
               {0.08695652f, 0.7717391f, 0.7717391f, 0.08695652f});
  ExpectFloats(RunNode(MakeBlackmanWindow, PrimitiveBuilder("", "BlackmanWindow", 17), {TensorOf<int64_t>({}, {2})})[0],
               {0, 1});
}

TEST(BlackmanWindow, ItsPeakIsOneAsAnInteger) {
  const PrimitiveBuilder whole = PrimitiveBuilder("", "BlackmanWindow", 17).Set("output_datatype", int64_t{6});
  EXPECT_EQ(ValuesOf<int32_t>(RunNode(MakeBlackmanWindow, whole, {TensorOf<int64_t>({}, {4})})[0]),
            (std::vector<int32_t>{0, 0, 1, 0}));
}

TEST(MelWeightMatrix, TrianglesOfFrequencies) {
  const std::vector<Tensor> out =
      RunNode(MakeMelWeightMatrix, PrimitiveBuilder("", "MelWeightMatrix", 17),
              {TensorOf<int64_t>({}, {3}), TensorOf<int64_t>({}, {8}), TensorOf<int64_t>({}, {8000}),
               TensorOf<float>({}, {0}), TensorOf<float>({}, {4000})});
  EXPECT_EQ(out[0].shape(), (Shape{5, 3}));
  ExpectFloats(out[0], {1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0});
}

}  // namespace
}  // namespace deputy::host
