// RNN, GRU and LSTM: each input that may be left out, each attribute, each direction.
#include "random/families.hpp"

namespace deputy::conformance {
namespace {

class Cell {
 public:
  Cell(Draft& d, int64_t gates) : d_(d), gates_(gates), dtype_(d.Type()) {}

  void Write() {
    const int64_t steps = d_.Between(1, 4), batch = d_.Between(1, 3), inputs = d_.Between(1, 5);
    const int64_t hidden = d_.Between(1, 5);
    const std::string direction = d_.Pick<std::string>({"forward", "reverse", "bidirectional"});
    const int64_t directions = direction == "bidirectional" ? 2 : 1;
    const bool batch_first = d_.Has("layout") && d_.Once(3);
    d_.In(Small(batch_first ? Dims{batch, steps, inputs} : Dims{steps, batch, inputs}, 2));
    d_.In(Small({directions, gates_ * hidden, inputs}, 0.5)).In(Small({directions, gates_ * hidden, hidden}, 0.5));
    Optional(Small({directions, 2 * gates_ * hidden}, 0.5));
    Tensor lengths(kI32, {batch});
    for (int64_t i = 0; i < batch; ++i) lengths.Put(i, d_.Between(1, steps));
    Optional(lengths);
    const Dims state = batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
    Optional(Small(state, 1));
    if (gates_ == 4) {
      Optional(Small(state, 1));
      Optional(Small({directions, 3 * hidden}, 0.5));
    }
    if (direction != "forward" || d_.Half()) d_.Set("direction", Text(direction));
    if (batch_first) d_.Set("layout", Int(1));
    d_.Set("hidden_size", Int(hidden));
    Functions(directions);
    if (d_.Once(4)) d_.Set("clip", Number(d_, 0.25, 2));
    d_.Maybe("linear_before_reset", Int(d_.Between(0, 1))).Maybe("input_forget", Int(d_.Between(0, 1)));
    if (d_.Has("output_sequence")) d_.Set("output_sequence", Int(1));
    d_.Outputs(static_cast<size_t>(d_.Between(1, gates_ == 4 ? 3 : 2)));
  }

 private:
  Tensor Small(const Dims& dims, double limit) { return d_.Values(dtype_, dims, -limit, limit); }

  void Optional(const Tensor& value) {
    if (d_.Half()) {
      ++missing_;
      return;
    }
    for (; missing_ > 0; --missing_) d_.None();
    d_.In(value);
  }

  // Either none is named, or all, those with parameters among them.
  void Functions(int64_t directions) {
    if (d_.Half()) return;
    const int64_t count = directions * (gates_ == 4 ? 3 : gates_ == 3 ? 2 : 1);
    std::vector<std::string> names;
    std::vector<float> alphas, betas;
    for (int64_t i = 0; i < count; ++i) {
      names.push_back(d_.Pick<std::string>({"Relu", "Tanh", "Sigmoid", "Softsign", "Softplus", "HardSigmoid",
                                            "LeakyRelu", "Elu", "ThresholdedRelu", "ScaledTanh", "Affine"}));
      const std::string& name = names.back();
      const bool slope = name == "HardSigmoid" || name == "ScaledTanh" || name == "Affine";
      if (slope || name == "LeakyRelu" || name == "Elu" || name == "ThresholdedRelu")
        alphas.push_back(Number(d_, 0.25, 1).f);
      if (slope) betas.push_back(Number(d_, 0.25, 1).f);
    }
    d_.Set("activations", Attribute::Strings(names));
    if (!alphas.empty()) d_.Set("activation_alpha", Attribute::Floats(alphas));
    if (!betas.empty()) d_.Set("activation_beta", Attribute::Floats(betas));
  }

  Draft& d_;
  int64_t gates_, missing_ = 0;
  deputy_dtype dtype_;
};

void WriteRnn(Draft& d) { Cell(d, 1).Write(); }
void WriteGru(Draft& d) { Cell(d, 3).Write(); }
void WriteLstm(Draft& d) { Cell(d, 4).Write(); }

}  // namespace

DraftRows RecurrentDrafts() { return {{"GRU", WriteGru}, {"LSTM", WriteLstm}, {"RNN", WriteRnn}}; }

}  // namespace deputy::conformance
