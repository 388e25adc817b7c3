/* Compiled modules on disk: a file for each, named by the hash of its key, written beside and moved into place, so that a reader
 * finds a whole one or none, whoever else writes or was killed at it. What a file holds is believed after its checksum alone. */
#include "cu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define XXH_INLINE_ALL
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif
#include <xxhash.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#define FORMAT 1u
#define MOST_BYTES ((uint64_t)512 << 20) /* of all files; the oldest go */
#define MOST_CUBIN ((uint64_t)1 << 30)   /* of one */
#define NS_PER_SECOND 1000000000ull
#define STALE_NS (3600 * NS_PER_SECOND) /* a file that is still being written is not so old */
#define SUFFIX ".cubin"
#define UNFINISHED ".part"

/* What the machine code depends on. */
typedef struct cache_key {
    char magic[8];
    uint32_t format, variant;
    uint32_t driver, capability;
    uint64_t code_size, code_hash[2];
} cache_key;

typedef struct cache_header {
    cache_key key;
    uint64_t cubin_size, checksum[2];
} cache_header;

static void hash(const void* bytes, size_t size, uint64_t out[2])
{
    const XXH128_hash_t h = XXH3_128bits(bytes, size);
    out[0] = h.low64;
    out[1] = h.high64;
}

static cache_key make_key(const cu_device* device, const void* code, size_t size, uint32_t variant)
{
    cache_key key = {.magic = "khalcuda",
                     .format = FORMAT,
                     .variant = variant,
                     .driver = (uint32_t)device->library->version,
                     .capability = device->capability,
                     .code_size = size};
    hash(code, size, key.code_hash);
    return key;
}

/* False: there is no cache, or no room for the name. */
static bool make_path(const cu_device* device, const cache_key* key, const char* behind, char* out, size_t size)
{
    uint64_t name[2];
    hash(key, sizeof *key, name);
    const int n = snprintf(out, size, "%s/%016llx%016llx%s", device->cache_path, (unsigned long long)name[1],
                           (unsigned long long)name[0], behind);
    return device->cache_path[0] != 0 && n > 0 && (size_t)n < size;
}

void cu_cache_folder(const char* asked, char* out, size_t size)
{
    int n = -1;
    out[0] = 0;
    if (asked != NULL) {
        n = snprintf(out, size, "%s", asked);
    } else {
#if defined(_WIN32)
        const char* base = getenv("LOCALAPPDATA");
        if (base != NULL && base[0] != 0)
            n = snprintf(out, size, "%s\\khal", base);
#else
        const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
        if (cache != NULL && cache[0] == '/') /* one that is not absolute does not count */
            n = snprintf(out, size, "%s/khal", cache);
        else if (home != NULL && home[0] == '/')
            n = snprintf(out, size, "%s/.cache/khal", home);
#endif
    }
    if (n < 0 || (size_t)n >= size)
        out[0] = 0;
}

/* ---- reading ------------------------------------------------------------------------------------- */

static void* read_cubin(cu_device* device, FILE* file, const cache_header* header, size_t* out_size)
{
    const size_t size = (size_t)header->cubin_size;
    void* cubin = khal__alloc(device->front, size, 16);
    uint64_t checksum[2] = {0, 0};
    if (cubin == NULL)
        return NULL;
    const bool is_whole = fread(cubin, 1, size, file) == size && fgetc(file) == EOF;
    if (is_whole)
        hash(cubin, size, checksum);
    if (is_whole && memcmp(checksum, header->checksum, sizeof checksum) == 0) {
        *out_size = size;
        return cubin;
    }
    khal__free(device->front, cubin, size);
    return NULL;
}

void* cu_cache_load(cu_device* device, const void* code, size_t size, uint32_t variant, size_t* out_size)
{
    const cache_key key = make_key(device, code, size, variant);
    char path[640];
    cache_header header;
    if (!make_path(device, &key, SUFFIX, path, sizeof path))
        return NULL;
    FILE* file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    void* cubin = NULL;
    if (fread(&header, sizeof header, 1, file) == 1 && memcmp(&header.key, &key, sizeof key) == 0 && header.cubin_size > 0 &&
        header.cubin_size <= MOST_CUBIN)
        cubin = read_cubin(device, file, &header, out_size);
    (void)fclose(file);
    return cubin;
}

/* ---- writing ------------------------------------------------------------------------------------- */

typedef struct listing {
    uint64_t now, total, oldest_size, oldest_time;
    char oldest[64], stale[64];
} listing;

static bool ends_with(const char* text, const char* end)
{
    const size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static bool list_file(void* user, const char* name, uint64_t size, uint64_t modified)
{
    listing* l = user;
    if (strlen(name) >= sizeof l->oldest) /* not ours */
        return true;
    if (ends_with(name, UNFINISHED) && modified + STALE_NS < l->now)
        memcpy(l->stale, name, strlen(name) + 1);
    if (!ends_with(name, SUFFIX))
        return true;
    l->total += size;
    if (l->oldest[0] == 0 || modified < l->oldest_time) {
        memcpy(l->oldest, name, strlen(name) + 1);
        l->oldest_size = size;
        l->oldest_time = modified;
    }
    return true;
}

static void remove_file(const char* folder, const char* name)
{
    char path[640];
    const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (n > 0 && (size_t)n < sizeof path)
        khal__file_remove(path);
}

void cu_cache_trim(const char* folder, uint64_t most)
{
    for (uint32_t turn = 0; turn < 1000; ++turn) { /* a file that can't be removed ends it too */
        listing l = {.now = (uint64_t)time(NULL) * NS_PER_SECOND};
        khal__folder_visit(folder, list_file, &l);
        if (l.stale[0] != 0)
            remove_file(folder, l.stale);
        if (l.total > most)
            remove_file(folder, l.oldest);
        if (l.stale[0] == 0 && (l.total <= most || l.total - l.oldest_size <= most))
            return;
    }
}

static bool write_file(const char* path, const cache_header* header, const void* cubin)
{
    FILE* file = fopen(path, "wbx");
    if (file == NULL)
        return false;
    const size_t size = (size_t)header->cubin_size;
    const bool is_written = fwrite(header, sizeof *header, 1, file) == 1 && fwrite(cubin, 1, size, file) == size;
    return fclose(file) == 0 && is_written;
}

void cu_cache_store(cu_device* device, const void* code, size_t size, uint32_t variant, const void* cubin, size_t cubin_size)
{
    static atomic_uint written;
    cache_header header;
    memset(&header, 0, sizeof header);
    header.key = make_key(device, code, size, variant);
    header.cubin_size = cubin_size;
    char path[640], part[640], behind[64];
    /* A name of this write's own, whatever process, thread or machine writes the same module. */
    snprintf(behind, sizeof behind, ".%llx-%x" UNFINISHED, (unsigned long long)(khal__process_id() ^ khal__clock_now() << 20),
             atomic_fetch_add(&written, 1u));
    if (cubin_size == 0 || cubin_size > MOST_CUBIN || !make_path(device, &header.key, SUFFIX, path, sizeof path) ||
        !make_path(device, &header.key, behind, part, sizeof part) || !khal__folder_make(device->cache_path))
        return;
    hash(cubin, cubin_size, header.checksum);
    if (!write_file(part, &header, cubin) || !khal__file_replace(part, path))
        khal__file_remove(part);
    else
        cu_cache_trim(device->cache_path, MOST_BYTES);
}
