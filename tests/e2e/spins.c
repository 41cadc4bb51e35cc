/* Spins in one way until a timer of a second has run out; prints how often, and how late that was in ns. */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "monotonic.h"

static volatile sig_atomic_t over;
static int pipe_ends[2];
static pid_t child;

static void on_alarm(int signal)
{
	over = signal;
}

static void spin(const char *kind)
{
	struct timespec nap = { 0, 1 };
	struct tms ticks;
	char byte;

	if (!strcmp(kind, "getpid")) {
		syscall(SYS_getpid);
	} else if (!strcmp(kind, "times")) {
		times(&ticks);
	} else if (!strcmp(kind, "yield")) {
		sched_yield();
	} else if (!strcmp(kind, "poll")) {
		poll(&(struct pollfd){ pipe_ends[0], POLLIN, 0 }, 1, 0);
	} else if (!strcmp(kind, "masked")) {	/* as FRR's loop does */
		sigset_t usr1, before;

		sigemptyset(&usr1);
		sigaddset(&usr1, SIGUSR1);
		sigprocmask(SIG_BLOCK, &usr1, &before);
		poll(&(struct pollfd){ pipe_ends[0], POLLIN, 0 }, 1, 0);
		sigprocmask(SIG_SETMASK, &before, NULL);
	} else if (!strcmp(kind, "ready")) {	/* as iperf3 does until its peer tells it to begin */
		if (poll(&(struct pollfd){ pipe_ends[1], POLLOUT, 0 }, 1, -1) != 1)
			_exit(3);
	} else if (!strcmp(kind, "read")) {
		if (read(pipe_ends[0], &byte, 1) == 1)
			_exit(3);
	} else if (!strcmp(kind, "wait")) {
		waitpid(child, NULL, WNOHANG);
	} else if (!strcmp(kind, "nap")) {
		nanosleep(&nap, NULL);
	} else if (!strcmp(kind, "fork")) {
		pid_t own = fork();

		if (!own) {
			for (int i = 0; i < 100; i++)
				syscall(SYS_getpid);
			_exit(0);
		}
		waitpid(own, NULL, 0);
	} else if (!strcmp(kind, "clock")) {
		now();
	} else if (!strcmp(kind, "ask")) {
		struct timespec asked;

		syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &asked);
	} else {
		_exit(2);
	}
}

int main(int argc, char **argv)
{
	struct itimerval second = { .it_value = { 1, 0 } };
	long long begin, calls = 0;

	prctl(PR_SET_TIMERSLACK, 1);	/* or a nap of a nanosecond takes 50 us */
	signal(SIGALRM, on_alarm);
	if (argc != 2 || pipe(pipe_ends) || fcntl(pipe_ends[0], F_SETFL, O_NONBLOCK))
		return 2;
	if (!strcmp(argv[1], "wait")) {
		child = fork();
		if (!child) {
			pause();
			_exit(0);
		}
	}
	begin = now();
	setitimer(ITIMER_REAL, &second, NULL);
	while (!over) {
		spin(argv[1]);
		calls++;
	}
	printf("%lld %lld\n", calls, now() - begin - 1000000000);
	if (child)
		kill(child, SIGKILL);
	return 0;
}
