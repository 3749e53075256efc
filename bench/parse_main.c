/* SPDX-License-Identifier: MIT */
/* locus-bench-parse: how fast logs are read. */
#include "parse.h"

int main(int argc, char **argv)
{
    return bench_parse(argc, argv);
}
