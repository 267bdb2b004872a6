// RNN, GRU and LSTM: each optional input, each attribute, both directions.
#include <array>

#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

constexpr int64_t kSteps = 4, kBatch = 3, kInputs = 5, kHidden = 6;

// The parameters of a case; the optional inputs are in order, and those not given are omitted.
struct Form {
  deputy_dtype dtype = kF32;
  int64_t steps = kSteps, batch = kBatch, inputs = kInputs, hidden = kHidden, directions = 1;
  bool bias = false, lengths = false, state = false, cell = false, peepholes = false;
  bool batch_first = false, variable = false;
};

class Recurrent {
 public:
  Recurrent(std::vector<Case>& cases, const char* op_type, int64_t gates, uint64_t seed)
      : b_(cases, op_type, seed), gates_(gates) {}

  CaseBuilder& With(const Form& form) {
    const auto x =
        form.batch_first ? Dims{form.batch, form.steps, form.inputs} : Dims{form.steps, form.batch, form.inputs};
    const auto state = form.batch_first ? Dims{form.batch, form.directions, form.hidden}
                                        : Dims{form.directions, form.batch, form.hidden};
    b_.In(Small(form, x, 2));
    Weight(form, {form.directions, gates_ * form.hidden, form.inputs});
    Weight(form, {form.directions, gates_ * form.hidden, form.hidden});
    Optional(form.bias, Small(form, {form.directions, 2 * gates_ * form.hidden}, 0.5), true);
    Optional(form.lengths, Lengths(form), false);
    Optional(form.state, Small(form, state, 1), false);
    if (gates_ == 4) {
      Optional(form.cell, Small(form, state, 1), false);
      Optional(form.peepholes, Small(form, {form.directions, 3 * form.hidden}, 0.5), true);
    }
    missing_ = 0;
    return b_.Quietly("hidden_size", Int(form.hidden)).Outputs(gates_ == 4 ? 3 : 2);
  }

  CaseBuilder& builder() { return b_; }

 private:
  Tensor Small(const Form& form, const Dims& dims, double limit) { return b_.Random(form.dtype, dims, -limit, limit); }
  void Weight(const Form& form, const Dims& dims) {
    if (form.variable)
      b_.In(Small(form, dims, 0.5));
    else
      b_.Const(Small(form, dims, 0.5));
  }
  // An omitted input is only added when another one follows.
  void Optional(bool given, const Tensor& value, bool constant) {
    if (!given) {
      ++missing_;
      return;
    }
    for (; missing_ > 0; --missing_) b_.None();
    if (constant)
      b_.Const(value);
    else
      b_.In(value);
  }
  static Tensor Lengths(const Form& form) {
    Tensor lengths(kI32, {form.batch});
    for (int64_t i = 0; i < form.batch; ++i) lengths.Put(i, 1 + (form.steps - 1 + 2 * i) % form.steps);
    return lengths;
  }

  CaseBuilder b_;
  int64_t gates_, missing_ = 0;
};

Form Both(Form form) {
  form.directions = 2;
  return form;
}

void AddForms(Recurrent& cell, size_t functions) {
  Form plain, full;
  full.bias = full.lengths = full.state = full.cell = full.peepholes = true;
  cell.With(plain).Add();
  for (const deputy_dtype dtype : TypesOf(cell.builder().op_type())) {
    Form typed;
    typed.dtype = dtype;
    if (dtype != kF32) cell.With(typed).Add();
  }
  Form one = plain;
  one.bias = true;
  cell.With(one).Note("input=B").Add();
  (one = plain).lengths = true;
  cell.With(one).Note("input=sequence_lens").Add();
  (one = plain).state = true;
  cell.With(one).Note("input=initial_h").Add();
  (one = plain).variable = true;
  cell.With(one).Note("weights=variable").Add();
  for (const char* direction : {"reverse", "bidirectional"}) {
    const bool both = *direction == 'b';
    cell.With(both ? Both(plain) : plain).With("direction", Text(direction)).Add();
    cell.With(both ? Both(full) : full).With("direction", Text(direction)).Note("inputs=all").Add();
  }
  (one = plain).batch_first = true;
  cell.With(one).With("layout", Int(1)).Add();
  (one = full).batch_first = true;
  cell.With(Both(one)).With("layout", Int(1)).With("direction", Text("bidirectional")).Note("inputs=all").Add();
  // So short that a cell stays within the limit: it is unclear whether the limit applies to cells.
  (one = plain).steps = 2;
  cell.With(one).With("clip", Float(0.25f)).Add();
  one.bias = one.state = one.peepholes = true;
  cell.With(one).With("clip", Float(0.25f)).Note("inputs=B,initial_h,P").Add();
  const auto named = [](std::vector<std::string> names) { return Attribute::Strings(std::move(names)); };
  for (const char* function : {"Relu", "Sigmoid", "Softsign", "Softplus", "LeakyRelu", "HardSigmoid", "Elu"})
    cell.With(plain).With("activations", named(std::vector<std::string>(functions, function))).Add();
  for (const char* function : {"Affine", "ScaledTanh", "ThresholdedRelu"})
    cell.With(plain)
        .With("activations", named(std::vector<std::string>(functions, function)))
        .Quietly("activation_alpha", Attribute::Floats(std::vector<float>(functions, 0.375f)))
        .Quietly("activation_beta", Attribute::Floats(std::vector<float>(*function == 'T' ? 0 : functions, 0.25f)))
        .Add();
  std::vector<std::string> mixed(functions, "Tanh");
  mixed[0] = "HardSigmoid";
  std::vector<std::string> twice = mixed;
  twice.insert(twice.end(), mixed.begin(), mixed.end());
  cell.With(plain)
      .Quietly("activations", named(mixed))
      .With("activation_alpha", Attribute::Floats({0.375f}))
      .With("activation_beta", Attribute::Floats({0.25f}))
      .Add();
  cell.With(Both(plain))
      .Quietly("activations", named(twice))
      .With("activation_alpha", Attribute::Floats({0.375f, 0.125f}))
      .With("activation_beta", Attribute::Floats({0.25f, 0.75f}))
      .With("direction", Text("bidirectional"))
      .Add();
  for (const auto& [steps, batch, inputs, hidden] :
       std::vector<std::array<int64_t, 4>>{{1, 1, 1, 1}, {1, 3, 5, 6}, {7, 1, 3, 17}, {2, 0, 5, 6}, {5, 9, 33, 3}}) {
    Form shaped;
    shaped.steps = steps;
    shaped.batch = batch;
    shaped.inputs = inputs;
    shaped.hidden = hidden;
    cell.With(shaped).Note("shape=" + TextOf(Dims{steps, batch, inputs}) + "*" + std::to_string(hidden)).Add();
  }
  cell.With(full).Note("inputs=all").Add();
  cell.With(plain).Outputs(1).Note("outputs=1").Add();
}

}  // namespace

void AddRecurrentCases(std::vector<Case>& cases, uint64_t seed) {
  Recurrent rnn(cases, "RNN", 1, seed), gru(cases, "GRU", 3, seed), lstm(cases, "LSTM", 4, seed);
  AddForms(rnn, 1);
  AddForms(gru, 2);
  AddForms(lstm, 3);
  Form form;
  gru.With(form).With("linear_before_reset", Int(1)).Add();
  form.bias = true;
  gru.With(form).With("linear_before_reset", Int(1)).Note("input=B").Add();
  form = Form();
  form.cell = true;
  lstm.With(form).Note("input=initial_c").Add();
  form = Form();
  form.peepholes = true;
  lstm.With(form).Note("input=P").Add();
  lstm.With(form).With("input_forget", Int(1)).Note("input=P").Add();
  lstm.With(Form()).With("input_forget", Int(1)).Add();
}

}  // namespace deputy::conformance
