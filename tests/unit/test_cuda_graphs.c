/* Commands that are submitted again, on the CUDA backend over a driver that checks how it is called: one graph, launched, updated
 * in place, and made again where dependencies changed. The stand-in runs what graphs leave open in the reverse order. */
#include "cuda/harness.h"

#include <pthread.h>

static khal_device* device;

static int use(void** state)
{
    (void)state;
    if (use_driver(STANDIN) != 0)
        return -1;
    device = NULL;
    return try_open(&device) == KHAL_OK ? 0 : -1;
}

static int use_old(void** state)
{
    (void)state;
    if (use_driver(STANDIN_OLD) != 0)
        return -1;
    device = NULL;
    return try_open(&device) == KHAL_OK ? 0 : -1;
}

static void submit(khal_commands* commands)
{
    khal_ticket ticket = 0;
    OK(khal_commands_submit(commands, &ticket));
    OK(khal_ticket_wait(device, ticket, KHAL_FOREVER));
}

static khal_commands* finish(khal_encoder* encoder)
{
    khal_commands* commands = NULL;
    OK(khal_encoder_finish(encoder, &commands));
    khal_encoder_release(encoder);
    return commands;
}

/* Three dispatches of `order` on one word, which depend on each other. */
static khal_commands* make_chain(khal_function* order, khal_buffer* buffer)
{
    khal_encoder* encoder = make_encoder(device);
    khal_pass* pass = NULL;
    OK(khal_pass_begin(encoder, NULL, &pass));
    for (uint32_t i = 1; i <= 3; ++i)
        record_in(pass, order, khal_threads(1, 1, 1), 1, (khal_slice[]){bytes(buffer, 0, 4)}, 4, &i);
    OK(khal_pass_end(pass));
    return finish(encoder);
}

static void one_launch_a_submit(void** state)
{
    (void)state;
    khal_function* order = get_function(device, "order");
    khal_buffer* buffer = new_buffer(device, 4, NULL);
    khal_commands* commands = make_chain(order, buffer);
    for (uint32_t turn = 0; turn < 5; ++turn) {
        OK(khal_buffer_write(buffer, 0, "\0\0\0", 4));
        hooks->forget();
        submit(commands);
        if (turn == 0) { /* what is submitted once is not worth a graph */
            assert_int_equal(hooks->calls("LaunchKernel"), 3);
            assert_int_equal(hooks->calls("GraphLaunch"), 0);
        } else {
            assert_int_equal(hooks->calls("GraphLaunch"), 1);
            assert_int_equal(hooks->calls("LaunchKernel"), 0);
            assert_int_equal(hooks->calls("GraphInstantiate"), turn == 1);
            assert_int_equal(hooks->calls("GraphExecKernelNodeSetParams"), 0);
        }
        assert_int_equal(read_word(buffer, 0), 123);
    }
    khal_commands_release(commands);
    khal_function_release(order);
    khal_buffer_release(buffer);
    close_device(device);
}

static void without_graphs(void** state)
{
    (void)state;
    khal_function* order = get_function(device, "order");
    khal_buffer* buffer = new_buffer(device, 4, NULL);
    khal_commands* commands = make_chain(order, buffer);
    submit(commands);
    submit(commands);
    assert_int_equal(read_word(buffer, 0), 123123);
    khal_commands_release(commands);
    khal_function_release(order);
    khal_buffer_release(buffer);
    close_device(device);
}

/* Values change the nodes that have them, and no others; launches on their way keep theirs. */
static void values_are_updated_in_place(void** state)
{
    (void)state;
    khal_function* order = get_function(device, "order");
    khal_buffer *buffer = new_buffer(device, 8, NULL), *other = new_buffer(device, 4, NULL);
    khal_commands* commands = make_chain(order, buffer);
    submit(commands);
    submit(commands);
    OK(khal_buffer_write(buffer, 0, "\0\0\0", 4));
    OK(khal_device_wait(device, KHAL_FOREVER));
    hooks->forget();
    hooks->hold(NULL, true);
    for (uint32_t i = 4; i < 7; ++i) {
        OK(khal_commands_set_push_constants(commands, 1, 0, &i, 4));
        OK(khal_commands_submit(commands, NULL));
    }
    assert_int_equal(hooks->calls("GraphExecKernelNodeSetParams"), 3);
    assert_int_equal(hooks->calls("GraphInstantiate"), 0);
    assert_int_equal(hooks->calls("GraphLaunch"), 3);
    hooks->hold(NULL, false);
    assert_int_equal(read_word(buffer, 0), 143153163);

    /* another slice: all three go to another word, in the same order among themselves */
    hooks->forget();
    for (uint32_t i = 0; i < 3; ++i)
        OK(khal_commands_set_slice(commands, i, 0, bytes(buffer, 4, 4)));
    submit(commands);
    assert_int_equal(hooks->calls("GraphExecKernelNodeSetParams"), 3);
    assert_int_equal(hooks->calls("GraphInstantiate"), 0);
    assert_int_equal(read_word(buffer, 0), 143153163);
    assert_int_equal(read_word(buffer, 4), 163);
    for (uint32_t i = 0; i < 3; ++i)
        OK(khal_commands_set_slice(commands, i, 0, bytes(other, 0, 4)));
    submit(commands);
    assert_int_equal(read_word(other, 0), 163);
    khal_commands_release(commands);
    khal_function_release(order);
    khal_buffer_release(buffer);
    khal_buffer_release(other);
    close_device(device);
}

/* Four dispatches that have nothing to do with each other, until slices make them depend. */
static void changed_hazards_make_it_again(void** state)
{
    (void)state;
    khal_function* order = get_function(device, "order");
    khal_buffer* buffer = new_buffer(device, 16, NULL);
    khal_encoder* encoder = make_encoder(device);
    khal_pass* pass = NULL;
    OK(khal_pass_begin(encoder, NULL, &pass));
    for (uint32_t i = 0; i < 4; ++i)
        record_in(pass, order, khal_threads(1, 1, 1), 1, (khal_slice[]){bytes(buffer, 4 * i, 4)}, 4, &(uint32_t){i + 1});
    OK(khal_pass_end(pass));
    khal_commands* commands = finish(encoder);
    submit(commands);
    hooks->forget();
    submit(commands);
    assert_non_null(strstr(hooks->journal(), "graph 4\n"));
    for (uint32_t i = 0; i < 4; ++i)
        assert_int_equal(read_word(buffer, 4 * i), 11 * (i + 1));

    hooks->forget();
    for (uint32_t i = 0; i < 4; ++i)
        OK(khal_commands_set_slice(commands, i, 0, bytes(buffer, 8, 4)));
    OK(khal_buffer_write(buffer, 8, "\0\0\0", 4));
    submit(commands);
    assert_int_equal(hooks->calls("GraphInstantiate"), 1);
    assert_int_equal(read_word(buffer, 8), 1234);
    submit(commands);
    assert_int_equal(hooks->calls("GraphInstantiate"), 1);
    assert_int_equal(read_word(buffer, 8), 12341234);

    hooks->forget();
    for (uint32_t i = 0; i < 4; ++i)
        OK(khal_commands_set_slice(commands, i, 0, bytes(buffer, 12 - 4 * i, 4)));
    OK(khal_buffer_write(buffer, 0, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16));
    submit(commands);
    assert_int_equal(hooks->calls("GraphInstantiate"), 1);
    for (uint32_t i = 0; i < 4; ++i)
        assert_int_equal(read_word(buffer, 12 - 4 * i), i + 1);
    khal_commands_release(commands);
    khal_function_release(order);
    khal_buffer_release(buffer);
    close_device(device);
}

/* Independent dispatches are branches: nothing orders them. */
static int note_order(void* user, const standin_launch* launch)
{
    char* digits = user;
    const size_t length = strlen(digits);
    if (length < 60)
        digits[length] = (char)('0' + cuda_value(launch, 1));
    return 0;
}

static void independent_dispatches_are_branches(void** state)
{
    (void)state;
    char digits[64] = "";
    hooks->kernel("order", note_order, digits);
    khal_function* order = get_function(device, "order");
    khal_buffer* buffer = new_buffer(device, 64, NULL);
    khal_encoder* encoder = make_encoder(device);
    khal_pass* pass = NULL;
    OK(khal_pass_begin(encoder, NULL, &pass));
    for (uint32_t i = 0; i < 4; ++i)
        record_in(pass, order, khal_threads(1, 1, 1), 1, (khal_slice[]){bytes(buffer, 4 * i, 4)}, 4, &(uint32_t){i + 1});
    OK(khal_pass_end(pass));
    khal_commands* commands = finish(encoder);
    submit(commands);
    memset(digits, 0, sizeof digits);
    submit(commands);
    assert_string_equal(digits, "4321");
    khal_commands_release(commands);
    khal_function_release(order);
    khal_buffer_release(buffer);
    close_device(device);
}

/* Stages of several dispatches, copies and fills: each sees all of the stage before it, whatever order its own have. */
static void stages(void** state)
{
    (void)state;
    enum { N = 40, ROUNDS = 6 };
    khal_function* pair = get_function(device, "pair");
    khal_buffer *a = new_buffer(device, 4 * N, NULL), *b = new_buffer(device, 4 * N, NULL), *c = new_buffer(device, 4 * N, NULL);
    khal_encoder* encoder = make_encoder(device);
    for (uint32_t round = 0; round < ROUNDS; ++round) {
        khal_buffer *from = round % 2 ? b : a, *to = round % 2 ? a : b;
        khal_pass* pass = NULL;
        OK(khal_pass_begin(encoder, NULL, &pass));
        for (uint32_t i = 0; i < N; ++i)
            record_in(pass, pair, khal_threads(1, 1, 1), 2,
                      (khal_slice[]){bytes(to, 4 * i, 4), bytes(from, 4 * ((i * 7 + round) % N), 4)}, 4, &i);
        OK(khal_pass_end(pass));
        OK(khal_encoder_copy(encoder, bytes(to, 0, 80), bytes(c, 80, 80)));
        OK(khal_encoder_fill(encoder, bytes(c, 0, 40), &round, 4));
        OK(khal_encoder_copy(encoder, bytes(c, 0, 20), bytes(to, 100, 20)));
    }
    khal_commands* commands = finish(encoder);
    uint32_t x[2][N] = {{0}}, z[N] = {0}, back[N];
    for (uint32_t turn = 0; turn < 3; ++turn) {
        hooks->forget();
        submit(commands);
        assert_int_equal(hooks->calls("GraphLaunch"), turn > 0);
        for (uint32_t round = 0; round < ROUNDS; ++round) {
            uint32_t *from = x[round % 2], *to = x[1 - round % 2];
            for (uint32_t i = 0; i < N; ++i)
                to[i] = from[(i * 7 + round) % N] + i;
            memcpy(z + 20, to, 80);
            for (uint32_t i = 0; i < 10; ++i)
                z[i] = round;
            memcpy(to + 25, z, 20);
        }
        OK(khal_buffer_read(a, 0, back, sizeof back, KHAL_FOREVER));
        assert_memory_equal(back, x[0], sizeof back);
        OK(khal_buffer_read(b, 0, back, sizeof back, KHAL_FOREVER));
        assert_memory_equal(back, x[1], sizeof back);
        OK(khal_buffer_read(c, 0, back, sizeof back, KHAL_FOREVER));
        assert_memory_equal(back, z, sizeof back);
    }
    khal_commands_release(commands);
    khal_function_release(pair);
    khal_buffer_release(a);
    khal_buffer_release(b);
    khal_buffer_release(c);
    close_device(device);
}

/* A pattern of 16 bytes is no node: the commands run one by one, with their values. */
static void commands_that_make_no_graph(void** state)
{
    (void)state;
    khal_function* pair = get_function(device, "pair");
    khal_buffer *a = new_buffer(device, 64, NULL), *b = new_buffer(device, 64, NULL);
    khal_encoder* encoder = make_encoder(device);
    OK(khal_encoder_fill(encoder, bytes(a, 0, 16), "\1\2\3\4\5\6\7\10\1\2\3\4\5\6\7\10", 16));
    record(encoder, pair, khal_threads(1, 1, 1), 2, (khal_slice[]){bytes(b, 0, 4), bytes(a, 4, 4)}, 4, &(uint32_t){0});
    OK(khal_encoder_copy(encoder, bytes(b, 0, 4), bytes(a, 32, 4)));
    khal_commands* commands = finish(encoder);
    for (uint32_t i = 0; i < 4; ++i) {
        OK(khal_commands_set_push_constants(commands, 0, 0, &i, 4));
        submit(commands);
        assert_int_equal(read_word(a, 32), 0x08070605 + i);
    }
    assert_int_equal(hooks->calls("GraphLaunch"), 0);
    khal_commands_release(commands);
    khal_function_release(pair);
    khal_buffer_release(a);
    khal_buffer_release(b);
    close_device(device);
}

/* What a graph that still runs needs outlives its commands. */
static void released_while_it_runs(void** state)
{
    (void)state;
    khal_function* order = get_function(device, "order");
    khal_buffer* buffer = new_buffer(device, 4, NULL);
    khal_commands* commands = make_chain(order, buffer);
    submit(commands);
    submit(commands);
    OK(khal_buffer_write(buffer, 0, "\0\0\0", 4));
    hooks->hold(NULL, true);
    OK(khal_commands_submit(commands, NULL));
    khal_commands_release(commands);
    khal_function_release(order);
    order = get_function(device, "order");
    khal_commands* more = make_chain(order, buffer);
    khal_function_release(order);
    OK(khal_commands_submit(more, NULL));
    OK(khal_commands_submit(more, NULL));
    hooks->hold(NULL, false);
    assert_int_equal(read_word(buffer, 0), 123123123);
    khal_commands_release(more);
    khal_buffer_release(buffer);
    close_device(device);
}

static void* submit_again_and_again(void* user)
{
    for (int i = 0; i < 200; ++i) {
        khal_ticket ticket = 0;
        if (khal_commands_submit(user, &ticket) != KHAL_OK ||
            (i % 10 == 0 && khal_ticket_wait(device, ticket, KHAL_FOREVER) != KHAL_OK))
            return NULL;
    }
    return user;
}

static int count_up(void* user, const standin_launch* launch)
{
    (void)user;
    uint32_t* word = cuda_argument(launch, 0, 4);
    if (word != NULL)
        *word += cuda_value(launch, 1);
    return 0;
}

static void several_threads_submit_one(void** state)
{
    (void)state;
    hooks->kernel("order", count_up, NULL);
    khal_function* order = get_function(device, "order");
    khal_buffer* buffer = new_buffer(device, 4, NULL);
    khal_commands* commands = make_chain(order, buffer);
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, submit_again_and_again, commands), 0);
    for (int i = 0; i < 3; ++i) {
        void* result = NULL;
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, commands);
    }
    OK(khal_device_wait(device, KHAL_FOREVER));
    assert_int_equal(read_word(buffer, 0), 600 * 6);
    khal_commands_release(commands);
    khal_function_release(order);
    khal_buffer_release(buffer);
    close_device(device);
}

/* A graph that can't be had, for any reason, leaves the commands to run one by one. */
static void graphs_that_fail(void** state)
{
    (void)state;
    static const char* const functions[] = {"GraphCreate", "GraphAddKernelNode", "GraphInstantiate", "GraphLaunch",
                                            "GraphExecKernelNodeSetParams"};
    static const int codes[] = {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE};
    for (size_t k = 0; k < 5 * 3; ++k) {
        khal_function* order = get_function(device, "order");
        khal_buffer* buffer = new_buffer(device, 4, NULL);
        khal_commands* commands = make_chain(order, buffer);
        uint32_t expected = 0;
        hooks->fail_call(functions[k % 5], 1, codes[k / 5]);
        for (uint32_t turn = 1; turn <= 4; ++turn) {
            OK(khal_commands_set_push_constants(commands, 2, 0, &turn, 4));
            OK(khal_buffer_write(buffer, 0, "\0\0\0", 4));
            khal_ticket ticket = 0;
            const khal_status status = khal_commands_submit(commands, &ticket);
            expected = 120 + turn;
            if (status != KHAL_OK) /* an error, and no ticket */
                expected = 0;
            else
                OK(khal_ticket_wait(device, ticket, KHAL_FOREVER));
            assert_int_equal(read_word(buffer, 0), expected);
        }
        assert_int_equal(expected, 124);
        assert_non_null(hooks->failed());
        khal_commands_release(commands);
        khal_function_release(order);
        khal_buffer_release(buffer);
    }
    close_device(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_launch_a_submit, use),
        cmocka_unit_test_setup(without_graphs, use_old),
        cmocka_unit_test_setup(values_are_updated_in_place, use),
        cmocka_unit_test_setup(changed_hazards_make_it_again, use),
        cmocka_unit_test_setup(independent_dispatches_are_branches, use),
        cmocka_unit_test_setup(stages, use),
        cmocka_unit_test_setup(commands_that_make_no_graph, use),
        cmocka_unit_test_setup(released_while_it_runs, use),
        cmocka_unit_test_setup(several_threads_submit_one, use),
        cmocka_unit_test_setup(graphs_that_fail, use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
