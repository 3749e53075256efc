/* SPDX-License-Identifier: MIT */
/*
 * Bytes -> a service and its events; the reference model is the oracle. The first bytes
 * choose scheduler, rules and family, eight bytes make an event.
 */
#include <stdlib.h>
#include <string.h>

#include "../prop/pair.h"

enum { HEAD_BYTES = 8, OP_BYTES = 8, OPS_MAX = 2000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t scaled(uint8_t byte)
{
    static const uint32_t edges[] = {INT32_MAX,   INT32_MAX - 1, 1u << 31,
                                     1u << 30,    65536,         8388608,
                                     3000000000u, INT32_MAX / 2};
    return byte < 248 ? byte : edges[byte - 248];
}

static int64_t duration(uint8_t mantissa, uint8_t exponent)
{
    return (int64_t)mantissa << exponent % 18;
}

static struct op op_from(const uint8_t *bytes)
{
    struct op op = {.kind = (enum op_kind)(bytes[0] % OP_KINDS), .small = bytes[1]};
    op.a = bytes[2];
    op.b = scaled(bytes[3]);
    op.c = scaled(bytes[4]);
    op.n = bytes[5];
    if (op.kind == OP_TIME || op.kind == OP_LATE || op.kind == OP_BACK) {
        op.n = duration(bytes[5], bytes[6]);
    } else if (op.kind == OP_EXPIRE) {
        op.n = duration(bytes[5], bytes[6]) - 2;
    } else if (op.kind == OP_ADD || op.kind == OP_EDIT) {
        op.a |= (uint32_t)(bytes[6] & 128) << 24; /* warm */
    }
    return op;
}

static struct pair_config config_from(const uint8_t *head, struct locus_rules *rules)
{
    *rules = *locus_rules_find(locus_rules_name(head[1] % 3));
    rules->timer_wheel = head[2] & 1;
    rules->return_member_only = head[2] & 2;
    rules->spill_eligible_only = head[2] & 4;
    rules->purge_removed = rules->purge_removed || (head[2] & 8);
    rules->no_server = (enum locus_no_server)(head[1] / 3 % 3);
    rules->evict = head[2] & 64 && !rules->leak_entries;
    if (head[2] & 16) {
        rules->set_decay_ns = UINT64_C(5000000000);
    }
    if (head[2] & 128) {
        rules->slow_start_ns = UINT64_C(30000000000);
        rules->slow_start_exponent = 1 + head[7] % 8;
        rules->slow_start_floor_percent = 1 + head[7] % 100;
    }
    return (struct pair_config){
        .addresses = 1 + head[3] % 100,
        .destinations = 1 + head[4],
        .scattered = head[2] & 32,
        .service =
            {
                .scheduler = model_scheduler_name(
                    (enum model_scheduler)(head[0] % MODEL_SCHEDULERS)),
                .scheduler_flags = head[5] & 3,
                .family = (enum locus_family)(1 + head[6] % 3),
                .rules = rules,
                .seed = head[7],
                .tick_ns = 4000000,
                .max_entries = head[5] >> 2,
            },
    };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct locus_rules rules;
    if (size < HEAD_BYTES) {
        return 0;
    }
    struct pair_config config = config_from(data, &rules);
    struct pair *p = pair_create(&config);
    if (!p) {
        abort();
    }
    bool agreed = true;
    size_t ops = (size - HEAD_BYTES) / OP_BYTES;
    for (size_t i = 0; agreed && i < ops && i < OPS_MAX; i++) {
        struct op op = op_from(data + HEAD_BYTES + i * OP_BYTES);
        agreed = pair_apply(p, &op);
    }
    agreed = agreed && pair_check(p);
    if (!agreed) {
        fprintf(stderr, "%s\n", p->error);
        abort();
    }
    if (!pair_destroy(p)) {
        abort();
    }
    return 0;
}
