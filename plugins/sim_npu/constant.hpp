// Constants of the model in the device's form: converted when a program is compiled, and read from its blob when it is
// restored.
#pragma once

#include <cstdint>
#include <vector>

#include "deputy/sdk/sdk.hpp"

namespace sim_npu {

// The source of constants while layers are made; their nodes determine the order of requests.
class Constants {
 public:
  // From the model.
  Constants() = default;
  // From the output of Write.
  explicit Constants(deputy::sdk::BlobReader& from) : from_(&from) {}

  // The elements of a float32 or float16 constant.
  std::vector<float> Plain(const deputy::sdk::ValueView& value);
  // The same as the device holds them: rounded to halves.
  std::vector<float> Rounded(const deputy::sdk::ValueView& value);

  // All requested constants in the device's form.
  void Write(deputy::sdk::BlobWriter& blob) const;
  // Every constant so far was in the blob and had as many elements as the model's.
  bool ok() const { return ok_; }

 private:
  struct Taken {
    deputy::sdk::ValueView value;  // its elements live as long as the model
    bool rounded;
  };

  deputy::sdk::BlobReader* from_ = nullptr;
  std::vector<Taken> taken_;
  bool ok_ = true;
};

// Can the matrix unit hold these weights as halves? Weights that are not constant are rounded in each run.
deputy::sdk::Verdict CheckWeights(const deputy::sdk::ValueView& value);

}  // namespace sim_npu
