#include "cli/inputs/picture_input.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "cli/command.hpp"
#include "cli/inputs/element.hpp"
#include "cli/inputs/model_inputs.hpp"
#include "cli/report/shape_text.hpp"

namespace deputy::cli {
namespace {

constexpr std::array kLayouts = {"NCHW", "NHWC", "CHW", "HWC"};
constexpr size_t kSamples = 256;

Status BadInput(const std::string& why) { return Status(StatusCode::kInvalidArgument, why); }

// The value of a flag for this input: the last "INPUT=VALUE" that names it, otherwise the last "VALUE".
std::optional<std::string> ValueFor(const std::vector<std::string>& values, const std::string& input) {
  std::optional<std::string> of_all, of_input;
  for (const std::string& value : values) {
    const size_t equals = value.rfind('=');
    if (equals == std::string::npos) {
      of_all = value;
    } else if (value.compare(0, equals, input) == 0) {
      of_input = value.substr(equals + 1);
    }
  }
  return of_input ? of_input : of_all;
}

// "0.5", "-1e-3"; false if the text is something else.
bool ReadNumber(std::string_view text, double& number) {
  const std::from_chars_result read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() && std::isfinite(number);
}

// "123.7" or "123.7,116.3,103.5"; each may be a fraction, "1/255".
Result<std::vector<double>> ReadNumbers(const std::string& flag, std::string_view text) {
  std::vector<double> numbers;
  bool valid = true, more = true;
  for (std::string_view rest = text; valid && more;) {
    const size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const size_t slash = item.find('/');
    double number = 0, divisor = 1;
    valid = ReadNumber(item.substr(0, slash), number) &&
            (slash == std::string_view::npos || ReadNumber(item.substr(slash + 1), divisor)) && divisor != 0;
    numbers.push_back(number / divisor);
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
  }
  if (valid && (numbers.size() == 1 || numbers.size() == 3)) return numbers;
  return BadInput(fmt::format("'{}' is not one number or three", text))
      .At(flag)
      .Advise("write them as in 127.5, 1/255 or 123.7,116.3,103.5");
}

// The axes of a layout, -1 for one that it does not have.
struct Axes {
  int batch = -1, channels = -1, height = -1, width = -1;
};

Axes AxesOf(const std::string& layout) {
  const auto axis = [&](char letter) {
    const size_t at = layout.find(letter);
    return at == std::string::npos ? -1 : static_cast<int>(at);
  };
  return {axis('N'), axis('C'), axis('H'), axis('W')};
}

int64_t& ExtentOf(Shape& shape, int axis) { return shape[static_cast<size_t>(axis)]; }

bool CanHoldSamples(DType dtype) { return IsNumeric(dtype) && SizeOf(dtype) != 0 && dtype != DType::kBool; }

// (sample - mean) * scale of every sample and channel, as elements of the tensor's type: `kSamples` for each channel.
Result<Tensor> ElementTable(const TensorInfo& info, size_t channels, const PictureSettings& settings) {
  for (const auto& [flag, values] : {std::pair("--mean", &settings.mean), std::pair("--scale", &settings.scale)})
    if (values->size() != 1 && values->size() != channels)
      return BadInput(fmt::format("{} numbers for the {} channel{} of input '{}'", values->size(), channels,
                                  channels == 1 ? "" : "s", info.name))
          .At(flag);
  DEPUTY_ASSIGN_OR_RETURN(
      Tensor table, Tensor::Allocate(info.dtype, {static_cast<int64_t>(channels), static_cast<int64_t>(kSamples)}));
  const auto [low, high] = RangeOf(info.dtype);
  for (size_t c = 0; c < channels; ++c) {
    const double mean = settings.mean[settings.mean.size() == 1 ? 0 : c];
    const double scale = settings.scale[settings.scale.size() == 1 ? 0 : c];
    for (size_t sample = 0; sample < kSamples; ++sample) {
      double value = (static_cast<double>(sample) - mean) * scale;
      const bool rounds = !IsFloating(info.dtype);
      if (rounds && value > low - 0.5 && value < high + 0.5) value = std::clamp(std::nearbyint(value), low, high);
      const bool fits = value >= low && value <= high;
      if (fits) SetElement(table, static_cast<int64_t>(c * kSamples + sample), value);
      if (!fits || !std::isfinite(ElementAt(table, static_cast<int64_t>(c * kSamples + sample))))
        return BadInput(fmt::format("input '{}' is {}, which cannot hold ({} - mean) * scale = {}", info.name,
                                    NameOf(info.dtype), sample, value))
            .Advise("give other values for --mean and --scale, such as --mean 128 for int8");
    }
  }
  return table;
}

// Writes one picture of the tensor's size.
void Fill(const PixelImage& image, const Tensor& table, const Axes& axes, const PictureSettings& settings,
          Tensor& tensor, size_t index) {
  const size_t size = SizeOf(table.dtype()), channels = image.channels, pixels = image.width * image.height;
  const bool channels_first = axes.channels < axes.height;
  const auto* const elements = static_cast<const uint8_t*>(table.data());
  auto* const to = static_cast<uint8_t*>(tensor.mutable_data()) + index * pixels * channels * size;
  for (size_t c = 0; c < channels; ++c) {
    const size_t from = settings.bgr ? channels - 1 - c : c;
    for (size_t i = 0; i < pixels; ++i) {
      const size_t sample = image.values[i * channels + from];
      const size_t at = channels_first ? c * pixels + i : i * channels + c;
      std::memcpy(to + at * size, elements + (c * kSamples + sample) * size, size);
    }
  }
}

// The open extents from the pictures. `axes` fit the shape.
Status CloseExtents(const TensorInfo& info, const Axes& axes, const std::vector<PixelImage>& images, Shape& shape) {
  const auto count = static_cast<int64_t>(images.size());
  if (axes.batch >= 0 && ExtentOf(shape, axes.batch) < 0) ExtentOf(shape, axes.batch) = count;
  const int64_t batch = axes.batch < 0 ? 1 : ExtentOf(shape, axes.batch);
  if (batch != count) {
    Shape of_pictures = shape;
    if (axes.batch >= 0) ExtentOf(of_pictures, axes.batch) = count;
    Status refused = BadInput(fmt::format("input '{}' takes {} pictures, {} given", info.name, batch, count));
    if (axes.batch < 0) return std::move(refused).Advise("give one --input");
    const bool is_closed =
        std::all_of(of_pictures.begin(), of_pictures.end(), [](int64_t extent) { return extent >= 0; });
    return std::move(refused).Advise(fmt::format("repeat --input {}=FILE, or change the batch with --shape {}={}",
                                                 info.name, info.name, is_closed ? TypedShape(of_pictures) : "..."));
  }
  const bool own_size = ExtentOf(shape, axes.height) < 0 || ExtentOf(shape, axes.width) < 0;
  for (const PixelImage& image : images)
    if (own_size && (image.width != images[0].width || image.height != images[0].height))
      return BadInput(fmt::format("the pictures of input '{}' have different sizes, {}x{} and {}x{}", info.name,
                                  images[0].width, images[0].height, image.width, image.height))
          .Advise(fmt::format("give the height and width of the input with --shape {}=...", info.name));
  if (ExtentOf(shape, axes.height) < 0) ExtentOf(shape, axes.height) = static_cast<int64_t>(images[0].height);
  if (ExtentOf(shape, axes.width) < 0) ExtentOf(shape, axes.width) = static_cast<int64_t>(images[0].width);
  if (ExtentOf(shape, axes.channels) < 0) ExtentOf(shape, axes.channels) = static_cast<int64_t>(images[0].channels);
  const int64_t channels = ExtentOf(shape, axes.channels);
  if (channels != 1 && channels != 3)
    return BadInput(fmt::format("input '{}' has {} channels, a picture has 1 or 3", info.name, channels))
        .Advise("another --layout may fit");
  const int64_t height = ExtentOf(shape, axes.height), width = ExtentOf(shape, axes.width);
  constexpr auto kMostSide = static_cast<int64_t>(kMostPictureSide),
                 kMostPixels = static_cast<int64_t>(kMostPicturePixels);
  if (height < 1 || width < 1 || height > kMostSide || width > kMostSide || height * width > kMostPixels)
    return BadInput(fmt::format("a picture cannot become {}x{} pixels for input '{}'", width, height, info.name));
  return {};
}

std::string OriginOf(const std::vector<std::string>& files, const std::vector<PixelImage>& images, size_t width,
                     size_t height, PictureFit fit) {
  std::string origin = files[0];
  if (images[0].width != width || images[0].height != height)
    origin += fmt::format(", {}x{} {} to {}x{}", images[0].width, images[0].height,
                          fit == PictureFit::kStretch     ? "stretched"
                          : fit == PictureFit::kLetterbox ? "fit with bars"
                                                          : "cropped",
                          width, height);
  if (files.size() > 1) origin += fmt::format(" and {} more", files.size() - 1);
  return origin;
}

}  // namespace

void PictureOptions::AddTo(CLI::App& syntax) {
  AddRepeated(syntax, "--layout", layout, "[INPUT=]NCHW",
              "Layout of a picture's tensor: NCHW, NHWC, CHW or HWC [default: from the input's shape]");
  AddRepeated(syntax, "--resize", resize, "[INPUT=]MODE",
              "How a picture of another size fits the input: stretch, letterbox or crop [default: stretch]");
  AddRepeated(syntax, "--mean", mean, "[INPUT=]M[,M,M]",
              "Subtracted from a picture's samples of 0 to 255, for each channel [default: 0]");
  AddRepeated(syntax, "--scale", scale, "[INPUT=]S[,S,S]", "Factor after --mean, such as 1/255 [default: 1]");
  AddRepeated(syntax, "--channels", channels, "[INPUT=]rgb|bgr", "Order of a picture's channels [default: rgb]");
}

Status PictureOptions::Check(const std::vector<TensorInfo>& inputs,
                             const std::vector<std::vector<std::string>>& pictures) const {
  const bool any = std::any_of(pictures.begin(), pictures.end(), [](const auto& files) { return !files.empty(); });
  for (const auto& [flag, values] :
       {std::pair("--layout", &layout), std::pair("--resize", &resize), std::pair("--mean", &mean),
        std::pair("--scale", &scale), std::pair("--channels", &channels)})
    for (const std::string& value : *values) {
      const size_t equals = value.rfind('=');
      bool applies = any;
      if (equals != std::string::npos) {
        Result<size_t> index = FindByName("input", value.substr(0, equals), inputs);
        if (!index.ok()) return std::move(index).status().At(fmt::format("{} {}", flag, value));
        applies = !pictures[*index].empty();
      }
      if (!applies) return BadInput("describes a picture, and none is given").At(fmt::format("{} {}", flag, value));
    }
  return {};
}

Result<PictureSettings> SettingsFor(const PictureOptions& options, const std::string& input) {
  PictureSettings settings;
  if (const std::optional<std::string> layout = ValueFor(options.layout, input)) {
    if (std::find(kLayouts.begin(), kLayouts.end(), *layout) == kLayouts.end())
      return BadInput(fmt::format("'{}' is not a layout", *layout))
          .At("--layout")
          .Advise("one of NCHW, NHWC, CHW, HWC");
    settings.layout = *layout;
  }
  if (const std::optional<std::string> mode = ValueFor(options.resize, input)) {
    if (*mode != "stretch" && *mode != "letterbox" && *mode != "crop")
      return BadInput(fmt::format("'{}' is not a mode", *mode))
          .At("--resize")
          .Advise("one of stretch, letterbox, crop");
    settings.fit = *mode == "stretch" ? PictureFit::kStretch
                   : *mode == "crop"  ? PictureFit::kCrop
                                      : PictureFit::kLetterbox;
  }
  if (const std::optional<std::string> mean = ValueFor(options.mean, input)) {
    DEPUTY_ASSIGN_OR_RETURN(settings.mean, ReadNumbers("--mean", *mean));
  }
  if (const std::optional<std::string> scale = ValueFor(options.scale, input)) {
    DEPUTY_ASSIGN_OR_RETURN(settings.scale, ReadNumbers("--scale", *scale));
  }
  if (const std::optional<std::string> order = ValueFor(options.channels, input)) {
    if (*order != "rgb" && *order != "bgr")
      return BadInput(fmt::format("'{}' is not an order of channels", *order)).At("--channels").Advise("rgb or bgr");
    settings.bgr = *order == "bgr";
  }
  return settings;
}

Result<std::string> DeduceLayout(const TensorInfo& info, const Shape& shape) {
  const size_t rank = shape.size();
  if (rank != 3 && rank != 4)
    return BadInput(fmt::format("input '{}' is {}, which is not the shape of a picture", info.name, TypeText(info)))
        .Advise("a picture needs 3 dimensions (CHW, HWC) or 4 (NCHW, NHWC)");
  const auto may_be_channels = [](int64_t extent) { return extent == 1 || extent == 3; };
  const bool first = may_be_channels(shape[rank - 3]), last = may_be_channels(shape[rank - 1]);
  if (first == last)
    return BadInput(fmt::format("the shape of input '{}', {}, does not show which dimension has the channels",
                                info.name, TypeText(info)))
        .Advise(rank == 4 ? "give --layout NCHW or --layout NHWC" : "give --layout CHW or --layout HWC");
  return std::string(rank == 4 ? "N" : "") + (first ? "CHW" : "HWC");
}

Result<PictureTensor> MakePictureTensor(const TensorInfo& info, const std::optional<Shape>& shape,
                                        const std::vector<std::string>& files, const PictureSettings& settings) {
  if (info.kind != ValueKind::kTensor || !CanHoldSamples(info.dtype))
    return BadInput(fmt::format("input '{}' is {}, which cannot hold a picture", info.name, TypeText(info)));
  std::string layout = settings.layout;
  if (layout.empty() && !shape)
    return BadInput(fmt::format("input '{}' has any rank", info.name)).Advise("give --layout, such as NCHW");
  if (layout.empty()) {
    DEPUTY_ASSIGN_OR_RETURN(layout, DeduceLayout(info, *shape));
  }
  Shape closed = shape ? *shape : Shape(layout.size(), -1);
  if (closed.size() != layout.size())
    return BadInput(fmt::format("layout {} has {} dimensions, input '{}' is {}", layout, layout.size(), info.name,
                                TypeText(info)))
        .At("--layout");
  const Axes axes = AxesOf(layout);
  std::vector<PixelImage> images;
  for (const std::string& file : files) {
    DEPUTY_ASSIGN_OR_RETURN(PixelImage image, ReadPicture(file));
    images.push_back(std::move(image));
  }
  DEPUTY_RETURN_IF_ERROR(CloseExtents(info, axes, images, closed));
  const auto channels = static_cast<size_t>(ExtentOf(closed, axes.channels));
  const auto width = static_cast<size_t>(ExtentOf(closed, axes.width)),
             height = static_cast<size_t>(ExtentOf(closed, axes.height));
  DEPUTY_ASSIGN_OR_RETURN(const Tensor table, ElementTable(info, channels, settings));
  PictureTensor made;
  DEPUTY_ASSIGN_OR_RETURN(made.tensor, Tensor::Allocate(info.dtype, closed));
  for (size_t i = 0; i < images.size(); ++i)
    Fill(Resized(WithChannels(images[i], channels), width, height, settings.fit), table, axes, settings, made.tensor,
         i);
  made.origin = OriginOf(files, images, width, height, settings.fit);
  return made;
}

}  // namespace deputy::cli
