// The version of the library that this header belongs to.
#pragma once

#define DEPUTY_VERSION_MAJOR 0
#define DEPUTY_VERSION_MINOR 2
#define DEPUTY_VERSION_PATCH 0
#define DEPUTY_VERSION "0.2.0"
