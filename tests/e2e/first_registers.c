/* Prints the registers that a program begins with: `NAME VALUE` for each that is not 0. Without libc, which uses them. */
typedef unsigned long word;

enum { ARCH_GET_FS = 0x1003, ARCH_GET_GS = 0x1004, FX_WORDS = 416 / 8, WRITE = 1, EXIT = 60, ARCH_PRCTL = 158 };

word general[14];
word vectors[512 / 8] __attribute__((aligned(64)));

__asm__(".globl _start\n"
	"_start:\n"
	"mov %rax, general\n mov %rbx, general+8\n mov %rcx, general+16\n mov %rdx, general+24\n"
	"mov %rsi, general+32\n mov %rdi, general+40\n mov %rbp, general+48\n mov %r8, general+56\n"
	"mov %r9, general+64\n mov %r10, general+72\n mov %r12, general+80\n mov %r13, general+88\n"
	"mov %r14, general+96\n mov %r15, general+104\n"
	"fxsave64 vectors\n"
	"and $-16, %rsp\n"
	"call print\n");

static long call(long number, word one, word two, word three)
{
	long answer;

	__asm__ volatile("syscall"
			 : "=a"(answer)
			 : "a"(number), "D"(one), "S"(two), "d"(three)
			 : "rcx", "r11", "memory");
	return answer;
}

static void show(const char *name, word number, word value)
{
	char line[64];
	int at = 0;

	while (*name)
		line[at++] = *name++;
	line[at++] = '0' + number / 10;
	line[at++] = '0' + number % 10;
	line[at++] = ' ';
	for (int shift = 60; shift >= 0; shift -= 4)
		line[at++] = "0123456789abcdef"[value >> shift & 15];
	line[at++] = '\n';
	if (value)
		call(WRITE, 1, (word)line, at);
}

void print(void)
{
	word base = 0;

	for (int at = 0; at < 14; at++)
		show("general ", at, general[at]);
	call(ARCH_PRCTL, ARCH_GET_FS, (word)&base, 0);
	show("fs ", 0, base);
	call(ARCH_PRCTL, ARCH_GET_GS, (word)&base, 0);
	show("gs ", 0, base);
	/* The last two words are of the fourth: MXCSR, and its mask, which is the processor's. */
	show("control ", 0, vectors[0]);
	show("mxcsr ", 0, vectors[3] & 0xffffffff);
	for (int at = 4; at < FX_WORDS; at++)
		show("vector ", at, vectors[at]);
	call(EXIT, 0, 0, 0);
}
