/* Gravity among 2,049 bodies for 20 steps. A step is recorded once and submitted again and again; the positions are
 * compared with the same steps in plain C, and the energy, worked out in double, may not drift. */
#include "../common/example.h"
#include "nbody.khal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 2049, STEPS = 20 };
static const float DT = 0.002f, SOFTENING = 0.05f;

typedef struct body { float x, y, z, w; } body; /* a float4 of the kernels */
typedef struct bodies { body position[COUNT], velocity[COUNT]; } bodies;

typedef struct simulation {
    nbody* kernels;
    khal_buffer *position, *velocity;
    khal_encoder* encoder;
    khal_commands* step;
} simulation;

static void record_kick(simulation* s, khal_pass* pass, float dt)
{
    nbody_kick(s->kernels, pass, khal_threads(COUNT, 1, 1),
               &(nbody_kick_args){.position = khal_slice_float4_all(s->position),
                                  .velocity = khal_slice_float4_all(s->velocity),
                                  .count = COUNT,
                                  .dt = dt,
                                  .softening = SOFTENING});
}

static khal_status record_step(simulation* s)
{
    khal_pass* pass = NULL;
    khal_pass_begin(s->encoder, &(khal_pass_desc){.label = "step"}, &pass);
    nbody_drift(s->kernels, pass, khal_threads(COUNT, 1, 1),
                &(nbody_drift_args){.position = khal_slice_float4_all(s->position),
                                    .velocity = khal_slice_float4_all(s->velocity),
                                    .count = COUNT,
                                    .dt = DT});
    record_kick(s, pass, DT);
    khal_pass_end(pass);
    return khal_encoder_finish(s->encoder, &s->step);
}

static khal_status submit_kick(simulation* s, float dt)
{
    khal_pass* pass = NULL;
    khal_pass_begin(s->encoder, NULL, &pass);
    record_kick(s, pass, dt);
    khal_pass_end(pass);
    return khal_submit(s->encoder, NULL);
}

static bool set_up(khal_device* device, const bodies* start, simulation* s)
{
    const khal_buffer_desc position = {.data = start->position, .size = sizeof start->position, .element_size = sizeof(body)};
    const khal_buffer_desc velocity = {.data = start->velocity, .size = sizeof start->velocity, .element_size = sizeof(body)};
    return !(nbody_load(device, &s->kernels) || khal_buffer_create(device, &position, &s->position)
             || khal_buffer_create(device, &velocity, &s->velocity) || khal_encoder_create(device, NULL, &s->encoder)
             || record_step(s));
}

static bool simulate(khal_device* device, simulation* s, bodies* out, double* out_seconds)
{
    const double start = example_seconds();
    if (submit_kick(s, DT / 2)) /* velocities run half a step ahead of positions */
        return false;
    for (int step = 0; step < STEPS; step++)
        if (khal_commands_submit(s->step, NULL))
            return false;
    if (submit_kick(s, -DT / 2) || khal_device_wait(device, KHAL_FOREVER))
        return false;
    *out_seconds = example_seconds() - start;
    return !(khal_buffer_read(s->position, 0, out->position, sizeof out->position, KHAL_FOREVER)
             || khal_buffer_read(s->velocity, 0, out->velocity, sizeof out->velocity, KHAL_FOREVER));
}

static void tear_down(simulation* s)
{
    khal_commands_release(s->step);
    khal_encoder_release(s->encoder);
    khal_buffer_release(s->velocity);
    khal_buffer_release(s->position);
    nbody_release(s->kernels);
}

static void plain_kick(bodies* b, float dt)
{
    for (int i = 0; i < COUNT; i++) {
        float x = 0, y = 0, z = 0;
        for (int j = 0; j < COUNT; j++) {
            const float dx = b->position[j].x - b->position[i].x, dy = b->position[j].y - b->position[i].y,
                        dz = b->position[j].z - b->position[i].z;
            const float inverse = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + SOFTENING * SOFTENING);
            const float scale = b->position[j].w * inverse * inverse * inverse;
            x += dx * scale;
            y += dy * scale;
            z += dz * scale;
        }
        b->velocity[i].x += x * dt;
        b->velocity[i].y += y * dt;
        b->velocity[i].z += z * dt;
    }
}

static double plain_simulate(bodies* b)
{
    const double start = example_seconds();
    plain_kick(b, DT / 2);
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < COUNT; i++) {
            b->position[i].x += b->velocity[i].x * DT;
            b->position[i].y += b->velocity[i].y * DT;
            b->position[i].z += b->velocity[i].z * DT;
        }
        plain_kick(b, DT);
    }
    plain_kick(b, -DT / 2);
    return example_seconds() - start;
}

static double energy(const bodies* b)
{
    double sum = 0;
    for (int i = 0; i < COUNT; i++) {
        const body p = b->position[i], v = b->velocity[i];
        sum += 0.5 * p.w * ((double)v.x * v.x + (double)v.y * v.y + (double)v.z * v.z);
        for (int j = 0; j < i; j++) {
            const double x = b->position[j].x - p.x, y = b->position[j].y - p.y, z = b->position[j].z - p.z;
            sum -= p.w * b->position[j].w / sqrt(x * x + y * y + z * z + (double)SOFTENING * SOFTENING);
        }
    }
    return sum;
}

static float random_float(uint32_t* state) /* from -1 to 1 */
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) * 0x1p-23f - 1.0f;
}

/* A ball of bodies that turns around the z axis; all masses together are 1. */
static void make_bodies(bodies* b)
{
    uint32_t random = 1;
    for (int i = 0; i < COUNT; i++) {
        body p;
        do
            p = (body){random_float(&random), random_float(&random), random_float(&random), 1.0f / COUNT};
        while (p.x * p.x + p.y * p.y + p.z * p.z > 1);
        b->position[i] = p;
        b->velocity[i] = (body){-0.8f * p.y, 0.8f * p.x, 0, 0};
    }
}

static int compare(khal_device* device, const bodies* start, const bodies* found, bodies* plain, double seconds)
{
    const double plain_seconds = plain_simulate(plain);
    double error = 0;
    for (int i = 0; i < COUNT; i++) {
        error = example_error(error, found->position[i].x, plain->position[i].x);
        error = example_error(error, found->position[i].y, plain->position[i].y);
        error = example_error(error, found->position[i].z, plain->position[i].z);
    }
    const double before = energy(start), drift = fabs(energy(found) / before - 1);
    char what[80];
    snprintf(what, sizeof what, "nbody, %d bodies, %d steps, energy drift %.1e", COUNT, STEPS, drift);
    const int status = example_report(device, what, error, 1e-4, seconds, plain_seconds);
    if (!(drift < 1e-4))
        fprintf(stderr, "error: the energy drifted by %.1e of itself, more than 1e-4\n", drift);
    return drift < 1e-4 ? status : 1;
}

static int run(khal_device* device, bodies memory[3])
{
    bodies *start = &memory[0], *found = &memory[1], *plain = &memory[2];
    make_bodies(start);
    *plain = *start;
    simulation s = {0};
    double seconds;
    const int status = set_up(device, start, &s) && simulate(device, &s, found, &seconds)
                           ? compare(device, start, found, plain, seconds)
                           : example_fail();
    tear_down(&s);
    return status;
}

int main(int argc, char** argv)
{
    khal_device* device = example_open(&argc, argv);
    bodies* memory = calloc(3, sizeof *memory);
    if (!memory)
        fputs("error: out of memory\n", stderr);
    const int status = device && memory ? run(device, memory) : 1;
    free(memory);
    khal_device_release(device);
    return status;
}
