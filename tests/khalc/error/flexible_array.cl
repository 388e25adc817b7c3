/* One error: what follows from a type that was refused is not reported again. */
struct list {
    int count;
    int items[];
};

__kernel void f(__global struct list* l)
{
    l->items[l->count] = l->items[0] + 3;
}
