// Marks the declarations of Deputy's C++ API that are visible outside libdeputy.
#pragma once

#define DEPUTY_API __attribute__((visibility("default")))
