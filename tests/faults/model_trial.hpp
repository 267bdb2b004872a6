// A model, damaged or edited, through what the commands run, partition, verify, convert and compare do with it, in this
// process: each step ends with a result or with an error that has a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "deputy/deputy.hpp"

namespace deputy::faults {

using Bytes = std::vector<char>;

// The steps beside building the model.
struct Through {
  bool run = true, partition = false, verify = false, convert = false, compare = false;
};

// kBuilt: the model was built, but has inputs that are no tensors or too large.
enum class Outcome { kRefused, kBuilt, kRan, kFailed, kWrong };

// Of all models so far.
struct Counts {
  size_t refused = 0, built = 0, ran = 0, failed = 0, wrong = 0;  // by Outcome
  size_t placed = 0;                                              // had nodes on a delegate
  size_t verified = 0, unverified = 0;                            // partitions that agree with the CPU, and that do not
  size_t converted = 0;
  size_t compared = 0, different = 0;  // runs that agree with the CPU's, and that do not, in results or by an error
};

class ModelTrial {
 public:
  // Models go to `context` first; the CPU alone is what they are compared with. `folder` takes files while they are
  // read again. Dynamic dimensions have an extent of 1, or that of their symbol in `extents`.
  ModelTrial(const Context& context, const Context& cpu, const Through& through,
             const std::map<std::string, int64_t>& extents, std::string folder);

  Outcome Try(const Bytes& file, Counts& counts);
  // Runs it, and nothing else.
  Outcome TryBuilt(const Model& model) const;

 private:
  Result<std::vector<Tensor>> InputsOf(const Model& model) const;
  Outcome Run(const Model& model, const std::vector<Tensor>& inputs, std::vector<Tensor>* outputs) const;
  Outcome Place(const Model& model, const std::vector<Tensor>& inputs, Counts& counts) const;
  Outcome Verify(const Model& model, const std::vector<Tensor>& inputs, Counts& counts) const;
  Outcome Convert(const Model& model, const std::vector<Tensor>& inputs, Counts& counts) const;
  Outcome Compare(const Bytes& file, const std::vector<Tensor>& inputs, Outcome ran, const std::vector<Tensor>& outputs,
                  Counts& counts) const;

  const Context &context_, &cpu_;
  Through through_;
  std::map<std::string, int64_t> extents_;
  std::string folder_;
};

// kWrong, with a line on stderr, for an error without a message.
Outcome Refused(const Status& status);

}  // namespace deputy::faults
