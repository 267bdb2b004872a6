// Attention and RotaryEmbedding: layouts, groups of heads, masks of each rank, past keys and values, visibility.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

void AddAttention(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Attention", seed);
  const Dims q = {2, 3, 4, 8}, k = {2, 3, 6, 8};
  const auto three = [&](deputy_dtype t, const Dims& queries, const Dims& keys, const Dims& values) -> CaseBuilder& {
    return b.In(b.Random(t, queries, -1, 1)).In(b.Random(t, keys, -1, 1)).In(b.Random(t, values));
  };
  const auto plain = [&]() -> CaseBuilder& { return three(kF32, q, k, k); };
  const auto past = [&](int64_t length) { return b.In(b.Random({2, 3, length, 8})).In(b.Random({2, 3, length, 8})); };
  plain().Add();
  for (const deputy_dtype dtype : TypesOf("Attention"))
    if (dtype != kF32) three(dtype, q, k, k).Add();
  plain().With("is_causal", Int(1)).Add();
  three(kF32, q, q, q).With("is_causal", Int(1)).Note("shape=square").Add();
  plain().With("scale", Float(0.25f)).Add();
  plain().With("softcap", Float(0.5f)).Add();
  three(kF32, q, k, {2, 3, 6, 5}).Note("shape=values-[2,3,6,5]").Add();
  three(kF32, {2, 6, 4, 8}, {2, 3, 6, 8}, {2, 3, 6, 8}).Note("heads=6-on-3").Add();
  three(kF32, {2, 6, 4, 8}, {2, 1, 6, 8}, {2, 1, 6, 8}).Note("heads=6-on-1").Add();
  for (const Dims& mask : std::vector<Dims>{{4, 6}, {1, 6}, {4, 1}, {3, 4, 6}, {1, 4, 6}, {2, 3, 4, 6}, {2, 1, 4, 6}}) {
    plain().In(b.Random(mask)).Note("mask=" + TextOf(mask)).Add();
  }
  Tensor seen = b.Random(kBool, {4, 6});
  for (int64_t i = 0; i < 4; ++i) seen.Put(i * 6, int64_t{1});  // every query sees a key
  plain().In(seen).Note("mask=bool").Add();
  plain().In(b.Random({4, 6})).With("is_causal", Int(1)).Note("mask=[4,6]").Add();
  const auto flat = [&](int64_t q_heads, int64_t kv_heads) -> CaseBuilder& {
    return three(kF32, {2, 4, q_heads * 8}, {2, 6, kv_heads * 8}, {2, 6, kv_heads * 8})
        .With("q_num_heads", Int(q_heads))
        .With("kv_num_heads", Int(kv_heads));
  };
  flat(3, 3).Note("rank=3").Add();
  flat(6, 2).Note("rank=3").Add();
  flat(3, 3).Note("rank=3").With("is_causal", Int(1)).Add();
  plain().None();
  past(5);
  b.Outputs(3).Note("past=5").Add();
  plain().None();
  past(5);
  b.Outputs(3).With("is_causal", Int(1)).Note("past=5").Add();
  plain().In(b.Random({4, 11}));
  past(5);
  b.Outputs(3).Note("past=5 mask=[4,11]").Add();
  for (const int64_t mode : {0, 1, 2, 3}) {
    plain().In(b.Random({4, 6})).None().None().Outputs(4).Quietly("softcap", Float(1.5f));
    b.With("qk_matmul_output_mode", Int(mode)).Note("outputs=4").Add();
  }
  for (const Dims& shape : std::vector<Dims>{{1, 1, 1, 1}, {1, 2, 1, 16}, {2, 1, 17, 5}, {0, 3, 4, 8}})
    three(kF32, shape, shape, shape).Note(ShapeNote(shape)).Add();
}

void AddRotaryEmbedding(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "RotaryEmbedding", seed);
  const auto add = [&](deputy_dtype t, const Dims& x, const Dims& angles) -> CaseBuilder& {
    return b.In(b.Random(t, x)).In(b.Random(t, angles, -1, 1)).In(b.Random(t, angles, -1, 1));
  };
  const auto positions = [](const Dims& dims) {
    Tensor made(kI64, dims);
    for (int64_t i = 0; i < made.count(); ++i) made.Put(i, (i * 5 + 3) % 11);
    return made;
  };
  const Dims x = {2, 3, 4, 8}, angles = {2, 4, 4};
  add(kF32, x, angles).Add();
  for (const deputy_dtype dtype : TypesOf("RotaryEmbedding"))
    if (dtype != kF32) add(dtype, x, angles).Add();
  add(kF32, x, {11, 4}).In(positions({2, 4})).Note("input=position_ids").Add();
  add(kF32, x, angles).With("interleaved", Int(1)).Add();
  add(kF32, x, {2, 4, 2}).With("rotary_embedding_dim", Int(4)).Add();
  add(kF32, x, {2, 4, 2}).With("rotary_embedding_dim", Int(4)).With("interleaved", Int(1)).Add();
  add(kF32, {2, 4, 24}, angles).With("num_heads", Int(3)).Add();
  add(kF32, {2, 4, 24}, {11, 2}).In(positions({2, 4})).With("num_heads", Int(3)).With("rotary_embedding_dim", Int(4));
  b.With("interleaved", Int(1)).Note("input=position_ids").Add();
  for (const Dims& shape : std::vector<Dims>{{1, 1, 1, 2}, {1, 5, 7, 6}})
    add(kF32, shape, {shape[0], shape[2], shape[3] / 2}).Note(ShapeNote(shape)).Add();
}

}  // namespace

void AddAttentionCases(std::vector<Case>& cases, uint64_t seed) {
  AddAttention(cases, seed);
  AddRotaryEmbedding(cases, seed);
}

}  // namespace deputy::conformance
