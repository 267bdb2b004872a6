// The tutorial's delegate as a plugin of its own.
#include "tutorial_delegate.hpp"

DEPUTY_EXPORT_DELEGATE(tutorial::TutorialDelegate, "tutorial", "the delegate of MindSpore Lite's tutorial")
