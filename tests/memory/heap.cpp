// SPDX-License-Identifier: Apache-2.0
// The allocator below is the usual one, so that a sanitizer sees what it always does.
#include "tests/memory/heap.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

std::size_t live = 0, peak = 0;

void* counted(void* memory) {
  if (memory == nullptr) return nullptr;
  live += malloc_usable_size(memory);
  peak = std::max(peak, live);
  return memory;
}

void* found(void* memory) {
  if (memory == nullptr) throw std::bad_alloc{};
  return memory;
}

void release(void* memory) {
  if (memory != nullptr) live -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

namespace charmtree::test {

std::size_t Heap::live() {
  return ::live;
}

std::size_t Heap::take_peak() {
  const std::size_t most = peak;
  peak = ::live;
  return most;
}

}  // namespace charmtree::test

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted(std::malloc(std::max<std::size_t>(size, 1)));
}
void* operator new(std::size_t size) {
  return found(operator new(size, std::nothrow));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  const auto unit = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(unit, (size + unit - 1) / unit * unit));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return found(operator new(size, alignment, std::nothrow));
}
void operator delete(void* memory) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory);
}
