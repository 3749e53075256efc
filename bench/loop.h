/* SPDX-License-Identifier: MIT */
/*
 * The measured loop, compiled into each design so that its steps can be inlined. The file
 * that includes it has defined, on its own struct self:
 *
 *   static inline uint32_t pick_and_open(struct self *, uint32_t destination, uint32_t tick);
 *   static inline void fin(struct self *, uint32_t server);     active to inactive
 *   static inline void expire(struct self *, uint32_t server);  inactive to gone
 */
static uint64_t run(void *arg, struct load *load, size_t count, bool isolated)
{
    struct self *self = arg;
    uint32_t picked = 0;
    uint64_t sum = 0;

    for (size_t n = 0; n < count; n++) {
        size_t at = load->at++;
        size_t wait = isolated ? picked & load->zero : 0;
        uint32_t destination = load->destinations[(at + wait) & load->destination_mask];
        picked = pick_and_open(self, destination, (uint32_t)(at >> 10));
        sum = sum * 31 + picked;
        load->opened[at & load->opened_mask] = picked;
        if (at >= load->open_for) {
            fin(self, load->opened[(at - load->open_for) & load->opened_mask]);
        }
        if (at >= load->open_for + load->idle_for) {
            expire(self, load->opened[(at - load->open_for - load->idle_for) &
                                      load->opened_mask]);
        }
    }
    return sum;
}

static void fin_one(void *self, uint32_t server)
{
    fin(self, server);
}

static void expire_one(void *self, uint32_t server)
{
    expire(self, server);
}
