/* SPDX-License-Identifier: MIT */
/*
 * What a field of a line says. Every reader of a value takes the whole slice or refuses it:
 * no sign, no blank, no trailing junk, no wrap-around.
 */
#ifndef LOCUS_SIM_FIELDS_H
#define LOCUS_SIM_FIELDS_H

#include <stdint.h>

#include "../base/slice.h"

bool slice_u64(struct slice s, uint64_t *out);
bool slice_port(struct slice s, uint16_t *out);
/* A port of a flow. Protocols without ports have something else there, which is not looked at
 * (ICMP: type.code); an empty slice leaves *out as it is. */
bool slice_flow_port(struct slice s, uint8_t proto, uint16_t *out);
/* Decimal units of unit_ns nanoseconds: "1493737013.541" with 1,000,000,000. What is finer
 * than a nanosecond is read and cut. At most INT64_MAX ns. */
bool slice_time(struct slice s, uint64_t unit_ns, uint64_t *out_ns);
/* "2021-06-06T16:38:55.855844+0200", a blank or T between, any fraction, zone Z, +hh:mm,
 * +hhmm or none (UTC); or with slashes "2018/12/18 14:00:00.000000". From 1970 on. */
bool slice_iso_time(struct slice s, uint64_t *out_ns);
/* "17/May/2015:10:05:03 +0000", with a fraction and without a zone (UTC) as well. */
bool slice_clf_time(struct slice s, uint64_t *out_ns);

/* IP protocol number of "tcp", "UDP", "icmp", "6" ...; PROTO_UNKNOWN otherwise. */
uint8_t slice_proto(struct slice s);
/* Its name in small letters; NULL: it has none here. */
const char *slice_proto_name(uint8_t proto);

#endif
