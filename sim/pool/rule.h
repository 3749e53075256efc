/* SPDX-License-Identifier: MIT */
/* One command line of ipvsadm, its options taken apart. */
#ifndef LOCUS_SIM_POOL_RULE_H
#define LOCUS_SIM_POOL_RULE_H

#include "parse.h"

/* The command letter, and the values by option; NULL or 0 where the line has none. */
struct rule {
    char command; /* A E D C a e d, or 0 */
    char proto;   /* t u f T */
    char forward; /* g m i */
    const char *scheduler, *flags;
    const char *service, *server, *weight, *upper, *lower;
    uint64_t at_ns;
};

/* Reads the words behind "ipvsadm" into *rule. An exit_code, after a line on stderr. */
int rule_read(struct pool_parse *parse, char **words, size_t count, struct rule *rule);

#endif
