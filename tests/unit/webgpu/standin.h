/* A WebGPU library for tests: memory and copies work, shaders run nothing, and it fails when it is told to. Programs reach its
 * switches through the symbol `standin`. */
#ifndef STANDIN_H
#define STANDIN_H

#include <stdbool.h>
#include <stdint.h>

typedef enum standin_error { STANDIN_VALIDATION = 2, STANDIN_OUT_OF_MEMORY = 3, STANDIN_INTERNAL = 4 } standin_error;

typedef struct standin_control {
    bool no_instance, no_adapter, no_device, no_limits, is_gpu;
    bool late_errors; /* they come to error scopes alone */
    /* Calls until one fails, of one kind each; 0: none does. With this error: */
    unsigned buffer, module, pipeline, group, encoder, finish, submit, write, map;
    standin_error error;
    const char* message;
    unsigned stalls;  /* turns of ProcessEvents in which nothing is answered */
    bool loses_finish; /* the device is lost inside the next Finish */
    /* what it was asked to do */
    unsigned submits, submits_of_invalid, encoders, finished, released_commands;
    unsigned live; /* objects that are not released */
} standin_control;

#endif
