/* SPDX-License-Identifier: MIT */
#ifndef LOCUS_BENCH_PARSE_H
#define LOCUS_BENCH_PARSE_H

/* Reading of logs by the built command, format by format; argv[0] is skipped. An exit code. */
int bench_parse(int argc, char **argv);

#endif
