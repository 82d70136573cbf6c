// SPDX-License-Identifier: Apache-2.0
// CUVMM_FOR_EACH(M, (a), (b)...): M(a) M(b)... for up to 342 parenthesised items. entry_points.def
// needs no other macro machinery; __VA_OPT__ makes the empty list work.
#pragma once

#define CUVMM_EXPAND(...) CUVMM_EXPAND4(CUVMM_EXPAND4(CUVMM_EXPAND4(CUVMM_EXPAND4(__VA_ARGS__))))
#define CUVMM_EXPAND4(...) CUVMM_EXPAND3(CUVMM_EXPAND3(CUVMM_EXPAND3(CUVMM_EXPAND3(__VA_ARGS__))))
#define CUVMM_EXPAND3(...) CUVMM_EXPAND2(CUVMM_EXPAND2(__VA_ARGS__))
#define CUVMM_EXPAND2(...) __VA_ARGS__
#define CUVMM_PARENS ()
#define CUVMM_FOR_EACH(macro, ...) __VA_OPT__(CUVMM_EXPAND(CUVMM_FOR_EACH_STEP(macro, __VA_ARGS__)))
#define CUVMM_FOR_EACH_STEP(macro, item, ...) \
  macro item __VA_OPT__(CUVMM_FOR_EACH_AGAIN CUVMM_PARENS(macro, __VA_ARGS__))
#define CUVMM_FOR_EACH_AGAIN() CUVMM_FOR_EACH_STEP
