/* SPDX-License-Identifier: MIT */
/*
 * Subjects with options of their own. Each takes and returns what a main() does; argv[0] is the
 * subject's name.
 */
#ifndef LOCUS_BENCH_PROGRAMS_H
#define LOCUS_BENCH_PROGRAMS_H

/* The whole of "locus replay" over a generated trace, timed from outside. */
int bench_replay(int argc, char **argv);
/* Reading of logs by the built command, format by format. */
int bench_parse(int argc, char **argv);
/* Picks of a shared pool, by script and by hand. */
int bench_pool(int argc, char **argv);
/* Picks of a Redis pool, one round trip each against all threads' together. */
int bench_coalesce(int argc, char **argv);

#endif
