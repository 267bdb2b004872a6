#include "capi/field.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string_view>

#include "capi/error.hpp"
#include "capi/tensors.hpp"
#include "deputy/dtype.hpp"

namespace deputy::host::capi {
namespace {

// The length of the well-formed UTF-8 sequence at the beginning of `text`; 0: there is none.
size_t SequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xc2 && first < 0xe0   ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const uint8_t second = byte(1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;  // overlong, surrogates
  if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
  return length;
}

void AppendText(std::string_view text, std::string& json) {
  json += '"';
  while (!text.empty()) {
    const char first = text[0];
    const size_t length = SequenceLength(text);
    if (length == 0) {
      json += "\xef\xbf\xbd";
    } else if (first == '"' || first == '\\') {
      json += '\\';
      json += first;
    } else if (static_cast<uint8_t>(first) < 0x20 || first == 0x7f) {
      fmt::format_to(std::back_inserter(json), "\\u{:04x}", static_cast<uint8_t>(first));
    } else {
      json += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  json += '"';
}

}  // namespace

void AppendJson(const DeputyField& field, std::string& json) {
  const auto append_items = [&](char begin, char end, bool named) {
    json += begin;
    for (size_t i = 0; i < field.items.size(); ++i) {
      if (i != 0) json += ", ";
      if (named) {
        AppendText(field.items[i].name, json);
        json += ": ";
      }
      AppendJson(field.items[i], json);
    }
    json += end;
  };
  switch (field.kind) {
    case kDeputyBool: json += field.integer != 0 ? "true" : "false"; break;
    case kDeputyInteger:
      json += field.is_unsigned ? fmt::to_string(static_cast<uint64_t>(field.integer)) : fmt::to_string(field.integer);
      break;
    case kDeputyNumber: json += std::isfinite(field.number) ? fmt::to_string(field.number) : "null"; break;
    case kDeputyText: AppendText(field.text, json); break;
    case kDeputyList: append_items('[', ']', false); break;
    case kDeputyMap: append_items('{', '}', true); break;
    case kDeputyArray: {
      fmt::format_to(std::back_inserter(json), "{{\"dtype\": \"{}\", \"shape\": [{}]}}", NameOf(field.tensor->dtype()),
                     fmt::join(field.tensor->shape(), ", "));
      break;
    }
    default: json += "null";
  }
}

}  // namespace deputy::host::capi

using deputy::host::capi::AppendJson;

const DeputyField* DeputyReportRoot(const DeputyReport* report) { return report == nullptr ? nullptr : &report->root; }

const char* DeputyReportJson(const DeputyReport* report) {
  if (report == nullptr) return "null";
  try {
    std::call_once(report->once, [report] { AppendJson(report->root, report->json); });
  } catch (const std::bad_alloc&) {
    return "null";
  }
  return report->json.c_str();
}

void DeputyReportFree(DeputyReport* report) { delete report; }

DeputyFieldKind DeputyFieldKindOf(const DeputyField* field) { return field == nullptr ? kDeputyNone : field->kind; }
int DeputyFieldBool(const DeputyField* field) {
  return field != nullptr && field->kind == kDeputyBool && field->integer != 0;
}
int64_t DeputyFieldInteger(const DeputyField* field) {
  return field != nullptr && field->kind == kDeputyInteger ? field->integer : 0;
}
double DeputyFieldNumber(const DeputyField* field) {
  if (field == nullptr) return 0;
  if (field->kind == kDeputyNumber) return field->number;
  if (field->kind != kDeputyInteger) return 0;
  return field->is_unsigned ? static_cast<double>(static_cast<uint64_t>(field->integer))
                            : static_cast<double>(field->integer);
}
const char* DeputyFieldText(const DeputyField* field, size_t* size) {
  const bool is_text = field != nullptr && field->kind == kDeputyText;
  if (size != nullptr) *size = is_text ? field->text.size() : 0;
  return is_text ? field->text.c_str() : "";
}
int DeputyFieldArray(const DeputyField* field, DeputyTensor* tensor) {
  if (field == nullptr || field->kind != kDeputyArray || tensor == nullptr) return 0;
  *tensor = deputy::host::capi::View(*field->tensor);
  return 1;
}
size_t DeputyFieldCount(const DeputyField* field) { return field == nullptr ? 0 : field->items.size(); }
const DeputyField* DeputyFieldAt(const DeputyField* field, size_t index) {
  return index < DeputyFieldCount(field) ? &field->items[index] : nullptr;
}
const char* DeputyFieldName(const DeputyField* map, size_t index) {
  return index < DeputyFieldCount(map) && map->kind == kDeputyMap ? map->items[index].name.c_str() : nullptr;
}
const DeputyField* DeputyFieldNamed(const DeputyField* map, const char* name) {
  if (map == nullptr || map->kind != kDeputyMap || name == nullptr) return nullptr;
  for (const DeputyField& item : map->items)
    if (item.name == name) return &item;
  return nullptr;
}
