/* CUDA's compiled modules on disk: what a reader finds whatever became of the writers. */
#include "front.h"

#include "backends/cuda/cu.h"
#include "platform/platform.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static khal_device* front;
static cu_library library = {.version = 12040};
static cu_device device;
static char folder[256];

static const char code[] = ".version 6.3\n.target sm_75\n.address_size 64\n";
static const char other[] = ".version 6.3\n.target sm_80\n.address_size 64\n";

static void fill(unsigned char* bytes, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; ++i)
        bytes[i] = (unsigned char)((i * 31 + seed) >> (i % 3));
}

static void forget_file(const char* name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    khal__file_remove(path);
}

typedef struct listing {
    uint32_t count, unfinished;
    uint64_t size;
    char last[128];
} listing;

static bool list(void* user, const char* name, uint64_t size, uint64_t modified)
{
    listing* l = user;
    assert_true(modified > 0);
    ++l->count;
    l->size += size;
    l->unfinished += strstr(name, ".part") != NULL;
    snprintf(l->last, sizeof l->last, "%s", name);
    return true;
}

static listing look(void)
{
    listing l = {0};
    khal__folder_visit(folder, list, &l);
    return l;
}

static int set_up(void** state)
{
    (void)state;
    snprintf(folder, sizeof folder, "cu_cache_test_%llu/deep/er", (unsigned long long)khal__process_id());
    OK(khal_device_open(&(khal_device_desc){.backend = KHAL_BACKEND_NOOP}, &front));
    memset(&device, 0, sizeof device);
    device.front = front;
    device.library = &library;
    device.capability = 90;
    cu_cache_folder(folder, device.cache_path, sizeof device.cache_path);
    return 0;
}

static int tear_down(void** state)
{
    (void)state;
    for (listing l = look(); l.count > 0; l = look())
        forget_file(l.last);
    char path[256];
    memcpy(path, folder, sizeof path);
    for (int i = 0; i < 3; ++i) {
        rmdir(path);
        char* slash = strrchr(path, '/');
        if (slash != NULL)
            *slash = 0;
    }
    khal_device_release(front);
    return 0;
}

static void store(const char* text, unsigned seed, size_t size)
{
    unsigned char* cubin = malloc(size);
    assert_non_null(cubin);
    fill(cubin, size, seed);
    cu_cache_store(&device, text, strlen(text), 0, cubin, size);
    free(cubin);
}

/* Whether the cubin of that seed and size is found; anything else is a failure. */
static bool finds(const char* text, unsigned seed, size_t size)
{
    size_t found_size = 0;
    unsigned char* found = cu_cache_load(&device, text, strlen(text), 0, &found_size);
    if (found == NULL)
        return false;
    unsigned char* cubin = malloc(size);
    assert_non_null(cubin);
    fill(cubin, size, seed);
    assert_int_equal(found_size, size);
    assert_memory_equal(found, cubin, size);
    free(cubin);
    khal__free(front, found, found_size);
    return true;
}

static void what_is_stored_is_found(void** state)
{
    (void)state;
    assert_false(finds(code, 1, 1000)); /* there is not even a folder */
    store(code, 1, 1000);
    assert_true(finds(code, 1, 1000));
    assert_false(finds(other, 1, 1000));
    store(other, 2, 70000);
    assert_true(finds(other, 2, 70000));
    assert_true(finds(code, 1, 1000));
    store(code, 3, 10); /* in the place of the one before */
    assert_true(finds(code, 3, 10));
    assert_int_equal(look().count, 2);
    store(code, 3, 0); /* not a module */
    assert_true(finds(code, 3, 10));
}

static void each_key_has_its_own(void** state)
{
    (void)state;
    size_t size = 0;
    store(code, 1, 100);
    device.capability = 80;
    assert_false(finds(code, 1, 100));
    device.capability = 90;
    library.version = 13000;
    assert_false(finds(code, 1, 100));
    library.version = 12040;
    assert_null(cu_cache_load(&device, code, strlen(code), 1, &size)); /* the variant */
    assert_null(cu_cache_load(&device, code, strlen(code) - 1, 0, &size));
    assert_true(finds(code, 1, 100));
}

static void path_of_the_only_one(char path[512])
{
    const listing l = look();
    assert_int_equal(l.count, 1);
    snprintf(path, 512, "%s/%s", folder, l.last);
}

/* Whatever byte is wrong, and wherever the file ends, it is a miss, and stored anew it is whole again. */
static void what_is_broken_is_a_miss(void** state)
{
    (void)state;
    char path[512];
    unsigned char bytes[600];
    store(code, 1, 300);
    path_of_the_only_one(path);
    FILE* file = fopen(path, "rb");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_true(size > 300 && size < sizeof bytes);
    for (size_t i = 0; i <= 2 * size; ++i) {
        const size_t at = i % size;
        const bool is_cut = i >= size;
        file = fopen(path, "wb");
        assert_non_null(file);
        bytes[at] ^= 0x10;
        if (is_cut)
            bytes[at] ^= 0x10;
        assert_int_equal(fwrite(bytes, 1, is_cut ? at : size, file), is_cut ? at : size);
        if (i == 2 * size) { /* longer than it says */
            assert_int_equal(fwrite(bytes, 1, size, file), size);
            assert_int_equal(fputc(0, file), 0);
        }
        fclose(file);
        if (!is_cut)
            bytes[at] ^= 0x10;
        assert_false(finds(code, 1, 300));
    }
    store(code, 1, 300);
    assert_true(finds(code, 1, 300));
    assert_int_equal(look().count, 1);
}

/* The whole file of one code under another's name. */
static void another_file_of_its_name_is_a_miss(void** state)
{
    (void)state;
    char name[512], beside[512];
    store(other, 2, 300);
    path_of_the_only_one(name);
    khal__file_remove(name);
    store(code, 1, 300);
    path_of_the_only_one(beside);
    assert_true(khal__file_replace(beside, name));
    assert_false(finds(other, 1, 300));
    assert_false(finds(code, 1, 300));
    store(other, 2, 300);
    assert_true(finds(other, 2, 300));
}

static void without_a_folder_there_is_none(void** state)
{
    (void)state;
    device.cache_path[0] = 0;
    store(code, 1, 100);
    assert_false(finds(code, 1, 100));
    snprintf(device.cache_path, sizeof device.cache_path, "/dev/null/khal");
    store(code, 1, 100); /* no error */
    assert_false(finds(code, 1, 100));
    memset(device.cache_path, 'x', sizeof device.cache_path - 1);
    store(code, 1, 100);
    assert_false(finds(code, 1, 100));
    assert_int_equal(look().count, 0);
}

static void the_platform_has_a_folder(void** state)
{
    (void)state;
    char path[64], tiny[8];
    setenv("XDG_CACHE_HOME", "/var/xdg", 1);
    setenv("HOME", "/home/someone", 1);
    cu_cache_folder(NULL, path, sizeof path);
    assert_string_equal(path, "/var/xdg/khal");
    cu_cache_folder(NULL, tiny, sizeof tiny);
    assert_string_equal(tiny, "");
    setenv("XDG_CACHE_HOME", "relative", 1);
    cu_cache_folder(NULL, path, sizeof path);
    assert_string_equal(path, "/home/someone/.cache/khal");
    unsetenv("HOME");
    cu_cache_folder(NULL, path, sizeof path);
    assert_string_equal(path, "");
    cu_cache_folder("", path, sizeof path);
    assert_string_equal(path, "");
    cu_cache_folder("here", path, sizeof path);
    assert_string_equal(path, "here");
}

/* Processes that write and read the same few modules at once: each reader finds a whole one or none. */
static void many_at_once(void** state)
{
    (void)state;
    pid_t children[4];
    for (unsigned c = 0; c < 4; ++c) {
        children[c] = fork();
        assert_true(children[c] >= 0);
        if (children[c] != 0)
            continue;
        bool right = true;
        for (unsigned i = 0; i < 300 && right; ++i) {
            static unsigned char cubin[3][5000];
            const char* text = i % 2 != 0 ? code : other;
            for (unsigned s = 0; s < 3 && i == 0; ++s)
                fill(cubin[s], sizeof cubin[s], s);
            cu_cache_store(&device, text, strlen(text), 0, cubin[(i + c) % 3], sizeof cubin[0]);
            size_t size = 0;
            unsigned char* found = cu_cache_load(&device, text, strlen(text), 0, &size);
            right = found != NULL && size == sizeof cubin[0] &&
                    (memcmp(found, cubin[0], size) == 0 || memcmp(found, cubin[1], size) == 0 ||
                     memcmp(found, cubin[2], size) == 0);
            if (found != NULL)
                khal__free(front, found, size);
        }
        _exit(right ? 0 : 1);
    }
    for (unsigned c = 0; c < 4; ++c) {
        int status = -1;
        assert_int_equal(waitpid(children[c], &status, 0), children[c]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    const listing l = look();
    assert_int_equal(l.count, 2);
    assert_int_equal(l.unfinished, 0);
}

/* Whenever a writer is killed, a reader finds the whole module or none. What it left goes after an hour. */
static void a_killed_writer(void** state)
{
    (void)state;
    for (unsigned turn = 0; turn < 30; ++turn) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            for (;;)
                store(code, 1, 200000);
        const struct timespec nap = {0, (long)(turn * 300000)};
        nanosleep(&nap, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        (void)finds(code, 1, 200000); /* checks what it finds */
    }
    store(code, 1, 200000);
    assert_true(finds(code, 1, 200000));

    char path[512];
    snprintf(path, sizeof path, "%s/0123.77-1.part", folder);
    FILE* file = fopen(path, "wb");
    assert_non_null(file);
    fclose(file);
    const uint32_t before = look().unfinished;
    assert_true(before >= 1);
    cu_cache_trim(folder, UINT64_MAX);
    assert_int_equal(look().unfinished, before); /* someone may be writing it */
    const struct timespec old[2] = {{time(NULL) - 7200, 0}, {time(NULL) - 7200, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    cu_cache_trim(folder, UINT64_MAX);
    assert_int_equal(look().unfinished, before - 1);
    assert_true(finds(code, 1, 200000));
}

static void the_oldest_go(void** state)
{
    (void)state;
    char text[8][32];
    for (int i = 0; i < 8; ++i) {
        snprintf(text[i], sizeof text[i], "code number %d", i);
        const uint32_t count = look().count;
        store(text[i], (unsigned)i, 1000);
        assert_int_equal(look().count, count + 1);
        const struct timespec nap = {0, 20000000}; /* the file system's clock may be coarse */
        nanosleep(&nap, NULL);
    }
    const uint64_t each = look().size / 8;
    char path[512];
    snprintf(path, sizeof path, "%s/not ours", folder);
    FILE* file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(path, 1, 400, file), 400);
    fclose(file);
    cu_cache_trim(folder, 3 * each);
    for (int i = 0; i < 8; ++i)
        assert_int_equal(finds(text[i], (unsigned)i, 1000), i >= 5);
    assert_int_equal(look().count, 4);
    cu_cache_trim(folder, 0);
    assert_int_equal(look().count, 1); /* what is not ours stays */
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(what_is_stored_is_found),
        CASE(each_key_has_its_own),
        CASE(what_is_broken_is_a_miss),
        CASE(another_file_of_its_name_is_a_miss),
        CASE(without_a_folder_there_is_none),
        CASE(the_platform_has_a_folder),
        CASE(many_at_once),
        CASE(a_killed_writer),
        CASE(the_oldest_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
