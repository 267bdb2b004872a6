// Fourier transforms, windows and the mel scale's filters.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

Tensor Scalar(deputy_dtype dtype, int64_t value) {
  Tensor made(dtype, {});
  made.Put(0, value);
  return made;
}

void AddDft(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "DFT", seed);
  const auto real = [&](deputy_dtype t, int64_t length) -> CaseBuilder& { return b.In(b.Random(t, {2, length, 1})); };
  const auto complex = [&](int64_t length) -> CaseBuilder& { return b.In(b.Random({2, length, 2})); };
  for (const deputy_dtype dtype : TypesOf("DFT")) real(dtype, 8).Add();
  complex(8).Note("parts=2").Add();
  complex(8).With("inverse", Int(1)).Add();
  real(kF32, 8).With("onesided", Int(1)).Add();
  real(kF32, 7).With("onesided", Int(1)).Note("shape=[2,7,1]").Add();
  complex(5).Const(WholeScalar(8)).With("onesided", Int(1)).With("inverse", Int(1)).Add();
  for (const int64_t length : {5, 12})
    real(kF32, 8).Const(WholeScalar(length)).Note("dft_length=" + std::to_string(length)).Add();
  b.In(b.Random({3, 4, 5, 2})).None().Const(WholeScalar(1)).Note("axis=1").Add();
  b.In(b.Random({3, 4, 5, 2})).None().Const(WholeScalar(0)).Note("axis=0").Add();
  b.In(b.Random({3, 4, 5, 1})).None().Const(WholeScalar(-3)).Note("axis=-3").Add();
  for (const int64_t length : {1, 7, 30, 33}) complex(length).Note("shape=" + TextOf(Dims{2, length, 2})).Add();
}

void AddStft(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "STFT", seed);
  const auto add = [&](deputy_dtype t, int64_t parts) -> CaseBuilder& {
    return b.In(b.Random(t, {2, 30, parts})).Const(WholeScalar(4));
  };
  for (const deputy_dtype dtype : TypesOf("STFT")) add(dtype, 1).Const(b.Random(dtype, {8}, 0, 1)).Add();
  add(kF32, 1).None().Const(WholeScalar(8)).Note("window=none").Add();
  add(kF32, 1).Const(b.Random(kF32, {8}, 0, 1)).Const(WholeScalar(8)).Note("input=frame_length").Add();
  add(kF32, 1).Const(b.Random(kF32, {8}, 0, 1)).With("onesided", Int(0)).Add();
  add(kF32, 2).Const(b.Random(kF32, {7}, 0, 1)).With("onesided", Int(0)).Note("parts=2").Add();
}

void AddWindows(std::vector<Case>& cases, uint64_t seed) {
  for (const char* op_type : {"BlackmanWindow", "HammingWindow", "HannWindow"}) {
    CaseBuilder b(cases, op_type, seed);
    for (const deputy_dtype dtype : TypesOf(op_type)) b.Const(Scalar(dtype, 10)).Add();
    for (const deputy_dtype to : {kF64, kF16}) b.Const(WholeScalar(10)).With("output_datatype", Int(to)).Add();
    for (const int64_t size : {1, 7, 33}) b.Const(WholeScalar(size)).Note("size=" + std::to_string(size)).Add();
    for (const int64_t size : {7, 10})
      b.Const(WholeScalar(size)).With("periodic", Int(0)).Note("size=" + std::to_string(size)).Add();
  }
  CaseBuilder mel(cases, "MelWeightMatrix", seed);
  const auto add = [&](deputy_dtype t, int64_t bins, int64_t length) -> CaseBuilder& {
    return mel.Const(Scalar(t, bins)).Const(Scalar(t, length)).Const(Scalar(t, 8192));
  };
  for (const deputy_dtype dtype : TypesOf("MelWeightMatrix"))
    add(dtype, 8, 16).Const(RealScalar(0)).Const(RealScalar(4096)).Add();
  add(kI64, 5, 64).Const(RealScalar(250)).Const(RealScalar(3000)).Note("edges=[250,3000]").Add();
  add(kI64, 8, 16).Const(RealScalar(0)).Const(RealScalar(4096));
  mel.With("output_datatype", Int(kF64)).Add();
}

}  // namespace

void AddSignalCases(std::vector<Case>& cases, uint64_t seed) {
  AddDft(cases, seed);
  AddStft(cases, seed);
  AddWindows(cases, seed);
}

}  // namespace deputy::conformance
