/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target on the files named on the command line, once each: the corpus, in
 * builds without libFuzzer. TAP.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    size_t size = 0;
    int status = -1;

    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        goto done;
    }
    long end = ftell(file);
    if (end < 0 || fseek(file, 0, SEEK_SET) != 0) {
        goto done;
    }
    /* Exactly as long as the input, so that a read behind its end is seen. */
    size = (size_t)end;
    data = malloc(size > 0 ? size : 1);
    if (data == NULL || fread(data, 1, size, file) != size) {
        goto done;
    }
    status = LLVMFuzzerTestOneInput(data, size);
done:
    free(data);
    if (file != NULL) {
        fclose(file);
    }
    return status;
}

int main(int argc, char **argv)
{
    int failed = 0;

    for (int i = 1; i < argc; i++) {
        bool ok = replay(argv[i]) == 0;
        printf("%s %d - %s\n", ok ? "ok" : "not ok", i, argv[i]);
        failed |= !ok;
    }
    printf("1..%d\n", argc - 1);
    return failed;
}
