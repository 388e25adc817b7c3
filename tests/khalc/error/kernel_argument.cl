struct node { global struct node* next; };
struct flags { uint a; };
kernel void k(global struct node* list, constant struct node* more, struct flags f) { list[0] = *more; }
