#include <algorithm>
#include <utility>

#include "fusion/fusion.hpp"

namespace onednn {
namespace {

using dnnl::algorithm;

// The gain of a primitive that also computes the operation behind it; 0: it cannot.
int Gain(const Program& program, const Operation& producer, bool with_operand) {
  constexpr size_t kMost = 16;
  if (producer.dropped || producer.post_ops.size() >= kMost) return 0;
  if (const Convolution* convolution = producer.As<Convolution>()) {
    // Transposed ones have no post-ops, unless they become matrix products, which index elements in another order.
    if (!convolution->transposed || (!with_operand && IsBlockwise(producer, program))) return 3;
    return 0;
  }
  if (const Matmul* matmul = producer.As<Matmul>()) return matmul->output_order.empty() ? 3 : 0;
  if (producer.As<Binary>() != nullptr) return 2;
  if (producer.As<Pool>() != nullptr || producer.As<Resample>() != nullptr) return 1;
  return 0;
}

// The producer of the operand of `operation`, if this operation may become a part of it.
struct Place {
  size_t producer = kNoValue;
  size_t input = 0;
  int gain = 0;
};
Place PlaceFor(const Program& program, const Operation& operation, size_t input) {
  const Value value = operation.inputs[input];
  const size_t producer = program.ProducerOf(value);
  if (producer == kNoValue || program.UsesOf(value) != 1) return {};
  if (program.dims(value) != program.dims(operation.output)) return {};
  return {producer, input, Gain(program, program.operations()[producer], operation.As<Binary>() != nullptr)};
}

// Is this a clip that is the only reader of a linear function? The two are one loop.
bool IsClipOfLinear(const Program& program, const Operation& operation) {
  const Eltwise* clip = operation.As<Eltwise>();
  if (clip == nullptr || clip->algorithm != algorithm::eltwise_clip) return false;
  size_t before = 0;
  const Eltwise* linear = MadeOnlyHere<Eltwise>(program, operation.inputs[0], &before);
  return linear != nullptr && linear->algorithm == algorithm::eltwise_linear &&
         program.operations()[before].post_ops.empty();
}

bool Attach(Program& program, size_t index) {
  const Operation& operation = program.operations()[index];
  const Eltwise* eltwise = operation.As<Eltwise>();
  const Binary* binary = operation.As<Binary>();
  if (eltwise == nullptr && binary == nullptr) return false;
  Place place = PlaceFor(program, operation, 0);
  if (binary != nullptr && binary->algorithm != algorithm::binary_div) {
    const Place other = PlaceFor(program, operation, 1);
    if (other.gain > place.gain || (other.gain == place.gain && other.gain > 0 && other.producer > place.producer))
      place = other;
  }
  if (place.gain == 0 && IsClipOfLinear(program, operation)) place.gain = 1;
  if (place.gain == 0) return false;
  // The producer moves to the place where its result is used: all of its operands are computed before that.
  Operation joined = program.operations()[place.producer];
  joined.output = operation.output;
  if (eltwise != nullptr) {
    joined.post_ops.push_back({eltwise->algorithm, eltwise->alpha, eltwise->beta});
  } else {
    const bool reversed = place.input == 1 && binary->algorithm == algorithm::binary_sub;  // y - x = -x + y
    if (reversed) joined.post_ops.push_back({algorithm::eltwise_linear, -1, 0});
    joined.post_ops.push_back(
        {reversed ? algorithm::binary_add : binary->algorithm, 0, 0, operation.inputs[1 - place.input]});
  }
  joined.post_ops.insert(joined.post_ops.end(), operation.post_ops.begin(), operation.post_ops.end());
  program.Drop(place.producer);
  program.Replace(index, std::move(joined));
  return true;
}

}  // namespace

void AttachPostOps(Program& program) {
  for (size_t i = 0; i < program.operations().size(); ++i) Attach(program, i);
  program.Sweep();
}

}  // namespace onednn
