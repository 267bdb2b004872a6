// Fusions: every pair of pieces that the delegate takes, and a number of triples, as one partition: in a row, with the
// inner value an output, with both values joined. Then random networks of the pieces. One test for each operator that
// comes first. And the patterns that graph compilers rewrite.
#include <set>

#include "cases/patterns.hpp"
#include "partition_run.hpp"
#include "probing/taken_models.hpp"
#include "probing/taken_pieces.hpp"
#include "saved_case.hpp"
#include "test.hpp"

namespace deputy::conformance {
namespace {

// The models of one test, made one at a time: there are thousands.
class FusionRun {
 public:
  FusionRun(TestRun& run, Instance& instance) : run_(run), instance_(instance) {}

  void Try(const ModelCase& model) {
    const int64_t index = next_++;
    if (index < run_.first_case() || run_.failures() >= kMostFailures) return;
    run_.BeginCase(index, model.label);
    const SavedCase saved(run_, model.label, model);
    const ModelGraph shown(model);
    several_ += RunPartitions(run_, instance_, model.label, shown);
  }

  size_t several() const { return several_; }

 private:
  static constexpr size_t kMostFailures = 24;
  TestRun& run_;
  Instance& instance_;
  int64_t next_ = 0;
  size_t several_ = 0;
};

// Asked about first: most delegates take few operators.
bool IsAnyTaken(Instance& instance, const std::string& op_type, uint64_t seed) {
  PieceQuestions questions(instance, seed);
  for (const std::vector<Ground>& kind : {Images(), Matrices()})
    for (const Ground& ground : kind)
      for (const Piece& piece : AllPieces())
        if (piece.op_type == op_type && questions.IsTaken(piece, ground)) return true;
  return false;
}

void CheckFirst(TestRun& run, const std::string& op_type) {
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  const uint64_t seed = run.settings().seed, triples = run.settings().thorough ? 1000 : 40;
  if (!IsAnyTaken(*instance, op_type, seed)) return run.Skipped("it takes no node of this operator in a model");
  FusionRun models(run, *instance);
  for (const Accepted& accepted : AcceptedBy(*instance, seed)) {
    RandomSource random(seed);
    for (const Piece* first : accepted.pieces) {
      if (first->op_type != op_type) continue;
      for (const Piece* second : accepted.pieces)
        for (const ModelCase& model : PairsOf(*first, *second, accepted.ground, seed)) models.Try(model);
      for (uint64_t i = 0; i < triples; ++i) {
        const Piece* second = random.Pick(accepted.pieces);
        const Piece* third = random.Pick(accepted.pieces);
        if (const auto model = RowOf({first, second, third}, accepted.ground, seed)) models.Try(*model);
      }
    }
  }
  if (models.several() == 0) run.Skipped("it takes no two nodes that begin with this operator together");
}

void CheckNetworks(TestRun& run) {
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  FusionRun models(run, *instance);
  const std::vector<Accepted> grounds = AcceptedBy(*instance, run.settings().seed);
  if (grounds.empty()) return run.Skipped("it takes none of the pieces");
  const auto count = static_cast<uint64_t>(run.settings().random);
  for (uint64_t i = 0; i < count; ++i) {
    const Accepted& accepted = grounds[i % grounds.size()];
    const auto model = NetworkOf(accepted.pieces, accepted.ground, run.settings().seed * 100003 + i);
    if (model) models.Try(*model);
  }
  if (models.several() == 0) run.Skipped("it takes no two nodes of a network together");
}

// Rows of the cases that it takes, also of operators and forms that no piece has.
void CheckRows(TestRun& run, const std::vector<Case>& cases) {
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  FusionRun models(run, *instance);
  const size_t most = run.settings().thorough ? 600 : 60;
  for (const ModelCase& model : TakenRows(*instance, cases, run.settings().seed, most)) models.Try(model);
  if (models.several() == 0) run.Skipped("it takes no two nodes of cases together");
}

// The patterns in an element type of which the delegate takes pieces.
void CheckPatterns(TestRun& run) {
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  const uint64_t seed = run.settings().seed;
  const std::vector<Accepted> grounds = AcceptedBy(*instance, seed);
  if (grounds.empty()) return run.Skipped("it takes none of the pieces");
  const deputy_dtype dtype = grounds.front().ground.dtype;
  FusionRun models(run, *instance);
  for (const auto& make : {Patterns, RepeatedOperators})
    for (const ModelCase& model : make(dtype, seed)) models.Try(model);
  if (models.several() == 0) run.Skipped("it takes no two nodes of a pattern together");
}

}  // namespace

std::vector<Test> FusionTests(const std::vector<Case>& cases) {
  std::vector<Test> tests;
  std::set<std::string> seen;
  for (const Piece& piece : AllPieces())
    if (seen.insert(piece.op_type).second)
      tests.push_back(
          {"fusions." + piece.op_type, [op_type = piece.op_type](TestRun& run) { CheckFirst(run, op_type); }});
  tests.push_back({"fusions.rows", With(CheckRows, cases)});
  tests.push_back({"fusions.patterns", CheckPatterns});
  tests.push_back({"fusions.networks", CheckNetworks});
  return tests;
}

}  // namespace deputy::conformance
