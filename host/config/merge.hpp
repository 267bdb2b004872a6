// Layers into one tree: mappings key by key, delegates by name, everything else replaced whole by the later layer.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/reader.hpp"

namespace deputy::host {

// Gives the options of each delegate in `layer` dotted names instead of nested mappings, so that {misbehave: {stage:
// run}} and "misbehave.stage: run" are the same option and merge as such. Two spellings of one option within one layer
// are a problem.
void FlattenOptions(YamlNode& layer, Problems& problems);

enum class NewDelegates {
  kWelcome,        // a file lists them
  kWithPluginOnly  // --set: an unknown name is a typing error, unless it says which plugin it is for
};

// For a name of an entry that no layer has: the layer to add, as the end of a message, or nothing.
using Elsewhere = std::function<std::string(const std::string& name)>;

// Adds to `plugins: {paths}` of a layer, behind its own, those of the layers below but for the built-in default, so
// that packages which bring a folder each do not exclude each other; an empty list stays one, and removes those below.
void AddLowerPaths(const YamlNode& merged, YamlNode& layer);

// Merges `layer` over `merged`. The order of the delegates that `layer` lists holds; a new one that precedes none of
// the others goes last. An explicit empty list of delegates removes those of lower layers: the CPU alone.
void MergeLayer(YamlNode& merged, YamlNode layer, NewDelegates new_delegates, Problems& problems,
                const Elsewhere& elsewhere = {});

// Names in `merged`, in order.
std::vector<std::string> DelegateNames(const YamlNode& merged);

}  // namespace deputy::host
