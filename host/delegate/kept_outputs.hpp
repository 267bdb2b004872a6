// Whether a run must leave alone what its outputs hold as far as the delegate does not write them. In this process it
// always does; a delegate of another one writes to memory of its own, which is given that content where it is wanted.
#pragma once

namespace deputy::host {

// While it lives, runs of this thread keep what their outputs hold: for checks that look for elements which a delegate
// leaves out.
class KeptOutputs {
 public:
  KeptOutputs() : before_(wanted_) { wanted_ = true; }
  ~KeptOutputs() { wanted_ = before_; }
  KeptOutputs(const KeptOutputs&) = delete;
  KeptOutputs& operator=(const KeptOutputs&) = delete;

  static bool AreWanted() { return wanted_; }

 private:
  static inline thread_local bool wanted_ = false;
  const bool before_;
};

}  // namespace deputy::host
