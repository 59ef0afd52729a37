// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/ccs_plan.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "tree/io/surroundings.hpp"

namespace charmtree {

namespace {

constexpr std::size_t kMaxKeyFile = 1U << 20, kKeyDigits = 32;

/// Random decimal digits: what every kind of client reads as a key, if not as the same one.
std::string make_key_text() {
  constexpr unsigned kEven = 250;  // of the values of a byte, so many are spread evenly over the digits
  std::string text;
  while (text.size() < kKeyDigits) {
    for (const char byte : io::random_bytes(kKeyDigits)) {
      const auto value = static_cast<unsigned char>(byte);
      if (value < kEven && text.size() < kKeyDigits) text.push_back(static_cast<char>('0' + value % 10));
    }
  }
  return text;
}

std::set<std::string> names_in(const std::string& list) {
  std::set<std::string> names;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    if (comma > at) names.insert(list.substr(at, std::min(comma - at, wire::kCcsHandler - 1)));
    at = comma + 1;
  }
  return names;
}

Result<void> add_keys(const Options& options, CcsPlan& plan) {
  const std::string& name = options.ccs.keys;
  auto file = read_key_file(name, options.ccs.weak_keys, make_key_text);
  if (!file) return file.error();
  plan.plan.keys = std::move(file->keys);
  plan.keys_made = std::move(file->announced);
  plan.remarks = std::move(file->remarks);
  if (plan.plan.keys.optional()) {
    plan.remarks.push_back(
        fmt::format("{}: there is no key for level 0, so that requests without a key are served, too", name));
  }
  struct stat info {};
  if (::stat(name.c_str(), &info) == 0 && (info.st_mode & (S_IRGRP | S_IROTH)) != 0)
    plan.remarks.push_back(fmt::format("{}: others can read these keys; chmod 600 it", name));
  return {};
}

}  // namespace

Result<ccs::KeyFile> read_key_file(const std::string& name, bool weak,
                                   const std::function<std::string()>& make_text) {
  const auto text = io::read_file(name, kMaxKeyFile);
  if (text) return ccs::read_keys(*text, name, weak, make_text);
  return Error{Errc::bad_input, Phase::options, fmt::format("++server-auth {}", text.error().what),
               "a line of it is a level, 0 to 254, and a key: 32 decimal digits, or OTP"};
}

Result<CcsPlan> ccs_plan(const Options& options, std::uint32_t address) {
  CcsPlan plan;
  plan.plan.address = address;
  plan.plan.denied = names_in(options.ccs.denied);
  if (options.ccs.timeout) plan.plan.timeout = *options.ccs.timeout;
  const std::string secret = io::random_bytes(plan.plan.secret.size());
  std::copy(secret.begin(), secret.end(), plan.plan.secret.begin());
  if (options.ccs.keys.empty()) return plan;
  if (auto added = add_keys(options, plan); !added) return added.error();
  return plan;
}

}  // namespace charmtree
