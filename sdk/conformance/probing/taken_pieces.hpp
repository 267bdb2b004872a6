// The pieces of models that a delegate takes, and the values that they begin with.
#pragma once

#include <map>
#include <vector>

#include "cases/pieces.hpp"
#include "instance.hpp"

namespace deputy::conformance {

using Pieces = std::vector<const Piece*>;

// The pieces that a delegate takes whole, behind a value.
struct Accepted {
  Ground ground;
  Pieces pieces;
};

// Asks which pieces the delegate takes. One whose operator it has said several times that it does not know is not asked
// about again: there are many grounds. Some delegates give that reason for every refusal.
class PieceQuestions {
 public:
  PieceQuestions(Instance& instance, uint64_t seed) : instance_(instance), seed_(seed) {}
  bool IsTaken(const Piece& piece, const Ground& ground);
  Pieces TakenPieces(const Ground& ground);

 private:
  Instance& instance_;
  const uint64_t seed_;
  std::map<const Piece*, int> unknown_;
};

// One ground of each kind: the first of which the delegate takes several pieces.
std::vector<Accepted> AcceptedBy(Instance& instance, uint64_t seed);

}  // namespace deputy::conformance
