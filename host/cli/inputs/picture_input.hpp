// Pictures as inputs of a model: the flags that describe the tensor, and the tensor.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/inputs/picture_resize.hpp"
#include "deputy/model.hpp"
#include "deputy/status.hpp"
#include "deputy/tensor.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace deputy::cli {

// --layout, --resize, --mean, --scale and --channels. Each may be repeated: "VALUE" is for all pictures, "INPUT=VALUE"
// for those of one input.
struct PictureOptions {
  std::vector<std::string> layout, resize, mean, scale, channels;

  void AddTo(CLI::App& syntax);
  // Whether every flag that was given applies to a picture. `pictures`: the files for each input.
  Status Check(const std::vector<TensorInfo>& inputs, const std::vector<std::vector<std::string>>& pictures) const;
};

// The flags for one input.
struct PictureSettings {
  std::string layout;  // "NCHW", "NHWC", "CHW" or "HWC"; empty: to be deduced
  PictureFit fit = PictureFit::kStretch;
  std::vector<double> mean = {0}, scale = {1};  // one number, or one for each channel of the tensor
  bool bgr = false;
};
Result<PictureSettings> SettingsFor(const PictureOptions& options, const std::string& input);

// The layout of an input of this shape, -1 for dynamic extents: the extent of the channels is 1 or 3, and no other
// extent that could be theirs is. kInvalidArgument, naming the flag, where this does not decide.
Result<std::string> DeduceLayout(const TensorInfo& info, const Shape& shape);

// A tensor of the pictures in these files, and their origin for messages.
struct PictureTensor {
  Tensor tensor;
  std::string origin;
};
// Every element is (sample - mean) * scale, with samples from 0 to 255, rounded to the nearest for integers. `shape` is
// that of the input as far as it is known: open extents become those of the first picture, the batch the number of
// pictures. Errors name the flag that helps.
Result<PictureTensor> MakePictureTensor(const TensorInfo& info, const std::optional<Shape>& shape,
                                        const std::vector<std::string>& files, const PictureSettings& settings);

}  // namespace deputy::cli
