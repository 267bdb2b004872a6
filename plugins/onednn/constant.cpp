#include "constant.hpp"

#include <cstdio>
#include <stdexcept>
#include <utility>

namespace onednn {

Constant::Constant(const void* data, const memory::desc& desc, deputy_value_id model_value)
    : key_("@" + std::to_string(reinterpret_cast<uintptr_t>(data))),
      desc_(desc),
      data_(data),
      model_value_(model_value) {}

Constant::Constant(std::string recipe, const memory::dims& dims, std::function<std::vector<float>()> make)
    : key_(std::move(recipe)), desc_(Plain(dims)), make_(std::move(make)) {}

std::shared_ptr<const Constant> Constant::OfBytes(std::string recipe, const memory::dims& dims,
                                                  std::vector<int8_t> bytes) {
  auto kept = std::make_shared<const std::vector<int8_t>>(std::move(bytes));
  auto constant = std::make_shared<Constant>(kept->data(), Plain(dims, memory::data_type::s8));
  constant->key_ = std::move(recipe);
  constant->bytes_ = std::move(kept);
  return constant;
}

const void* Constant::data() const {
  if (whole_ != nullptr) return whole_->data();
  if (make_ == nullptr) return data_;
  if (made_.empty()) made_ = make_();
  if (made_.size() != static_cast<size_t>(CountOf(desc_.dims())))
    throw std::logic_error("a constant was made of " + std::to_string(made_.size()) + " elements, expected " +
                           std::to_string(CountOf(desc_.dims())));
  return made_.data();
}

std::shared_ptr<const Constant> Constant::Reshaped(std::shared_ptr<const Constant> constant, const memory::dims& dims) {
  if (constant->desc().dims() == dims) return constant;
  auto view = std::make_shared<Constant>(*constant);
  view->desc_ = Plain(dims, constant->desc().data_type());
  view->made_.clear();
  view->whole_ = std::move(constant);
  return view;
}

std::string Exactly(float number) {
  char text[32];
  const int length = std::snprintf(text, sizeof text, "%a", static_cast<double>(number));
  return {text, static_cast<size_t>(length)};
}

std::shared_ptr<const memory> ConstantStore::Converted(const Constant& constant, const memory::desc& from,
                                                       const memory::desc& to, const dnnl::engine& engine) {
  const std::string key = constant.key() + '/' + KeyOf(from) + '/' + KeyOf(to);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (auto kept = kept_[key].lock()) return kept;
  // Remove expired entries from time to time.
  if (kept_.size() > sweep_at_) {
    for (auto entry = kept_.begin(); entry != kept_.end();)
      entry = entry->second.expired() && entry->first != key ? kept_.erase(entry) : std::next(entry);
    sweep_at_ = 2 * kept_.size() + 64;
  }
  memory source(from, engine, const_cast<void*>(constant.data()));
  auto converted = std::make_shared<memory>(to, engine);
  dnnl::stream stream(engine);
  dnnl::reorder(source, *converted).execute(stream, source, *converted);
  stream.wait();
  kept_[key] = converted;
  return converted;
}

}  // namespace onednn
