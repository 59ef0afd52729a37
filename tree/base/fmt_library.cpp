// SPDX-License-Identifier: Apache-2.0
// fmt's compiled half, once. Debian has it as a shared library only, which would be one more thing to be
// found on every host, and header-only use costs two seconds of compile time in every file.
#ifdef __clang__
#define FMT_CONSTEVAL  // fmt 10 calls there what clang does not take for a constant
#endif
#include <fmt/format-inl.h>

template FMT_API auto fmt::detail::thousands_sep_impl<char>(fmt::detail::locale_ref)
    -> fmt::detail::thousands_sep_result<char>;
template FMT_API auto fmt::detail::decimal_point_impl<char>(fmt::detail::locale_ref) -> char;
#if FMT_VERSION >= 100000
template FMT_API void fmt::detail::vformat_to(buffer<char>&, string_view, fmt::detail::vformat_args<>::type,
                                              locale_ref);
#endif
