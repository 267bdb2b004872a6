// Extents that only the run knows.
#include <cstring>

#include "liars.hpp"

namespace liars {
namespace {

// Asks for memory to find out whether there is enough, and then for the same again.
struct AllocatesTwice final : Fault {
  Status Write(Session& session, const sdk::RunArgs& args, size_t index, const Tensor& value) override {
    if (!args.output(index).shape_known())
      DEPUTY_SDK_RETURN_IF_ERROR(args.Allocate(index, {value.dims.data(), value.dims.size()}).status());
    const Status status = Fault::Write(session, args, index, value);
    return args.output(index).shape_known() ? status : Status();
  }
};

// Extents are multiples of the device's tile.
struct AllocatesWholeTiles final : Fault {
  Status Write(Session& session, const sdk::RunArgs& args, size_t index, const Tensor& value) override {
    if (args.output(index).shape_known() || value.rank() == 0) return Fault::Write(session, args, index, value);
    Dims dims = value.dims;
    size_t open = dims.size();
    for (size_t i = 0; i < dims.size(); ++i)
      if (args.output(index).dims()[i] < 0) open = i;
    dims[open] = (dims[open] + 3) / 4 * 4;
    Tensor whole(value.dtype, dims);
    for (int64_t i = 0; i < value.count(); ++i)
      whole.Copy(reference::Flat(dims, reference::IndexOf(value.dims, i)), value, i);
    return Fault::Write(session, args, index, whole);
  }
};

// Believes that an output without elements needs no memory, and that so does one of a single row.
struct AllocatesNothing final : Fault {
  Status Write(Session& session, const sdk::RunArgs& args, size_t index, const Tensor& value) override {
    if (!args.output(index).shape_known() && value.count() == 0) return {};
    return Fault::Write(session, args, index, value);
  }
};

// An executable for several shapes keeps the extents of its first run, also for results.
struct FirstExtents final : Fault {
  Tensors Compute(Session& session, const Step& step, const Inputs& inputs) override {
    Tensors made = Fault::Compute(session, step, inputs);
    if (step.outputs.empty() || session.program().dims.count(step.outputs[0]) != 0) return made;
    const auto first = session.state.values.emplace(step.outputs[0], Tensor(made[0].dtype, made[0].dims)).first;
    const Dims& planned = first->second.dims;
    if (planned.size() == made[0].dims.size() && planned != made[0].dims) PutOff(made);
    return made;
  }
};

// A list of the device holds 1,024 elements that were selected.
Tensors ListOf1024(const Node& node, const Inputs& inputs) {
  Tensors made = reference::Compute(node, inputs);
  if (!IsOneOf(node.op_type, {"Compress", "NonMaxSuppression", "NonZero", "Unique"})) return made;
  for (int64_t i = 1024; i < made[0].count(); ++i) made[0].Put(i, int64_t{0});
  return made;
}

}  // namespace

FaultRows DynamicFaults() {
  return {Of<AllocatesTwice>("allocates-twice"), Of<AllocatesWholeTiles>("allocates-whole-tiles"),
          Of<AllocatesNothing>("allocates-nothing"), Of<FirstExtents>("first-extents"),
          InArithmetic("list-of-1024", ListOf1024)};
}

}  // namespace liars
