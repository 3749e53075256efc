/* SPDX-License-Identifier: MIT */
/*
 * Ranks are drawn by rejection-inversion (W. Hoermann, G. Derflinger, "Rejection-inversion
 * to generate variates from monotone discrete distributions", ACM TOMACS 6, 1996): no
 * table, so that any number of destinations costs the same.
 */
#include "gen.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../base/mix.h"

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

/* xoshiro256** by D. Blackman and S. Vigna. */
static uint64_t next_random(struct gen *gen)
{
    uint64_t *s = gen->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

/* In (0, 1). */
static double uniform(struct gen *gen)
{
    return ((double)(next_random(gen) >> 11) + 0.5) * 0x1p-53;
}

static double normal(struct gen *gen)
{
    double radius = sqrt(-2 * log(uniform(gen)));

    return radius * cos(6.283185307179586 * uniform(gen));
}

/* Near 0 the quotients below are 0/0; their series' first terms say what they tend to. */
static double expm1_over(double x)
{
    return fabs(x) > 1e-8 ? expm1(x) / x : 1 + x / 2;
}

static double log1p_over(double x)
{
    return fabs(x) > 1e-8 ? log1p(x) / x : 1 - x / 2;
}

/* The integral of x^-s from 1, and its inverse. */
static double integral(const struct gen *gen, double x)
{
    double logarithm = log(x);

    return expm1_over((1 - gen->options.zipf) * logarithm) * logarithm;
}

static double inverse(const struct gen *gen, double y)
{
    double t = y * (1 - gen->options.zipf);

    return exp(log1p_over(t < -1 ? -1 : t) * y);
}

static double weight(const struct gen *gen, double rank)
{
    return exp(-gen->options.zipf * log(rank));
}

/* A rank from 0, the most popular. */
static uint64_t draw_rank(struct gen *gen)
{
    double last = (double)gen->options.destinations;

    for (;;) {
        double u = gen->zipf_high + uniform(gen) * (gen->zipf_low - gen->zipf_high);
        double x = inverse(gen, u);
        double rank = floor(x + 0.5);
        rank = rank < 1 ? 1 : rank > last ? last : rank;
        if (rank - x <= gen->zipf_cut ||
            u >= integral(gen, rank + 0.5) - weight(gen, rank)) {
            return (uint64_t)rank - 1;
        }
    }
}

void gen_init(struct gen *gen, const struct gen_options *options)
{
    uint64_t seed = options->seed;

    memset(gen, 0, sizeof(*gen));
    gen->options = *options;
    for (int i = 0; i < 4; i++) {
        gen->state[i] = split_mix64(&seed);
    }
    gen->zipf_low = integral(gen, 1.5) - 1;
    gen->zipf_high = integral(gen, (double)options->destinations + 0.5);
    gen->zipf_cut = 2 - inverse(gen, integral(gen, 2.5) - weight(gen, 2));
}

static double progress(const struct gen *gen)
{
    return (double)gen->made / (double)gen->options.records;
}

static bool in_flash(const struct gen *gen)
{
    double part = progress(gen);

    return gen->options.pattern == GEN_FLASH && part >= 0.4 && part < 0.6;
}

/* How much faster than the mean it is now. */
static double rate_factor(const struct gen *gen)
{
    if (in_flash(gen)) {
        return 3;
    }
    if (gen->options.pattern == GEN_DIURNAL) {
        double turns = gen->now_s * 1e9 / (double)gen->options.period_ns;
        return 1 - 0.8 * cos(6.283185307179586 * turns);
    }
    return 1;
}

/* In which period this rank was last given another destination; ranks take turns. */
static uint64_t generation(const struct gen *gen, uint64_t rank)
{
    uint64_t periods = (uint64_t)(gen->now_s * 1e9 / (double)gen->options.period_ns);
    uint64_t key = rank;
    uint64_t turn = split_mix64(&key) % 10;

    return periods < turn ? 0 : (periods - turn) / 10 + 1;
}

/* Numbers of destinations: ranks first; what patterns add lies behind them. */
static uint64_t draw_destination(struct gen *gen)
{
    uint64_t count = gen->options.destinations;

    if (in_flash(gen) && next_random(gen) % 2 == 0) {
        return count;
    }
    if (gen->options.pattern == GEN_SCAN && next_random(gen) % 5 == 0) {
        return count + gen->scanned++;
    }
    uint64_t rank = draw_rank(gen);
    if (gen->options.pattern == GEN_CHURN) {
        return rank + count * generation(gen, rank);
    }
    return rank;
}

/* Scattered over the whole range and one to one, so that rank shows in no address. */
static uint32_t scatter(uint64_t number, unsigned bits)
{
    uint64_t mask = ((uint64_t)1 << bits) - 1;
    uint64_t spread = (number + 40503) * 0x9e3779b1u & mask;

    return (uint32_t)(spread ^ spread >> (bits / 2));
}

/* Destinations from the benchmark range 198.18.0.0/15 while they fit, else from 240/4. */
static uint32_t destination_ipv4(const struct gen *gen, uint64_t number)
{
    bool fit = gen->options.destinations <= 1u << 16 && number < 1u << 17;

    return fit ? 0xc6120000u | scatter(number, 17) : 0xf0000000u | scatter(number, 28);
}

static void ipv4_text(uint32_t address, char out[GEN_NAME])
{
    snprintf(out, GEN_NAME, "%u.%u.%u.%u", address >> 24, address >> 16 & 255,
             address >> 8 & 255, address & 255);
}

static void set_destination(const struct gen *gen, uint64_t number,
                            struct record *record, char text[GEN_NAME])
{
    record->dst_family = (uint8_t)gen->options.family;
    if (gen->options.family == LOCUS_IPV4) {
        record->dst.ipv4 = destination_ipv4(gen, number);
        ipv4_text(record->dst.ipv4, text);
        return;
    }
    if (gen->options.family == LOCUS_NAME) {
        snprintf(text, GEN_NAME, "h%08x.example", scatter(number, 32));
        record->dst = locus_key_from_name(text, strlen(text));
        return;
    }
    uint32_t low = scatter(number, 32);
    static const uint8_t prefix[4] = {0x20, 0x01, 0x0d, 0xb8};
    memcpy(record->dst.bytes, prefix, 4);
    for (int i = 0; i < 4; i++) {
        record->dst.bytes[12 + i] = (uint8_t)(low >> (24 - 8 * i));
    }
    struct locus_address address = {.family = LOCUS_IPV6, .key = record->dst};
    locus_address_format(&address, text, GEN_NAME);
}

/* A destination has one size for ever, as an object has. */
static uint64_t destination_bytes(const struct gen *gen, uint64_t number)
{
    uint64_t key = number ^ gen->options.seed << 32;
    double a = ((double)(split_mix64(&key) >> 11) + 0.5) * 0x1p-53;
    double b = ((double)(split_mix64(&key) >> 11) + 0.5) * 0x1p-53;
    double z = sqrt(-2 * log(a)) * cos(6.283185307179586 * b);
    double bytes = gen->options.bytes_median * exp(gen->options.bytes_sigma * z);

    return bytes < 1e15 ? (uint64_t)bytes : (uint64_t)1e15;
}

bool gen_next(struct gen *gen, struct record *record, char dst[GEN_NAME],
              char src[GEN_NAME])
{
    const struct gen_options *o = &gen->options;

    if (gen->made == o->records) {
        return false;
    }
    if (gen->made > 0) {
        gen->now_s += -log(uniform(gen)) / (o->rate_per_s * rate_factor(gen));
    }
    uint64_t number = draw_destination(gen);
    double duration_s = o->duration_median_s * exp(o->duration_sigma * normal(gen));
    uint32_t client = 0x0a000000u | scatter(next_random(gen) % o->clients, 24);
    *record = (struct record){
        .flags = RECORD_HAS_TIME | RECORD_HAS_DURATION | RECORD_HAS_BYTES |
                 RECORD_HAS_CLIENT,
        .start_ns = o->start_ns + (uint64_t)(gen->now_s * 1e9),
        .duration_ns = (uint64_t)((duration_s < 1e6 ? duration_s : 1e6) * 1e9),
        .bytes = destination_bytes(gen, number),
        .proto = PROTO_TCP,
        .dst_port = 80,
        .src_port = (uint16_t)(1024 + next_random(gen) % 64000),
        .src_family = LOCUS_IPV4,
        .src.ipv4 = client,
    };
    ipv4_text(client, src);
    set_destination(gen, number, record, dst);
    gen->made++;
    return true;
}
