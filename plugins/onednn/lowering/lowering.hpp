// Turns a program into an executable. It tracks the memory and the layouts of every value; the functions that lower one
// kind of operation request operands in the layout that their primitive needs, and register their results. A reorder is
// added only where a requested layout does not exist yet.
#pragma once

#include <functional>
#include <set>
#include <string_view>
#include <type_traits>

#include "executable.hpp"
#include "fusion/fusion.hpp"
#include "program.hpp"

namespace onednn {

// Facts about a lowering that does not create primitives.
struct Analysis {
  size_t steps = 0, reorders = 0;  // reorders are steps, too
  std::set<deputy_node_id> slow;   // nodes that oneDNN has only slow implementations of
};

class Lowering {
 public:
  // `origins` of the program before it was fused.
  Lowering(const Program& program, const Origins& origins, const dnnl::engine& engine, ConstantStore& store,
           int threads);

  // One of the two, once. Throws dnnl::error where oneDNN fails; current_node() is the failing node.
  // `release` is called for each constant of the model after its conversion: its elements are not read soon.
  std::unique_ptr<Executable> Run(const sdk::Host& host, Shapes shapes,
                                  std::function<void(deputy_value_id)> release = nullptr);
  Analysis Analyze();
  deputy_node_id current_node() const { return current_node_; }

  const Program& program() const { return program_; }
  const dnnl::engine& engine() const { return engine_; }

  // The slot of a value, as its producer made it.
  Slot Native(Value value);
  // In the layout `desc`; without gaps; row-major.
  Slot As(Value value, const memory::desc& desc);
  Slot Dense(Value value);
  Slot PlainOf(Value value);
  // The elements as made, seen through `seen` (strides exchanged, extents split), in the layout `desc`. Constants are
  // converted now, all other values in the run.
  Slot Converted(Value value, const memory::desc& seen, const memory::desc& desc);
  // A constant that is not a value of the program.
  Slot Made(const Constant& constant, const memory::desc& desc);
  // The elements of a constant, of which others were made, are not read soon.
  void Release(const Constant& constant);
  int step_threads() const { return step_threads_; }  // of the operation that is being lowered
  // May the operation that is being lowered overwrite the slot? There are no later reads then.
  bool MayOverwrite(const Slot& slot) const;
  // Is the value, if it is row-major, written directly to an output of the partition?
  bool GoesOut(Value value) const { return destination_[value] != kNoValue; }

  // Memory for a result: new, or that of an operand that may be overwritten and has the layout.
  Slot Result(Value value, const memory::desc& desc);
  Slot ResultOver(Value value, const memory::desc& desc, const Slot& operand);
  // The value is a view of another slot's memory.
  void Alias(Value value, const Slot& slot);
  // Makes the slot, with all that was and is written to it, a part of another slot's memory, `offset` bytes behind its
  // first element. False where that cannot be done: the operation that is being lowered must be the last to read it.
  bool PlaceInside(const Slot& part, const Slot& whole, size_t offset);
  // Memory for one operation only.
  Slot Temporary(const memory::desc& desc);

  using Arguments = std::vector<std::pair<int, Slot>>;
  // A step for the whole operation, or only for the nodes that read the value `reader_of`.
  template <class Primitive>
  void Emit(const typename Primitive::primitive_desc& chosen, Arguments arguments, Value reader_of = kNoValue) {
    constexpr bool moves = std::is_same_v<Primitive, dnnl::reorder>;
    const memory::desc scratch = chosen.scratchpad_desc();
    if (scratch.get_size() > 0) arguments.emplace_back(DNNL_ARG_SCRATCHPAD, Temporary(scratch));
    if (analysis_ != nullptr) {
      analysis_->reorders += moves ? 1 : 0;
      return Note(moves ? "" : chosen.impl_info_str(), reader_of);
    }
    Add({Primitive(chosen), std::move(arguments), nullptr, step_threads_});
  }
  // Notes that another delegate is faster for the operation that is being lowered; the implementation is not yet known.
  void NoteSlow(Value reader_of = kNoValue);
  void EmitFunction(const char* name, std::vector<Slot> slots, std::function<void(const std::vector<char*>&)> function);
  void Copy(const Slot& from, const Slot& to);

 private:
  void LowerAll();
  void Add(Step step);
  void Note(std::string_view implementation, Value reader_of);
  size_t NewBuffer(Buffer buffer);
  Slot FromStore(const Constant& constant, const memory::desc& seen, const memory::desc& desc);
  void Hold(Value value, const Slot& slot);
  // Is the value in this buffer, by the first of its slots?
  bool IsIn(Value value, size_t buffer, size_t slots) const;
  void CountRead(Value value);
  void FindDestinations();
  void FillOutputs();
  void ResolveParts();

  const Program& program_;
  const Origins& origins_;
  dnnl::engine engine_;
  ConstantStore& store_;
  int threads_;
  std::function<void(deputy_value_id)> release_;
  Analysis* analysis_ = nullptr;  // set: no primitive is created
  int step_threads_ = 1;          // of the current operation: small primitives run on one
  deputy_node_id current_node_ = 0;
  int64_t current_work_ = 0;
  std::vector<deputy_node_id> step_nodes_;
  std::vector<Buffer> buffers_;
  std::vector<Step> steps_;
  // By value: first as its producer made it, then in other layouts; strides of extents of 1 are ordinary ones.
  std::vector<std::vector<Slot>> slots_;
  std::vector<size_t> remaining_;    // by value: reads that are still to come
  std::vector<size_t> reads_;        // by buffer: those of all values in it
  std::vector<size_t> destination_;  // by value: an output of the partition, or kNoValue
};

// One function per kind of operation.
void LowerConvolution(const Operation& operation, const Convolution& parameters, Lowering& lowering);
void LowerBlocks(const Operation& operation, Lowering& lowering);  // of a convolution without overlap
void LowerMatmul(const Operation& operation, const Matmul& parameters, Lowering& lowering);
void LowerEltwise(const Operation& operation, const Eltwise& parameters, Lowering& lowering);
void LowerBinary(const Operation& operation, const Binary& parameters, Lowering& lowering);
void LowerPrelu(const Operation& operation, Lowering& lowering);
void LowerErf(const Operation& operation, Lowering& lowering);
void LowerPool(const Operation& operation, const Pool& parameters, Lowering& lowering);
void LowerResample(const Operation& operation, const Resample& parameters, Lowering& lowering);
void LowerReduction(const Operation& operation, const Reduction& parameters, Lowering& lowering);
void LowerLayerNorm(const Operation& operation, const LayerNorm& parameters, Lowering& lowering);
void LowerSoftmax(const Operation& operation, const Softmax& parameters, Lowering& lowering);
void LowerLrn(const Operation& operation, const Lrn& parameters, Lowering& lowering);
void LowerConcat(const Operation& operation, const Concat& parameters, Lowering& lowering);
void LowerReshape(const Operation& operation, Lowering& lowering);
void LowerTranspose(const Operation& operation, const Transpose& parameters, Lowering& lowering);
void LowerSlice(const Operation& operation, const Slice& parameters, Lowering& lowering);
void LowerPad(const Operation& operation, const Pad& parameters, Lowering& lowering);
void LowerQuantize(const Operation& operation, const Quantize& parameters, Lowering& lowering);
void LowerDequantize(const Operation& operation, const Dequantize& parameters, Lowering& lowering);
void LowerCast(const Operation& operation, Lowering& lowering);

// Rough estimates of work, to choose threads and to reject partitions that are not worth a call of oneDNN.
// About how many multiplications, or other work of the same time.
int64_t WorkOf(const Operation& operation, const Program& program);

// Is the program that of a single node, an element-wise function or a reduction? The next delegate's loops are as fast:
// nothing is fused, and no layout kept.
bool IsOneElementwiseFunction(const Program& program, size_t nodes);

// Does a program keep oneDNN busy long enough? A call of the partition and each of its steps, most of all a reorder,
// have an overhead that kernels of the next delegate do not have; the total may be up to half as long again as theirs.
// `saved`: the result of Fuse, kernels that only the next delegate needs.
bool IsWorthCalling(const Program& program, const Analysis& analysis, size_t saved);

}  // namespace onednn
