#include "probing/taken_pieces.hpp"

#include <utility>

#include "case_run.hpp"

namespace deputy::conformance {

bool PieceQuestions::IsTaken(const Piece& piece, const Ground& ground) {
  constexpr int kEnoughToKnow = 4;
  if (unknown_[&piece] >= kEnoughToKnow) return false;
  const std::optional<ModelCase> alone = RowOf({&piece}, ground, seed_);
  if (!alone) return false;
  const ModelGraph shown(*alone);
  Answer refusal;
  std::optional<Claim> claim = instance_.ClaimAll(shown.graph, &refusal);
  if (claim) instance_.Release(*claim);
  if (!claim && refusal.reason == DEPUTY_REASON_OPERATOR_UNKNOWN) ++unknown_[&piece];
  return claim.has_value();
}

Pieces PieceQuestions::TakenPieces(const Ground& ground) {
  Pieces taken;
  for (const Piece& piece : AllPieces())
    if (IsTaken(piece, ground)) taken.push_back(&piece);
  return taken;
}

std::vector<Accepted> AcceptedBy(Instance& instance, uint64_t seed) {
  PieceQuestions questions(instance, seed);
  std::vector<Accepted> all;
  for (const std::vector<Ground>& kind : {Images(), Matrices()}) {
    Accepted best;
    for (const Ground& ground : kind) {
      Accepted one{ground, questions.TakenPieces(ground)};
      if (one.pieces.size() > best.pieces.size()) best = std::move(one);
      if (best.pieces.size() >= 3) break;
    }
    if (!best.pieces.empty()) all.push_back(std::move(best));
  }
  return all;
}

}  // namespace deputy::conformance
