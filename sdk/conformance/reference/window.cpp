#include "reference/window.hpp"

#include <algorithm>

namespace deputy::conformance::reference {

Window Window::Of(const Node& node, const Dims& input, const Dims& kernel, Overhang overhang) {
  const size_t rank = kernel.size();
  Window window;
  window.kernel = kernel;
  window.strides = node.Ints("strides", Dims(rank, 1));
  window.dilations = node.Ints("dilations", Dims(rank, 1));
  const Dims pads = node.Ints("pads", Dims(2 * rank, 0));
  const std::string auto_pad = node.String("auto_pad", "NOTSET");
  const bool ceil = node.Int("ceil_mode", 0) != 0;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t in = input[i + 2], stride = window.strides[i];
    const int64_t reach = (kernel[i] - 1) * window.dilations[i] + 1;
    int64_t before = auto_pad == "NOTSET" ? pads[i] : 0, after = auto_pad == "NOTSET" ? pads[i + rank] : 0;
    int64_t out = 0;
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      out = (in + stride - 1) / stride;
      const int64_t total = std::max<int64_t>(0, (out - 1) * stride + reach - in);
      before = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      after = total - before;
    } else {
      const int64_t room = in + before + after - reach;
      // Rounded towards zero, which is up for a window that is too large.
      out = room < 0 && overhang == Overhang::kNone ? 0 : std::max<int64_t>(0, room / stride + 1);
      if (ceil && room >= 0) {
        out = (room + stride - 1) / stride + 1;
        // A window must not begin behind the input and the padding in front of it.
        if ((out - 1) * stride >= in + before) --out;
      }
    }
    window.before.push_back(before);
    window.after.push_back(after);
    window.out.push_back(out);
  }
  return window;
}

}  // namespace deputy::conformance::reference
