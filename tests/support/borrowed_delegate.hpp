// Delegates of tests as placing and planning take them.
#pragma once

#include <memory>

#include "partition/hosted_delegate.hpp"

namespace deputy::host {

// A record of a delegate that outlives it.
inline HostedDelegate Borrowed(Delegate& delegate) {
  return HostedDelegate(std::shared_ptr<Delegate>(std::shared_ptr<Delegate>(), &delegate));
}

}  // namespace deputy::host
