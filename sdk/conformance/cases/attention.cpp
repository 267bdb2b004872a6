// Attention and RotaryEmbedding: layouts, groups of heads, masks of each rank, past keys and values, visibility; the
// operators with a state: update rules, gates, states of other types.
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
  plain().In(b.Random({4, 1})).Since(23).Note("mask=[4,1] broadcast").Add();
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
  // Keys behind the padding's beginning, of which the mask may know nothing.
  const auto padded = [&](std::vector<int64_t> lengths) -> CaseBuilder& {
    return plain().None().None().None().In(Whole(std::move(lengths)));
  };
  padded({6, 4}).Note("lengths=[6,4]").Add();
  padded({6, 4}).With("is_causal", Int(1)).Note("lengths=[6,4]").Add();
  padded({0, 2}).With("is_causal", Int(1)).Note("lengths=[0,2]").Add();
  padded({5, 3}).With("left_window_size", Int(1)).Note("lengths=[5,3]").Add();
  plain().In(b.Random({4, 5})).None().None().In(Whole({5, 2})).Note("mask=[4,5] lengths=[5,2]").Add();
  flat(6, 2).None().None().None().In(Whole({5, 2})).With("is_causal", Int(1)).Note("rank=3 lengths=[5,2]").Add();
  plain().In(b.Random({4, 4})).Note("mask=[4,4]").Add();
  for (const auto& [left, right] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {2, -1}, {-1, 0}, {0, 0}, {9, 9}})
    plain().With("left_window_size", Int(left)).With("right_window_size", Int(right)).Add();
  plain().With("left_window_size", Int(1)).With("is_causal", Int(1)).Add();
  plain().None();
  past(5);
  b.Outputs(3).With("left_window_size", Int(3)).With("right_window_size", Int(0)).Note("past=5").Add();
}

void AddLinearAttention(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "LinearAttention", seed);
  constexpr int64_t kBatch = 2, kTokens = 3, kSize = 4, kValues = 5;
  const auto begin = [&](deputy_dtype t, int64_t heads, int64_t key_heads, const char* rule) -> CaseBuilder& {
    b.In(b.Random(t, {kBatch, kTokens, heads * kSize}, -1, 1));
    b.In(b.Random(t, {kBatch, kTokens, key_heads * kSize}, -0.5, 0.5));
    b.In(b.Random(t, {kBatch, kTokens, key_heads * kValues}, -1, 1));
    b.Quietly("q_num_heads", Int(heads)).Quietly("kv_num_heads", Int(key_heads)).With("update_rule", Text(rule));
    return b.Outputs(2);
  };
  const auto state = [&](deputy_dtype t, int64_t heads) { return b.Random(t, {kBatch, heads, kSize, kValues}, -1, 1); };
  const auto gate = [&](deputy_dtype t, int64_t count, double low) {
    return b.Random(t, {kBatch, kTokens, count}, low, low + 1);
  };
  for (const deputy_dtype t : TypesOf("LinearAttention")) {
    begin(t, 2, 2, "linear").Add();
    begin(t, 2, 2, "gated_delta").In(state(t, 2)).In(gate(t, 2, -1)).In(gate(t, 2, 0)).Note("past").Add();
  }
  begin(kF32, 4, 2, "linear").In(state(kF32, 2)).Note("heads=4-on-2 past").Add();
  begin(kF32, 2, 2, "gated").None().In(gate(kF32, 2, -1)).Add();
  begin(kF32, 2, 2, "gated").In(state(kF32, 2)).In(gate(kF32, 2 * kSize, -1)).Note("decay=each past").Add();
  begin(kF32, 2, 2, "delta").In(state(kF32, 2)).None().In(gate(kF32, 2, 0)).Note("past").Add();
  begin(kF32, 4, 2, "delta").None().None().In(gate(kF32, 1, 0)).Note("heads=4-on-2 beta=one").Add();
  begin(kF32, 2, 1, "gated_delta").None().In(gate(kF32, kSize, -1)).In(gate(kF32, 1, 0)).Note("heads=2-on-1").Add();
  begin(kF32, 2, 2, "linear").With("scale", Float(0.25f)).With("chunk_size", Int(2)).Add();
  begin(kF16, 2, 2, "linear").In(state(kF32, 2)).Note("state=float32").Add();
  begin(kF32, 2, 2, "linear").In(state(kF16, 2)).Note("state=float16").Add();
}

void AddCausalConvWithState(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "CausalConvWithState", seed);
  const auto begin = [&](deputy_dtype t, int64_t length, int64_t kernel) -> CaseBuilder& {
    return b.In(b.Random(t, {2, 3, length})).In(b.Random(t, {3, 1, kernel})).Outputs(2);
  };
  for (const deputy_dtype t : TypesOf("CausalConvWithState")) {
    begin(t, 6, 4).Add();
    begin(t, 6, 4).In(b.Random(t, {3})).In(b.Random(t, {2, 3, 3})).Note("bias past").Add();
  }
  for (const char* activation : {"silu", "swish", "none"})
    begin(kF32, 6, 4).None().In(b.Random({2, 3, 3})).With("activation", Text(activation)).Note("past").Add();
  begin(kF32, 2, 4).None().In(b.Random({2, 3, 3})).Note("length=2 past").Add();
  begin(kF32, 2, 4).Note("length=2").Add();
  begin(kF32, 1, 1).Note("length=1 kernel=1").Add();
  begin(kF32, 0, 3).None().In(b.Random({2, 3, 2})).Note("length=0 past").Add();
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
  AddCausalConvWithState(cases, seed);
  AddLinearAttention(cases, seed);
  AddRotaryEmbedding(cases, seed);
}

}  // namespace deputy::conformance
