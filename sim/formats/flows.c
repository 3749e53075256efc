/* SPDX-License-Identifier: MIT */
#include "flows.h"

#include <stdio.h>
#include <stdlib.h>

#include "../base/errors.h"

static void endpoint_bytes(const struct endpoint *endpoint, uint8_t bytes[16])
{
    memset(bytes, 0, 16);
    if (endpoint->family == LOCUS_IPV4) {
        for (int i = 0; i < 4; i++) {
            bytes[i] = (uint8_t)(endpoint->address.ipv4 >> (24 - 8 * i));
        }
    } else {
        memcpy(bytes, endpoint->address.bytes, 16);
    }
}

uint8_t flow_key_make(struct flow_key *key, const struct endpoint *from,
                      const struct endpoint *to, uint8_t proto)
{
    uint8_t bytes[2][16];

    endpoint_bytes(from, bytes[0]);
    endpoint_bytes(to, bytes[1]);
    int order = memcmp(bytes[0], bytes[1], 16);
    if (order == 0) {
        order = (int)from->port - (int)to->port;
    }
    uint8_t first = order <= 0 ? 0 : 1; /* which of from, to is the lesser */
    memset(key, 0, sizeof(*key));
    memcpy(key->address[0], bytes[first], 16);
    memcpy(key->address[1], bytes[1 - first], 16);
    key->port[0] = first == 0 ? from->port : to->port;
    key->port[1] = first == 0 ? to->port : from->port;
    key->family = from->family;
    key->proto = proto;
    return first;
}

struct flow *flow_find(const struct flow_table *table, const struct flow_key *key)
{
    struct flow *flow;

    HASH_FIND(hh, table->flows, key, sizeof(*key), flow);
    return flow;
}

static bool insert(struct flow_table *table, struct flow *flow)
{
    HASH_ADD(hh, table->flows, key, sizeof(flow->key), flow);
    if (flow->hh.tbl == NULL) { /* uthash found no memory and undid the adding */
        return false;
    }
    table->count++;
    return true;
}

static void take_out(struct flow_table *table, struct flow *flow)
{
    HASH_DEL(table->flows, flow);
    table->count--;
}

static int no_memory(void)
{
    fprintf(stderr, "locus: out of memory for open flows\n");
    return EXIT_RUNTIME;
}

struct flow *flow_add(struct reader *reader, struct flow_table *table,
                      const struct flow_key *key, int *status)
{
    if (table->count >= FLOWS_MAX) {
        *status = flow_emit(reader, table, table->flows);
        if (*status != 0) {
            return NULL;
        }
    }
    struct flow *flow = calloc(1, sizeof(*flow));
    if (flow != NULL) {
        flow->key = *key;
        if (insert(table, flow)) {
            return flow;
        }
    }
    free(flow);
    *status = no_memory();
    return NULL;
}

bool flow_touch(struct flow_table *table, struct flow *flow)
{
    if (flow->hh.next == NULL) {
        return true;
    }
    take_out(table, flow);
    if (!insert(table, flow)) {
        free(flow);
        no_memory();
        return false;
    }
    return true;
}

static void set_endpoint(const struct flow_key *key, int which, uint8_t *family,
                         union locus_key *address, uint16_t *port)
{
    const uint8_t *b = key->address[which];

    *family = key->family;
    *port = key->port[which];
    if (key->family == LOCUS_IPV4) {
        address->ipv4 =
            (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
    } else {
        memcpy(address->bytes, b, 16);
    }
}

int flow_emit(struct reader *reader, struct flow_table *table, struct flow *flow)
{
    struct record record = {
        .flags = RECORD_HAS_TIME | RECORD_HAS_DURATION | RECORD_HAS_BYTES |
                 RECORD_HAS_CLIENT,
        .start_ns = flow->first_ns,
        .duration_ns = flow->last_ns - flow->first_ns,
        .bytes = flow->bytes_from[1 - flow->client],
        .proto = flow->key.proto,
    };

    set_endpoint(&flow->key, 1 - flow->client, &record.dst_family, &record.dst,
                 &record.dst_port);
    set_endpoint(&flow->key, flow->client, &record.src_family, &record.src,
                 &record.src_port);
    reader->dst_name = reader->src_name = (struct slice){NULL, 0};
    if (reader->key == KEY_CLIENT) {
        reader_dst_from_src(reader, &record);
    }
    take_out(table, flow);
    free(flow);
    return reader_emit(reader, &record, record.start_ns);
}

int flow_flush(struct reader *reader, struct flow_table *table, uint64_t before_ns)
{
    int status = 0;

    while (status == 0 && table->flows != NULL && table->flows->last_ns < before_ns) {
        status = flow_emit(reader, table, table->flows);
    }
    return status;
}

void flow_table_free(struct flow_table *table)
{
    while (table->flows != NULL) {
        struct flow *flow = table->flows;
        take_out(table, flow);
        free(flow);
    }
}
