// What of Deputy's C++ API is visible outside libdeputy.
#pragma once

#define DEPUTY_API __attribute__((visibility("default")))
