/* SPDX-License-Identifier: MIT */
/*
 * What the writing hooks of a format work with, and how several formats spell names,
 * addresses and times.
 */
#ifndef LOCUS_SIM_WRITING_H
#define LOCUS_SIM_WRITING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../base/values.h"
#include "../records/numbered.h"

enum { WRITING_NAME = 1024 }; /* room for a name */

struct writing {
    FILE *out;
    bool timeless;         /* starts are made up */
    uint64_t memory_bytes; /* what sorting may take */
    /* In all, where the format needs all records before the first is written; and the keys
     * that their numbers stand for. */
    uint64_t records;
    const struct record_keys *keys;
    uint64_t written;      /* with the one that record() is called for */
    const char *dst, *src; /* what a person calls its two ends; "" when there is none */
    void *state;           /* of the format */
};

/* A name as one word of a log: what would end it or the line is percent-encoded. */
void writing_encode(const char *name, const char *special, char out[WRITING_NAME]);
/* The client as a word, "-" when there is none. */
const char *writing_client(const struct writing *w, const struct record *record,
                           char out[WRITING_NAME]);
/* A URL for the destination: itself if it is one, with it as the host if it can be one, with
 * it as the path otherwise. */
void writing_url(const struct writing *w, const struct record *record, char *out,
                 size_t size);
/* The path of a web log's request. */
void writing_request_url(const struct writing *w, const struct record *r, char *out,
                         size_t size);
uint64_t writing_end_ns(const struct record *record);
/* As logs of flows spell it. Requests of a proxy or web server say none: they came over TCP. */
const char *writing_proto(uint8_t proto, char out[12]);
const char *writing_proto_upper(uint8_t proto, char out[12]);
const char *writing_nanos(uint64_t ns, char out[32]);
/* "seconds.micros" or "-". */
const char *writing_seconds(bool there, uint64_t ns, char out[32]);
/* Some formats have addresses only: a name gets one of the documentation range, made from
 * its hash. */
void writing_address(uint8_t family, const union locus_key *key, const char *name,
                     char out[64]);
void writing_client_address(const struct writing *w, const struct record *r,
                            char out[64]);
/* "17/May/2015:10:05:03" with what strftime would take from the locale written out. */
void writing_clf_time(uint64_t ns, char out[32]);
/* "2023-11-14 22:13:20.100", with that in front of the time and so many digits. */
void writing_iso_time(uint64_t ns, char between, unsigned digits, char out[40]);
/* Objects have numbers: a name that is one keeps it, others get one by their hash. */
uint64_t writing_object(const struct record *r, const char *name);

#endif
