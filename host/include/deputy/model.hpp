// A model that is ready to run, and the sessions that run it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "deputy/buffer.hpp"
#include "deputy/compare.hpp"
#include "deputy/context.hpp"
#include "deputy/model_value.hpp"
#include "deputy/placed_graph.hpp"
#include "deputy/placement.hpp"
#include "deputy/profile.hpp"
#include "deputy/status.hpp"
#include "deputy/tensor.hpp"
#include "deputy/verification.hpp"

namespace deputy {

// The format of a model in memory. kAuto recognizes it by its first bytes, which for ONNX is a guess, since its files
// have no signature. A named format is not guessed: data of another one is kModel.
enum class ModelType { kAuto, kOnnx, kDeputy, kTflite };

// An input or output: -1 is an extent that may differ from run to run, `dims` has its name ("batch", "4"). For a
// sequence, type and extents are those of its elements.
struct TensorInfo {
  std::string name;
  DType dtype = DType::kUndefined;
  bool ranked = true;
  Shape shape;
  std::vector<std::string> dims;
  ValueKind kind = ValueKind::kTensor;
};

// By the names of inputs.
using NamedShapes = std::vector<std::pair<std::string, Shape>>;

// Changes to a model before it is built.
struct BuildOptions {
  // Extents in place of those that the file fixes, such as another batch or image size; -1 makes an extent dynamic.
  // Extents that are dynamic in the file stay so: sessions give them. The shapes of all other values are inferred anew;
  // those in the file are not used. The nodes stay as they are: where one depends on the extents in the file, such as a
  // Reshape to a constant shape, Build fails and names the node. kInvalidArgument for that, for an unknown input and
  // for another rank; kNotSupported for a .dpm file that was converted from TensorFlow Lite.
  NamedShapes input_shapes;
  // Names of values of the graph that become outputs, after the model's own: intermediate results, computed by the
  // delegates that compute them anyway. A value that is an output already is not added again.
  std::vector<std::string> extra_outputs;
  // Names of inputs_with_default() that the caller gives: they are inputs then, among the others in the order of the
  // file. kInvalidArgument for another name.
  std::vector<std::string> given_inputs = {};
};

// Wishes for runs, which a delegate may follow or ignore; its documents say which. The results stay within what its
// options promise.
struct RunHints {
  int power_level = 0;                  // 1 low power, 2 balanced, 3 high performance, 4 extreme; 0: as configured
  DType precision = DType::kUndefined;  // the least precise float type that may compute; undefined: as compiled
  // Where a delegate has one run at a time, the largest goes first, of all sessions. A run that 16 others have
  // overtaken there goes before them; each delegate counts for itself.
  int32_t priority = 0;
};

// Limits of a search for the fastest placement.
struct MeasureOptions {
  std::chrono::nanoseconds budget = std::chrono::seconds(60);  // of the whole search
  double margin = 0.03;  // the least share of the time that a change of the placement must gain
  // Called before each candidate with its description and the share of the budget that is used; may be empty. It must
  // not call the session.
  std::function<void(const std::string& candidate, double used)> progress = {};
};

// Its result. Times are medians of a run, in nanoseconds.
struct MeasureReport {
  std::string summary;  // "the CPU alone, 0.58 of the order's time (3 candidates)"
  uint64_t order_ns = 0, best_ns = 0;
  uint64_t cpu_ns = 0;  // of the CPU alone; 0: not measured
  size_t candidates = 0;
  bool complete = true;  // false: the budget ended the search
};

// The result of a request of Session::PredictAsync. Times are CLOCK_MONOTONIC, in nanoseconds.
struct PredictResult {
  uint64_t request = 0;  // its number
  Status status;
  std::vector<Tensor> inputs;                             // of the request
  std::vector<Tensor> outputs;                            // undefined unless the status is OK
  uint64_t submitted_ns = 0, begun_ns = 0, ended_ns = 0;  // begun: 0 for a request that was never begun
};
using PredictCallback = std::function<void(PredictResult&&)>;

// Of one request.
struct RequestOptions {
  std::vector<Tensor> outputs = {};      // used again, as those of Predict
  std::chrono::nanoseconds timeout{-1};  // counts from the call; zero: no limit; negative: that of the session
  std::optional<int32_t> priority = {};  // that of RunHints for this request; none: the session's
};

// The order in which the callbacks of a session's requests are called. As they end, requests also begin in the order of
// their priorities; a request that 16 others have overtaken in this order begins before them, regardless of what
// overtakes it where it waits for a delegate.
enum class ResultOrder { kAsSubmitted, kAsTheyEnd };

// One thread at a time, which Predict, PredictValues, MeasurePlacement, Resize and ResetStates check:
// kFailedPrecondition while another thread is in one of them. Any number of sessions of one model may run at once, each
// on its own thread. Keeps the parts of its model that it needs alive.
class Session {
 public:
  Session();
  // Cancels a run that another thread is in and all requests, and waits for them and their callbacks.
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  // Inputs in the model's order, dense. They are read in place and never written. Shapes that differ from the last run
  // make or find another plan, as Resize does. On return `outputs` has one tensor per output; a tensor that was there
  // before with the right dtype and shape is written in place, so that a caller that keeps its vector causes no
  // allocation. One with memory of its own is replaced where it does not fit; one whose memory is borrowed (Wrap
  // without an owner) then is kInvalidArgument. It is not the vector of the inputs, and no output shares memory with an
  // input. kFailedPrecondition for a model whose inputs and outputs are not all tensors: use PredictValues.
  Status Predict(const std::vector<Tensor>& inputs, std::vector<Tensor>* outputs);

  // The same for models with sequences and optionals; any model can be run so. Sequences are shared with the model, not
  // copied; no element of `outputs` is in memory of `inputs`.
  Status PredictValues(const std::vector<ModelValue>& inputs, std::vector<ModelValue>* outputs);

  // A buffer for an input or output of the current plan, in memory of the device whose delegate reads or writes it, or
  // else in host memory. kNotFound for another name, kFailedPrecondition before the shapes of the inputs are known,
  // kNotSupported for what is no tensor of known extents. Its contents are undefined.
  Result<Buffer> InputBuffer(const std::string& name);
  Result<Buffer> OutputBuffer(const std::string& name);
  // Runs read the input from the buffer, or write the output to it, until another one or an empty one is bound; where a
  // delegate runs the value on the device of the buffer, nothing is copied. The tensor of a bound input is empty in a
  // Predict, that of a bound output is empty after it. A buffer can be bound in any sessions of the context; a run that
  // reads one which another run writes fails with kFailedPrecondition, as does one that writes it while it is used. A
  // run whose output has the buffer of an input or of another output too is kInvalidArgument. A run whose bound
  // buffer was lost with its device fails with kDeviceLost until another one is bound. With bound buffers requests of
  // PredictAsync run one after another, PredictValues is kFailedPrecondition. kFailedPrecondition while requests are in
  // flight, and in a callback.
  Status BindInput(const std::string& name, const Buffer& buffer);
  Status BindOutput(const std::string& name, const Buffer& buffer);

  // Returns at once; the results go to `done`, on a thread of the session, one call at a time and in the order of the
  // requests unless SetInFlight says otherwise. A request that ends before it has begun, because it was cancelled or
  // its time was over, does not wait for earlier ones. Inputs and options are moved from where a request is accepted,
  // and come back with the result: a caller that submits them again causes no allocation. The memory of borrowed
  // tensors must stay valid and unchanged until then. `done` may call the functions of the session but
  // SetInFlight; it must not throw, not destroy the session, and not wait for another request of it, whose result only
  // follows.
  //
  // A request has a plan's memory of its own, so that several are in different steps at once: a model on two devices
  // has both in use. A model with states has one run at a time, in the order of the requests. While requests are in
  // flight the functions that compute, such as Predict, are kFailedPrecondition; settings must not be changed, and
  // statistics, events and placements not be read. The first call makes the sessions of the requests, each of which
  // has the limit of memory of the configuration for itself. kUnavailable: as many are in flight as SetInFlight allows;
  // the place of a request is free before its callback begins. Returns the number of the request. [any-thread]
  Result<uint64_t> PredictAsync(std::vector<Tensor>&& inputs, PredictCallback done, RequestOptions&& options = {});
  // The same with the result in a future, which a failed request does not throw from.
  Result<std::future<PredictResult>> PredictAsync(std::vector<Tensor>&& inputs, RequestOptions&& options = {});
  // The most requests in flight, 1 to 1024, 4 without this call: accepted, and their results not yet delivered. So many
  // runs have memory and a thread of their own. kFailedPrecondition while requests are in flight, and in a callback; it
  // waits for a callback that has begun.
  Status SetInFlight(size_t most, ResultOrder order = ResultOrder::kAsSubmitted);
  // Ends one request with kCancelled, as Cancel does with a run; nothing happens where it has ended. [any-thread]
  void CancelRequest(uint64_t request);

  // Prepares for inputs of these shapes, this session only. The shape of an input that is not a tensor is left empty.
  Status Resize(const std::vector<Shape>& shapes);

  // A Predict that takes longer ends with kDeadlineExceeded, regardless of its results. The time counts from the call.
  // Checked after each step, each iteration of a loop, and inside the CPU's steps between the parts of their work;
  // delegates receive the deadline. If a delegate does not stop, the run ends when it returns, and the message says
  // that it did not stop and how late it was. Zero: no limit. Without a call it is `limits: {timeout}` of the
  // configuration, whose other limits end a run with kResourceExhausted.
  void SetTimeout(std::chrono::nanoseconds timeout);
  // Ends the current Predict, if there is one, and all requests in flight with kCancelled, at the next check of the
  // timeout; the session can be used as before. A later Predict is not affected: a caller that cannot know whether the
  // other thread has called it yet cancels again until it returns, or sets a timeout. [any-thread]
  void Cancel();

  // Wishes for the following runs.
  void SetHints(const RunHints& hints);

  // Some models hold values between runs (recurrent layers, ring buffers of streaming models). They belong to the
  // session and start with the model's initial values; a run that fails leaves them unchanged. This resets them.
  Status ResetStates();

  // With profiling the session measures the time of every step. Off by default.
  void EnableProfiling(bool on);
  const RunStatistics& statistics() const;

  // With events on, which costs more than profiling, Predict also requests events of their devices from delegates.
  // Events are those of the last Predict, steps in order, each followed by its events. Off by default.
  void EnableEvents(bool on);
  const std::vector<RunEvent>& events() const;

  // Searches for the fastest placement with these inputs by running candidates, regardless of what is known about the
  // model. Later plans for these shapes follow the result, in this and in other processes. kFailedPrecondition under
  // other policies than `measured`, for a model whose inputs and outputs are not all tensors, and while buffers are
  // bound.
  Result<MeasureReport> MeasurePlacement(const std::vector<Tensor>& inputs, const MeasureOptions& options);

  // Of the current plan; fails while there is none (symbolic inputs before the first Predict or Resize).
  Result<PlacementReport> Placement() const;
  // The same without the lists of partitions and nodes, which take about a kilobyte for each node.
  Result<PlacementReport> DelegateShares() const;
  // What the tolerance of a comparison depends on, of all nodes of the current plan.
  Result<ModelTraits> Traits() const;

 private:
  friend class Model;
  struct State;
  explicit Session(std::unique_ptr<State> state);
  Result<Buffer> MakeBuffer(const std::string& name, bool is_input);
  Status Bind(const std::string& name, bool is_input, const Buffer& buffer);
  void End();
  std::unique_ptr<State> state_;
};

// Copies share everything. Immutable once built, so any thread may make sessions. [any-thread] after Build
class Model {
 public:
  Model();
  ~Model();
  Model(const Model&);
  Model& operator=(const Model&);

  // From a file: ONNX, TensorFlow Lite or .dpm, recognized by its first bytes and, for ONNX, by the suffix .onnx. When
  // all input shapes are known the placement is made now. kInvalidArgument for an extra output that the graph does not
  // have, or that is inside a region.
  Status Build(const std::string& path, const Context& context, const BuildOptions& options = {});
  // From memory, which may be freed right after.
  Status Build(const void* data, size_t size, ModelType type, const Context& context, const BuildOptions& options = {});

  const std::vector<TensorInfo>& inputs() const;
  const std::vector<TensorInfo>& outputs() const;
  // Inputs of the file that have a value in the file (ONNX: an initializer of the same name). They are constants, and
  // not among inputs(), unless BuildOptions::given_inputs names them. A .dpm file has none.
  const std::vector<std::string>& inputs_with_default() const;
  const std::vector<std::pair<std::string, std::string>>& metadata() const;
  // Whether sessions hold values between runs, so that the same inputs may give other outputs.
  bool has_states() const;

  Result<Session> CreateSession() const;

  // As Tensor::Allocate, but in memory that the worker processes of the context's delegates read: an input that lies
  // there is not copied for a delegate with `isolation: process`. Each tensor takes a file descriptor, and whole pages.
  // Without such a delegate it is Tensor::Allocate. [any-thread]
  Result<Tensor> AllocateTensor(DType dtype, Shape shape) const;

  // For the model's own shapes, or for these: one per input, {} for an input that is not a tensor. Compiles missing
  // partitions.
  Result<PlacementReport> Placement() const;
  Result<PlacementReport> Placement(const std::vector<Shape>& shapes) const;
  // The same with the values and attributes of all nodes.
  Result<PlacedGraph> PlacementWithGraph(const std::vector<Shape>& shapes) const;

  // Runs the model once for each delegate, with the CPU for the rest, and compares each of its partitions with the CPU
  // on the same inputs. In the order of the delegates. An error is one of running the model, or of writing a folder.
  Result<std::vector<PartitionVerification>> Verify(const std::vector<Tensor>& inputs,
                                                    const VerifyOptions& options) const;

  // Placements that were measured, or restored, by shapes of the inputs: the text of the file MODEL.placement.yaml,
  // which is read beside a model under policy `measured`. kFailedPrecondition: there are none.
  Result<std::string> MeasuredPlacements() const;

  // Of the delegates of its context, whose other models count as well. [any-thread]
  HealthReport Health() const;

  // Writes the model as .dpm, with the extents of BuildOptions and without extra outputs.
  Status Save(const std::string& path) const;

  struct State;  // internal to the host

 private:
  std::shared_ptr<State> state_;
};

}  // namespace deputy

#ifndef DEPUTY_BUILDS_LIBRARY
#include "deputy/detail/model.hpp"  // IWYU pragma: export
#endif
