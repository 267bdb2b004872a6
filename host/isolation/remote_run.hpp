// Runs of contexts in a worker process.
#pragma once

#include "deputy/abi/delegate.h"
#include "isolation/messages.hpp"

namespace deputy::host {

// deputy_delegate.execute
deputy_status* RemoteExecute(deputy_context* self, const deputy_run_args* args);

// Gives the events of a worker to a sink, which may be null.
void Deliver(const Events& events, const deputy_profile_sink* sink);

}  // namespace deputy::host
