/* A plugin for qemu-user: counts the instructions of the emulated program between marks.
 *
 * The program makes a mark with the system call getsid, which nothing else calls. At every mark the plugin prints
 * the number of instructions so far, one number a line, to the file descriptor of its output.
 *
 * The declarations are those of version 1 of qemu's plugin interface (qemu 4.2 to 8.1), which is not packaged
 * as a header. https://www.qemu.org/docs/master/devel/tcg-plugins.html */
#include <stdint.h>
#include <stdio.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
enum { INLINE_ADD_U64 };

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*call)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int operation, void *counter,
                                              uint64_t value);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
void qemu_plugin_register_vcpu_syscall_cb(plugin_id id,
                                          void (*call)(plugin_id, unsigned, int64_t, uint64_t, uint64_t,
                                                       uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                                       uint64_t));

EXPORT int qemu_plugin_version = 1;

enum { GETSID_ON_AARCH64 = 156 };

static uint64_t instructions;

/* Called once for every block of instructions that is translated: each run of it adds its length. */
static void count_block(plugin_id id, struct qemu_plugin_tb *block)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(block, INLINE_ADD_U64, &instructions,
                                             qemu_plugin_tb_n_insns(block));
}

static void print_at_mark(plugin_id id, unsigned processor, int64_t number, uint64_t a, uint64_t b, uint64_t c,
                          uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h)
{
    (void)id, (void)processor, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
    if (number == GETSID_ON_AARCH64) {
        fprintf(stderr, "instructions %llu\n", (unsigned long long)instructions);
        fflush(stderr);
    }
}

EXPORT int qemu_plugin_install(plugin_id id, const void *info, int count, char **arguments)
{
    (void)info, (void)count, (void)arguments;
    qemu_plugin_register_vcpu_tb_trans_cb(id, count_block);
    qemu_plugin_register_vcpu_syscall_cb(id, print_at_mark);
    return 0;
}
