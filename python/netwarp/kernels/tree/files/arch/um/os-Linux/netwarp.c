// SPDX-License-Identifier: GPL-2.0
/* netwarp: what the recorder and the random numbers need of the host. */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>
#include <netwarp_os.h>

/*
 * The machine's only source of chance. With NETWARP_SEED in the environment it
 * is the stream of SplitMix64 (Steele, Lea, Flood 2014) from that seed, so that
 * the seed decides every random number of the guest; without it, the host's.
 */
long netwarp_getrandom(void *buf, unsigned long len, unsigned int flags)
{
	static unsigned long long state;
	static int seeded = -1;
	unsigned char *out = buf;
	size_t i;

	if (seeded < 0) {
		const char *seed = getenv("NETWARP_SEED");

		seeded = seed != NULL;
		if (seeded)
			state = strtoull(seed, NULL, 0);
	}
	if (!seeded)
		return getrandom(buf, len, flags);

	for (i = 0; i < len; i++) {
		static unsigned long long z;

		if (i % 8 == 0) {
			z = (state += 0x9e3779b97f4a7c15ULL);
			z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
			z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
			z ^= z >> 31;
		}
		out[i] = z >> (8 * (i % 8));
	}
	return len;
}

/* The host's file descriptor for records, or -1. */
int netwarp_record_fd(void)
{
	const char *fd = getenv("NETWARP_RECORD_FD");

	return fd ? atoi(fd) : -1;
}

/* Writes everything, or returns a negative errno. */
int netwarp_write_all(int fd, const void *buf, unsigned long len)
{
	const char *p = buf;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= n;
	}
	return 0;
}
