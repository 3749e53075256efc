/* SPDX-License-Identifier: MIT */
#include "listing.h"

struct listing *locus_listing_make(const struct locus_allocator *hooks, size_t count,
                                   size_t text_bytes)
{
    size_t size =
        sizeof(struct listing) + count * sizeof(struct locus_endpoint) + text_bytes;
    struct listing *list = memory_zalloc(hooks, size);

    if (list != NULL) {
        list->hooks = *hooks;
        list->size_bytes = size;
        list->text = (char *)(list->items + count);
    }
    return list;
}

void locus_listing_add(struct listing *list, struct locus_endpoint endpoint,
                       const char *address, size_t length)
{
    endpoint.address = list->text;
    memcpy(list->text, address, length);
    list->text[length] = '\0';
    list->text += length + 1;
    list->items[list->count++] = endpoint;
}

static int by_address(const void *a, const void *b)
{
    const struct locus_endpoint *x = a, *y = b;

    return strcmp(x->address, y->address);
}

void locus_listing_finish(struct listing *list)
{
    qsort(list->items, list->count, sizeof(list->items[0]), by_address);
    for (size_t i = 0; i < list->count; i++) {
        list->live += is_live(list->items[i].weight, list->items[i].healthy);
    }
}

const char *const *locus_listing_names(struct listing *list)
{
    const char **names = (const char **)(void *)list->items;

    for (size_t i = 0; i < list->count; i++) {
        const char *address =
            list->items[i].address; /* the name may lie on top of it */
        names[i] = address;
    }
    return names;
}

void locus_listing_free(void *ctx, void *value)
{
    struct listing *list = value;

    (void)ctx;
    if (list != NULL) {
        struct locus_allocator hooks = list->hooks;
        memory_release(&hooks, list, list->size_bytes);
    }
}
