/* SPDX-License-Identifier: MIT */
/* When connections depart, against a plain search through all that are open. */
#include "../suite.h"

#include <string.h>

#include "engine/plan.h"

enum { ARRIVALS = 3000, UDP_NS = 50 };

static struct arrival arrivals[ARRIVALS];
static uint64_t until_ns[ARRIVALS];

/* How far apart arrivals are, how long they last (0 often), how many come at once. */
static const struct {
    uint64_t gap, duration;
    size_t batch;
} cases[] = {
    {1, 1, 1},           {1, 3, 7},         {2, 2, 1000},
    {100, 5000, 64},     {100, 5000, 3000}, {1000000, 1u << 30, 512},
    {5, 1000000, 100},   {0, 2, 100},       {1u << 30, 100, 256},
    {7, UINT64_MAX, 99},
};

static void make_arrivals(uint64_t seed, uint64_t gap, uint64_t duration)
{
    uint64_t now_ns = 0;

    for (size_t i = 0; i < ARRIVALS; i++) {
        now_ns += next_random(&seed) % (gap + 1);
        uint64_t lasts =
            next_random(&seed) % 4 == 0 ? 0 : next_random(&seed) % duration;
        bool udp = next_random(&seed) % 5 == 0;
        uint64_t end = lasts > UINT64_MAX - 1 - UDP_NS - now_ns
                           ? UINT64_MAX - 1
                           : now_ns + lasts + (udp ? UDP_NS : 0);
        arrivals[i] =
            (struct arrival){.start_ns = now_ns, .duration_ns = lasts, .udp = udp};
        until_ns[i] = end;
    }
}

/* By slot: which arrival has it, ARRIVALS for none. */
struct open {
    size_t who[ARRIVALS + 1];
    size_t left;
    bool agreed;
};

/* Nobody whose time has come may still be open when an arrival is next. */
static void check_nobody_waits(struct open *open, size_t up_to, uint64_t now_ns)
{
    for (size_t slot = 0; slot <= ARRIVALS; slot++) {
        size_t who = open->who[slot];
        open->agreed =
            open->agreed && (who == ARRIVALS || who >= up_to || until_ns[who] > now_ns);
    }
}

static void check_departures(struct open *open, const struct arrival_batch *batch,
                             size_t first)
{
    uint64_t last_ns = 0;
    size_t at = 0;

    for (size_t i = 0; i <= batch->count; i++) {
        uint64_t now_ns = i < batch->count ? batch->arrivals[i].start_ns : UINT64_MAX;
        for (; at < batch->departure_count && batch->departures[at].at_ns <= now_ns &&
               departure_after(&batch->departures[at]) <= i;
             at++) {
            const struct timed *d = &batch->departures[at];
            size_t who = open->who[departure_slot(d)];
            open->agreed = open->agreed && who < ARRIVALS && d->at_ns >= last_ns &&
                           until_ns[who] == d->at_ns &&
                           arrivals[who].udp == departure_is_udp(d);
            open->who[departure_slot(d)] = ARRIVALS;
            last_ns = d->at_ns;
            open->left++;
        }
        if (i < batch->count) {
            const struct arrival *a = &batch->arrivals[i];
            check_nobody_waits(open, first + i, a->start_ns);
            open->agreed = open->agreed && a->slot < batch->slot_count &&
                           open->who[a->slot] == ARRIVALS;
            open->who[a->slot] = first + i;
        }
    }
    open->agreed = open->agreed && at == batch->departure_count;
}

START_TEST(everybody_departs_in_time_and_keeps_a_slot_until_then)
{
    static struct open open;
    struct arrival_batch batch = {0};
    struct plan plan;

    open.left = 0;
    open.agreed = true;
    for (size_t slot = 0; slot <= ARRIVALS; slot++) {
        open.who[slot] = ARRIVALS;
    }
    make_arrivals((uint64_t)_i + 1, cases[_i].gap, cases[_i].duration);
    plan_init(&plan, 0, UDP_NS);
    for (size_t i = 0; i < ARRIVALS; i += batch.count) {
        size_t rest = ARRIVALS - i;
        batch.arrivals = arrivals + i;
        batch.count = rest < cases[_i].batch ? rest : cases[_i].batch;
        ck_assert_int_eq(plan_batch(&plan, &batch), 0);
        check_departures(&open, &batch, i);
    }
    do {
        ck_assert_int_eq(plan_rest(&plan, &batch), 0);
        check_departures(&open, &batch, ARRIVALS);
    } while (batch.departure_count > 0);
    ck_assert(open.agreed);
    ck_assert_uint_eq(open.left, ARRIVALS);
    free(batch.departures);
    plan_fini(&plan);
}
END_TEST

START_TEST(without_arrivals_nobody_departs)
{
    struct arrival_batch batch = {0};
    struct plan plan;

    plan_init(&plan, 0, UDP_NS);
    ck_assert_int_eq(plan_rest(&plan, &batch), 0);
    ck_assert_uint_eq(batch.departure_count, 0);
    free(batch.departures);
    plan_fini(&plan);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan");
    TCase *tcase = suite_case(suite, "plan");

    tcase_add_loop_test(tcase, everybody_departs_in_time_and_keeps_a_slot_until_then, 0,
                        (int)(sizeof(cases) / sizeof(cases[0])));
    tcase_add_test(tcase, without_arrivals_nobody_departs);
    return suite_run(suite);
}
