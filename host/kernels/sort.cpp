#include "kernels/sort.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "kernels/parts.hpp"

namespace deputy::host {
namespace {

template <class Order>
class LongSort {
 public:
  LongSort(int64_t steps, Order less) : steps_(std::max<int64_t>(1, steps)), less_(less) {}

  // Puts the elements that belong before `wanted` there, in order.
  void Run(int64_t* begin, int64_t* end, const int64_t* wanted) {
    Sort(begin, end, wanted, 2 * static_cast<int>(LevelsOf(end - begin)));
  }

 private:
  static constexpr int64_t kFew = 16;

  bool Ends(int64_t comparisons) { return ended_ = ended_ || check_.Ends(StepsOf(comparisons, steps_)); }

  // Quicksort: of the two sides of a pivot the shorter one is sorted by a call.
  void Sort(int64_t* begin, int64_t* end, const int64_t* wanted, int depth) {
    while (!ended_ && begin < wanted && end - begin > 1) {
      const int64_t count = end - begin, comparisons = StepsOf(count, LevelsOf(count));
      if (StepsOf(comparisons, steps_) <= kStepsOfPart) {
        std::sort(begin, end, less_);
        Ends(comparisons);
        return;
      }
      if (count <= kFew) return SortFew(begin, end);
      if (depth-- == 0) return SortHeap(begin, count);  // so many uneven divisions that n * n steps are near
      const auto [left, right] = Divide(begin, count);
      if (ended_) return;
      if (left - begin < end - right) {
        Sort(begin, left, wanted, depth);
        begin = right;
      } else {
        Sort(right, end, wanted, depth);
        end = left;
      }
    }
  }

  // Elements before the first result are not larger than a pivot, those from the second one on not smaller. No loop
  // leaves the list, regardless of what the comparisons give.
  std::pair<int64_t*, int64_t*> Divide(int64_t* list, int64_t count) {
    const int64_t pivot = Middle(list[0], list[count / 2], list[count - 1]);
    int64_t low = 0, high = count - 1;
    while (low <= high) {
      for (; low <= high && less_(list[low], pivot); ++low)
        if (Ends(1)) return {list, list};
      for (; low <= high && less_(pivot, list[high]); --high)
        if (Ends(1)) return {list, list};
      if (low <= high) std::swap(list[low++], list[high--]);
      if (Ends(2)) return {list, list};
    }
    return {list + (high + 1), list + low};
  }

  int64_t Middle(int64_t a, int64_t b, int64_t c) {
    if (less_(b, a)) std::swap(a, b);
    if (less_(c, b)) b = less_(c, a) ? a : c;
    return b;
  }

  void SortFew(int64_t* begin, int64_t* end) {
    for (int64_t* next = begin + 1; next < end && !Ends(kFew); ++next) {
      const int64_t value = *next;
      int64_t* at = next;
      for (; at > begin && less_(value, at[-1]); --at) *at = at[-1];
      *at = value;
    }
  }

  void SortHeap(int64_t* heap, int64_t count) {
    for (int64_t i = count / 2; i-- > 0 && !ended_;) Sink(heap, count, i);
    for (int64_t last = count - 1; last > 0 && !ended_; --last) {
      std::swap(heap[0], heap[last]);
      Sink(heap, last, 0);
    }
  }

  void Sink(int64_t* heap, int64_t count, int64_t at) {
    for (int64_t child; (child = 2 * at + 1) < count && !Ends(2); at = child) {
      if (child + 1 < count && less_(heap[child], heap[child + 1])) ++child;
      if (!less_(heap[at], heap[child])) return;
      std::swap(heap[at], heap[child]);
    }
  }

  const int64_t steps_;
  const Order less_;
  EndCheck check_;
  bool ended_ = false;
};

template <class Order>
void SortFirst(int64_t* list, int64_t wanted, int64_t count, Order less) {
  constexpr int64_t kShort = 1 << 16;
  if (count <= kShort) return std::partial_sort(list, list + wanted, list + count, less);
  if (wanted > kShort) return LongSort<Order>(1, less).Run(list, list + count, list + wanted);
  if (wanted == 0) return;
  // As partial_sort: a heap of the best so far, whose worst one gives way to a better one.
  std::make_heap(list, list + wanted, less);
  InParts(count - wanted, kStepsOfPart / 4, [&](int64_t begin, int64_t end) {
    EndCheck check;
    for (int64_t i = wanted + begin; i < wanted + end; ++i) {
      if (!less(list[i], list[0])) continue;
      std::pop_heap(list, list + wanted, less);
      std::swap(list[wanted - 1], list[i]);
      std::push_heap(list, list + wanted, less);
      if (check.Ends(kShort / 1024)) return;
    }
  });
  std::sort_heap(list, list + wanted, less);
}

}  // namespace

void SortUntilEnd(int64_t* begin, int64_t* end, int64_t steps, Less less) {
  LongSort<Less>(steps, less).Run(begin, end, end);
}

void SortUntilEnd(int64_t* begin, int64_t* end) { LongSort<std::less<>>(1, {}).Run(begin, end, end); }

void SortFirstUntilEnd(int64_t* list, int64_t wanted, int64_t count, Less less) {
  SortFirst(list, wanted, count, less);
}

void SortFirstUntilEnd(int64_t* list, int64_t wanted, int64_t count) { SortFirst(list, wanted, count, std::less<>()); }

}  // namespace deputy::host
