/* What the examples share, so that each shows little but khal: the command line, time, and the line of result. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <khal/khal.h>

/* Opens the device that `--device NAME` names: a backend (cpu, cuda, ...), a number of khal-info's list, or a part of a
 * device's name; without it, the best there is. Takes the option out of argc and argv. NULL after an error, which is
 * printed. */
khal_device* example_open(int* argc, char** argv);

/* Prints the thread's last khal error and returns the exit status for it, 1. */
int example_fail(void);

/* Seconds of a clock that only goes forward. */
double example_seconds(void);

/* The larger of `largest` and the difference of two values; infinity once a value is not a number. */
double example_error(double largest, double actual, double expected);

/* Prints the line: device, what was done, largest error, time, and the time of the plain C that it was compared with.
 * Returns the exit status: 0, or 1 where the error is more than allowed. */
int example_report(khal_device* device, const char* what, double error, double allowed, double seconds,
                   double plain_seconds);

#endif
