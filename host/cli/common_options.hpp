// The options that stand before and after the name of every command: -q, -v and --color.
#pragma once

#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace deputy::cli {

class CommonOptions {
 public:
  // Adds them to the program and to all of its commands.
  void AddTo(CLI::App& app);
  // Empty, or the mistake in them. Else they are in effect.
  std::string Apply() const;

 private:
  bool quiet_ = false, verbose_ = false;
  std::string colour_ = "auto";
};

}  // namespace deputy::cli
