// Fourier transforms of real and complex signals, whole and in frames.
#include "random/families.hpp"

namespace deputy::conformance {
namespace {

void WriteDft(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const bool onesided = d.Half();
  // One half of a real signal's transform, and the inverse.
  const bool inverse = !onesided && d.Half();
  Dims dims = d.FullShape(2, 5);
  const auto rank = static_cast<int64_t>(dims.size());
  const bool by_default = d.Half();
  int64_t axis = d.since() >= 20 ? -2 : (rank > 2 ? 1 : 0);
  if (!by_default || (d.since() < 20 && rank == 2)) axis = d.Half() ? d.Between(0, rank - 2) : d.Between(-rank, -2);
  if (rank == 2 && d.since() < 20) axis = 0;
  dims.back() = onesided ? 1 : d.Between(1, 2);
  d.In(d.Values(dtype, dims, -1, 1));
  const bool named = !(by_default && !(d.since() < 20 && rank == 2));
  if (d.Half())
    d.In(RealScalar(static_cast<double>(d.Between(1, 12)), d.IndexType()));
  else if (d.since() >= 20 && named)
    d.None();
  if (named && d.since() >= 20)
    d.In(WholeScalar(axis));
  else if (named)
    d.Set("axis", Int(axis));
  if (onesided) d.Set("onesided", Int(1));
  if (inverse) d.Set("inverse", Int(1));
}

void WriteStft(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const int64_t frame = d.Between(1, 9), length = frame + d.Between(0, 12), parts = d.Between(1, 2);
  const deputy_dtype index = d.IndexType();
  d.In(d.Values(dtype, {d.Between(1, 2), length, parts}, -1, 1));
  d.In(RealScalar(static_cast<double>(d.Between(1, 4)), index));
  const bool window = d.Half();
  if (window)
    d.In(d.Values(dtype, {frame}, 0, 1));
  else
    d.None();
  if (!window || d.Half()) d.In(RealScalar(static_cast<double>(frame), index));
  if (parts == 2)
    d.Set("onesided", Int(0));
  else
    d.Maybe("onesided", Int(d.Between(0, 1)));
}

}  // namespace

DraftRows SignalDrafts() { return {{"DFT", WriteDft}, {"STFT", WriteStft}}; }

}  // namespace deputy::conformance
