// The attention operators of com.microsoft: projections, layouts, masks of each kind, past keys and values.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

Tensor Numbers(const Dims& dims, std::vector<int64_t> values) {
  Tensor made(kI32, dims);
  for (int64_t i = 0; i < made.count(); ++i) made.Put(i, values[static_cast<size_t>(i) % values.size()]);
  return made;
}

// One mask of each kind for two sequences of `queries` queries and `keys` keys.
std::vector<Tensor> Masks(int64_t queries, int64_t keys) {
  return {Numbers({2}, {keys, keys - 1}), Numbers({2, keys}, {1, 0, 1, 1, 0}),
          Numbers({2, queries, keys}, {1, 1, 0, 1, 1, 1, 0})};
}

void AddAttention(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Microsoft_Attention", seed);
  const auto plain = [&](deputy_dtype t, int64_t columns) -> CaseBuilder& {
    b.In(b.Random(t, {2, 4, 5})).Const(b.Random(t, {5, columns}, -0.5, 0.5)).Const(b.Random(t, {columns}, -0.5, 0.5));
    return b.With("num_heads", Int(3));
  };
  plain(kF32, 72).Add();
  for (const deputy_dtype dtype : TypesOf(b.op_type()))
    if (dtype != kF32) plain(dtype, 72).Add();
  plain(kF32, 72).With("unidirectional", Int(1)).Add();
  plain(kF32, 72).With("scale", Float(0.25f)).Add();
  plain(kF32, 63).With("qkv_hidden_sizes", Ints({24, 24, 15})).Add();
  b.In(b.Random({2, 4, 5})).Const(b.Random(kF32, {5, 72}, -0.5, 0.5)).With("num_heads", Int(2)).Note("bias=none");
  b.Add();
  std::vector<Tensor> masks = Masks(4, 4);
  masks.push_back(Numbers({4}, {4, 3, 0, 1}));
  masks.push_back(Numbers({8}, {4, 2, 0, 4, 8, 0, 4, 8}));
  for (const Tensor& mask : masks) {
    plain(kF32, 72).In(mask).Note("mask=" + TextOf(mask.dims)).Add();
    plain(kF32, 72).In(mask).With("unidirectional", Int(1)).Note("mask=" + TextOf(mask.dims)).Add();
  }
  plain(kF32, 72).In(masks[1]).With("mask_filter_value", Float(-0.5f)).Note("mask=[2,4]").Add();
  for (const Dims& bias : std::vector<Dims>{{2, 3, 4, 4}, {1, 3, 4, 4}, {1, 1, 4, 4}})
    plain(kF32, 72).None().None().In(b.Random(bias)).Note("attention_bias=" + TextOf(bias)).Add();
  plain(kF32, 72).In(masks[1]).None().In(b.Random({1, 3, 4, 4})).Note("mask=[2,4] attention_bias=[1,3,4,4]").Add();
  for (const bool causal : {false, true}) {
    plain(kF32, 72).None().In(b.Random({2, 2, 3, 6, 8})).Outputs(2).Note("past=6");
    if (causal) b.With("unidirectional", Int(1));
    b.Add();
  }
  plain(kF32, 72).Outputs(2).Note("outputs=2").Add();
}

void AddMultiHead(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Microsoft_MultiHeadAttention", seed);
  const auto three = [&](deputy_dtype t, const Dims& k, const Dims& v) -> CaseBuilder& {
    b.In(b.Random(t, {2, 4, 24}, -1, 1)).In(b.Random(t, k, -1, 1)).In(b.Random(t, v));
    return b.With("num_heads", Int(3));
  };
  const Dims k = {2, 6, 24};
  const auto plain = [&]() -> CaseBuilder& { return three(kF32, k, k); };
  plain().Add();
  for (const deputy_dtype dtype : TypesOf(b.op_type()))
    if (dtype != kF32) three(dtype, k, k).Add();
  plain().With("unidirectional", Int(1)).Add();
  plain().With("scale", Float(0.25f)).Add();
  plain().In(b.Random({72})).Note("input=bias").Add();
  three(kF32, k, {2, 6, 15}).In(b.Random({63})).Note("shape=values-[2,6,15] input=bias").Add();
  for (const Tensor& mask : Masks(4, 6)) plain().None().In(mask).Note("mask=" + TextOf(mask.dims)).Add();
  plain().None().In(Masks(4, 6)[1]).With("mask_filter_value", Float(-0.5f)).Note("mask=[2,6]").Add();
  plain().None().None().In(b.Random({1, 3, 4, 6})).Note("attention_bias=[1,3,4,6]").Add();
  plain().None().None().None().In(b.Random({2, 3, 5, 8})).In(b.Random({2, 3, 5, 8})).Outputs(3).Note("past=5").Add();
  plain().In(b.Random({72})).None().None().In(b.Random({2, 3, 5, 8})).In(b.Random({2, 3, 5, 8})).Outputs(3);
  b.With("unidirectional", Int(1)).Note("past=5 input=bias").Add();
  three(kF32, {2, 3, 6, 8}, {2, 3, 6, 8}).Note("keys=rank-4").Add();
  three(kF32, {2, 3, 6, 8}, {2, 3, 6, 8}).In(b.Random({72})).Note("keys=rank-4 input=bias").Add();
  b.In(b.Random({2, 4, 24})).In(b.Random({2, 6, 3, 2, 8})).With("num_heads", Int(3)).Note("keys=packed").Add();
  b.In(b.Random({2, 4, 3, 3, 8})).With("num_heads", Int(3)).Note("queries=packed").Outputs(3).Add();
}

void AddGroupQuery(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Microsoft_GroupQueryAttention", seed);
  // Two sequences of at most 4 new keys, or of one new key behind a past of `room`.
  const auto start = [&](deputy_dtype t, int64_t room, bool packed) -> CaseBuilder& {
    const int64_t fresh = room == 0 ? 4 : 1, longest = room == 0 ? 4 : 6;
    b.In(b.Random(t, {2, fresh, packed ? 80 : 48}, -1, 1));
    for (int i = 0; i < 2; ++i) packed ? b.None() : b.In(b.Random(t, {2, fresh, 16}, -1, 1));
    for (int i = 0; i < 2; ++i) room == 0 ? b.None() : b.In(b.Random(t, {2, 2, room, 8}, -1, 1));
    b.In(Numbers({2}, {longest - 1, room == 0 ? longest - 1 : longest - 3})).Const(Numbers({}, {longest}));
    return b.With("num_heads", Int(6)).With("kv_num_heads", Int(2)).Outputs(3);
  };
  const auto angles = [&](int64_t positions) -> CaseBuilder& {
    return b.In(b.Random(kF32, {positions, 4}, -1, 1)).In(b.Random(kF32, {positions, 4}, -1, 1));
  };
  start(kF32, 0, false).Add();
  for (const deputy_dtype dtype : TypesOf(b.op_type()))
    if (dtype != kF32) start(dtype, 0, false).Add();
  start(kF32, 0, true).Note("queries=packed").Add();
  start(kF32, 5, false).Note("past=5").Add();
  start(kF32, 9, false).Note("past=9").Add();
  start(kF32, 0, false).With("causal", Int(0)).Add();
  start(kF32, 0, false).With("scale", Float(0.25f)).Add();
  start(kF32, 0, false).With("softcap", Float(0.5f)).Add();
  start(kF32, 0, false).With("smooth_softmax", Int(1)).Add();
  start(kF32, 0, false).With("local_window_size", Int(2)).Add();
  start(kF32, 5, false).With("local_window_size", Int(3)).Note("past=5").Add();
  for (const int64_t room : {0, 5}) {
    start(kF32, room, true);
    angles(8).With("do_rotary", Int(1)).Note("past=" + std::to_string(room) + " queries=packed").Add();
  }
  start(kF32, 0, false);
  angles(8).With("do_rotary", Int(1)).With("rotary_interleaved", Int(1)).Add();
  start(kF32, 5, false);
  Tensor positions(kI64, {2, 1});
  positions.whole = {3, 6};
  angles(8).In(positions).With("do_rotary", Int(1)).Note("past=5 input=position_ids").Add();
  start(kF32, 0, false).None().None().None().In(b.Random({1, 6, 4, 4})).Note("attention_bias=[1,6,4,4]").Add();
  start(kF32, 0, false).None().None().None().None().In(b.Random({6})).Note("input=head_sink").Add();
}

void AddRotary(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Microsoft_RotaryEmbedding", seed);
  const auto add = [&](deputy_dtype t, const Dims& x, std::vector<int64_t> positions, int64_t half) -> CaseBuilder& {
    Tensor numbers(kI64, positions.size() == 1 ? Dims{1} : Dims{2, 4});
    numbers.whole = std::move(positions);
    b.In(b.Random(t, x)).In(numbers);
    return b.In(b.Random(t, {11, half}, -1, 1)).In(b.Random(t, {11, half}, -1, 1));
  };
  const std::vector<int64_t> each = {0, 3, 6, 10, 1, 2, 3, 5};
  const Dims x = {2, 3, 4, 8};
  add(kF32, x, each, 4).Add();
  for (const deputy_dtype dtype : TypesOf(b.op_type()))
    if (dtype != kF32) add(dtype, x, each, 4).Add();
  add(kF32, x, {3}, 4).Note("positions=one").Add();
  add(kF32, x, each, 4).With("interleaved", Int(1)).Add();
  add(kF32, {2, 4, 24}, each, 4).Note("rank=3").Add();
  add(kF32, {2, 4, 24}, each, 4).With("num_heads", Int(3)).Add();
  add(kF32, {2, 4, 24}, each, 2).With("num_heads", Int(3)).With("rotary_embedding_dim", Int(4)).Add();
}

}  // namespace

void AddMicrosoftAttentionCases(std::vector<Case>& cases, uint64_t seed) {
  AddAttention(cases, seed);
  AddMultiHead(cases, seed);
  AddGroupQuery(cases, seed);
  AddRotary(cases, seed);
}

}  // namespace deputy::conformance
