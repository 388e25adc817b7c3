#define SCALE(x) ((x) * FACTOR)
