/* SPDX-License-Identifier: MIT */
/*
 * Hints that change no meaning. A pick is some hundred instructions, and taken jumps cost it
 * more than arithmetic does: what happens nearly always is to be straight-line code.
 */
#ifndef LOCUS_COMPILER_H
#define LOCUS_COMPILER_H

#if defined(__GNUC__)
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
/* For the rare part of a hot function: kept apart, it costs the rest no registers. */
#define NOINLINE __attribute__((noinline))
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define LIKELY(condition) (condition)
#define NOINLINE
#define ALWAYS_INLINE inline
#endif
#define UNLIKELY(condition) (!LIKELY(!(condition)))

#endif
