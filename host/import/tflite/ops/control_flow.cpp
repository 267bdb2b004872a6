// Operators that call subgraphs (the bodies of If and Loop), and resource variables.
#include <algorithm>
#include <utility>

#include "import/tflite/operators.hpp"

namespace deputy::host::tflite_import {
namespace {

// Rounds of type inference of a loop's body: each may find more extents that an iteration changes.
constexpr size_t kMaxInferenceRounds = 8;

// The arguments of a subgraph, from input `first` on: values as they are stored, or variables.
Result<std::vector<Argument>> ArgumentsFrom(const Operation& op, size_t first) {
  std::vector<Argument> arguments;
  for (size_t i = first; i < op.input_count(); ++i) {
    if (!op.has_input(i)) return Error(StatusCode::kModel, "input {} is missing", i);
    DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, op.tensors.Info(op.input(i)));
    Argument& argument = arguments.emplace_back();
    if (info->is_resource) {
      DEPUTY_ASSIGN_OR_RETURN(argument.variable, op.tensors.VariableOf(op.input(i)));
    } else {
      DEPUTY_ASSIGN_OR_RETURN(argument.value, op.tensors.Stored(op.input(i)));
    }
  }
  return arguments;
}

Result<ValueId> OneBool(Emitter& emit, ValueId id) {
  const ValueType type = emit.TypeOf(id);
  if (type.dtype != DType::kBool)
    return Error(StatusCode::kModel, "the condition has dtype {}, expected bool", NameOf(type.dtype));
  if (type.ranked && type.dims.empty()) return id;
  DEPUTY_ASSIGN_OR_RETURN(const ValueId shape, emit.Ints({}));
  return emit.Emit(OpKind::kReshape, {id, shape});
}

Region NewRegion(const char* name) {
  Region region;
  region.name = name;
  region.body = std::make_shared<Graph>();
  return region;
}

// A branch of an If: its region, and its scope.
struct Branch {
  Branch(const Operation& op, const char* region_name) : region(NewRegion(region_name)), scope(op.scope, region) {}

  Region region;
  Scope scope;

  Status Read(const Operation& op, int64_t subgraph, std::span<const Argument> outer) {
    std::vector<Argument> arguments(outer.begin(), outer.end());
    for (Argument& argument : arguments)
      if (!argument.variable) argument.value = scope.Capture(argument.value);
    const std::string prefix = op.emit.operator_name() + "/" + region.name + "/";
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<Argument> results, op.subgraphs.Call(subgraph, scope, arguments, prefix));
    if (results.size() != op.output_count())
      return Error(StatusCode::kModel, "has {} outputs, but subgraph {} returns {}", op.output_count(), subgraph,
                   results.size());
    for (const Argument& result : results) {
      if (result.variable) return Error(StatusCode::kNotSupported, "branches that return variables are not supported");
      region.body->outputs.push_back(result.value);
    }
    return {};
  }
};

// A loop's body, written for given types of the values at the start of an iteration.
struct LoopBody {
  LoopBody(const Operation& op) : region(NewRegion("body")), scope(op.scope, region) {}

  Region region;
  Scope scope;
  std::vector<ValueType> states;  // types after the iteration

  // `outer` are the loop's initial values; tensors among them have these types in every iteration.
  Status Read(const Operation& op, const fb::WhileOptions& options, std::span<const Argument> outer,
              std::span<const ValueType> entries) {
    Graph& graph = *region.body;
    graph.inputs = {graph.AddValue("round", {DType::kInt64, true, {}}),
                    graph.AddValue("condition", {DType::kBool, true, {}})};
    std::vector<Argument> arguments(outer.begin(), outer.end());
    size_t next = 0;
    for (Argument& argument : arguments) {
      if (argument.variable) continue;
      argument.value = graph.AddValue("state " + std::to_string(next), entries[next]);
      graph.inputs.push_back(argument.value);
      ++next;
    }
    const std::string prefix = op.emit.operator_name() + "/";
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<Argument> results,
                            op.subgraphs.Call(options.body_subgraph(), scope, arguments, prefix + "body/"));
    if (results.size() != arguments.size())
      return Error(StatusCode::kModel, "the body returns {} outputs, expected {}", results.size(), arguments.size());
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<Argument> condition,
                            op.subgraphs.Call(options.cond_subgraph(), scope, results, prefix + "cond/"));
    if (condition.size() != 1 || condition[0].variable)
      return Error(StatusCode::kModel, "the condition subgraph must return one tensor, got {} outputs",
                   condition.size());
    DEPUTY_ASSIGN_OR_RETURN(const ValueId continues, OneBool(scope.emit, condition[0].value));
    graph.outputs = {continues};
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].variable != arguments[i].variable)
        return Error(StatusCode::kNotSupported, "a body that exchanges variables is not supported");
      if (results[i].variable) continue;
      graph.outputs.push_back(results[i].value);
      states.push_back(scope.emit.TypeOf(results[i].value));
    }
    return {};
  }
};

bool Same(const ValueType& a, const ValueType& b) { return a.ranked == b.ranked && a.dims == b.dims; }

// The types that hold before and after every iteration; true if they are equal to `entries`.
Result<bool> Widen(std::vector<ValueType>& entries, std::span<const ValueType> after) {
  bool same = true;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].dtype != after[i].dtype)
      return Error(StatusCode::kModel, "the body returns dtype {} for an input of dtype {}", NameOf(after[i].dtype),
                   NameOf(entries[i].dtype));
    ValueType common = CommonType(entries[i], after[i]);
    same = same && Same(common, entries[i]);
    entries[i] = std::move(common);
  }
  return same;
}

Status Bind(const Operation& op, size_t output, ValueId id) { return op.Set(id, true, Layout::kFile, output); }

}  // namespace

Status If(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::IfOptions>());
  DEPUTY_ASSIGN_OR_RETURN(const ValueId given, op.Operand(0, true));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId condition, OneBool(op.emit, given));
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<Argument> arguments, ArgumentsFrom(op, 1));
  Branch yes(op, "then_branch"), no(op, "else_branch");
  DEPUTY_RETURN_IF_ERROR(yes.Read(op, options->then_subgraph(), arguments));
  DEPUTY_RETURN_IF_ERROR(no.Read(op, options->else_subgraph(), arguments));
  std::set<VariableId> assigned;
  for (const Scope* scope : {&yes.scope, &no.scope})
    for (const auto& [variable, value] : scope->Assigned()) assigned.insert(variable);
  for (const VariableId variable : assigned)
    for (Branch* branch : {&yes, &no}) {
      DEPUTY_ASSIGN_OR_RETURN(const ValueId last, branch->scope.Read(variable));
      branch->region.body->outputs.push_back(last);
    }
  std::vector<ValueType> types;
  for (size_t i = 0; i < yes.region.body->outputs.size(); ++i) {
    const ValueType& first = yes.scope.emit.TypeOf(yes.region.body->outputs[i]);
    const ValueType& second = no.scope.emit.TypeOf(no.region.body->outputs[i]);
    if (first.dtype != second.dtype)
      return Error(StatusCode::kModel, "the branches return different dtypes: {} and {}", NameOf(first.dtype),
                   NameOf(second.dtype));
    types.push_back(CommonType(first, second));
  }
  if (types.empty()) return {};
  std::vector<Region> regions{std::move(yes.region), std::move(no.region)};
  const std::vector<ValueId> made = op.emit.EmitRegions(OpKind::kIf, {condition}, std::move(regions), types);
  for (size_t i = 0; i < op.output_count(); ++i) DEPUTY_RETURN_IF_ERROR(Bind(op, i, made[i]));
  size_t next = op.output_count();
  for (const VariableId variable : assigned) op.scope.Assign(variable, made[next++]);
  return {};
}

Status While(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::WhileOptions>());
  if (op.output_count() != op.input_count())
    return Error(StatusCode::kModel, "has {} outputs for {} inputs", op.output_count(), op.input_count());
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<Argument> arguments, ArgumentsFrom(op, 0));
  DEPUTY_ASSIGN_OR_RETURN(
      const std::vector<Argument> first_condition,
      op.subgraphs.Call(options->cond_subgraph(), op.scope, arguments, op.emit.operator_name() + "/first/"));
  if (first_condition.size() != 1 || first_condition[0].variable)
    return Error(StatusCode::kModel, "the condition subgraph must return one tensor, got {} outputs",
                 first_condition.size());
  DEPUTY_ASSIGN_OR_RETURN(const ValueId condition, OneBool(op.emit, first_condition[0].value));
  std::vector<ValueId> inputs{kNone, condition};
  std::vector<ValueType> entries;
  for (const Argument& argument : arguments)
    if (!argument.variable) {
      inputs.push_back(argument.value);
      entries.push_back(op.emit.TypeOf(argument.value));
    }
  // A body is written for the types of the initial values. If an iteration changes them, it is written again for types
  // that hold before and after.
  std::optional<LoopBody> body;
  for (size_t round = 0;; ++round) {
    body.emplace(op);
    DEPUTY_RETURN_IF_ERROR(body->Read(op, *options, arguments, entries));
    DEPUTY_ASSIGN_OR_RETURN(const bool same, Widen(entries, body->states));
    if (same) break;
    if (round == kMaxInferenceRounds)
      return Error(StatusCode::kNotSupported, "the shapes in the body do not converge, which is not supported");
  }
  const std::vector<std::pair<VariableId, ValueId>> assigned = body->scope.Assigned();
  for (const auto& [variable, last] : assigned) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId before, body->scope.TakeAsInput(variable));
    const ValueType type = op.emit.TypeOf(before);
    if (type.dtype != body->scope.emit.TypeOf(last).dtype || !Same(type, body->scope.emit.TypeOf(last)))
      return Error(StatusCode::kNotSupported, "a body that changes the shape or dtype of a variable is not supported");
    inputs.push_back(before);
    entries.push_back(type);
    body->region.body->outputs.push_back(last);
  }
  if (entries.empty()) return Error(StatusCode::kNotSupported, "a loop without outputs is not supported");
  std::vector<Region> regions{std::move(body->region)};
  const std::vector<ValueId> made = op.emit.EmitRegions(OpKind::kLoop, std::move(inputs), std::move(regions), entries);
  size_t next = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].variable) {
      DEPUTY_RETURN_IF_ERROR(op.tensors.SetVariable(op.output(i), *arguments[i].variable));
    } else {
      DEPUTY_RETURN_IF_ERROR(Bind(op, i, made[next++]));
    }
  }
  for (const auto& [variable, last] : assigned) op.scope.Assign(variable, made[next++]);
  return {};
}

Status CallOnce(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::CallOnceOptions>());
  return op.subgraphs.RunOnce(options->init_subgraph(), op.scope, op.emit.operator_name() + "/");
}

Status VarHandle(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::VarHandleOptions>());
  DEPUTY_ASSIGN_OR_RETURN(const std::string container, op.Text(options->container()));
  DEPUTY_ASSIGN_OR_RETURN(const std::string name, op.Text(options->shared_name()));
  return op.tensors.SetVariable(op.output(), op.scope.variables().Resource(container, name));
}

Status ReadVariable(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const VariableId variable, op.tensors.VariableOf(op.input(0)));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId value, op.scope.Read(variable));
  return op.Set(value, true);
}

Status AssignVariable(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const VariableId variable, op.tensors.VariableOf(op.input(0)));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId value, op.tensors.Stored(op.input(1)));
  op.scope.Assign(variable, value);
  return {};
}

}  // namespace deputy::host::tflite_import
