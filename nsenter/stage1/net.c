/*
 * net.c: names of the host, and its loopback interface.
 */
#include "stage1.h"
#include <linux/sockios.h>

#define AF_UNIX 1
#define SOCK_DGRAM 2
#define SOCK_CLOEXEC 02000000
#define IFF_UP 1

/* struct ifreq, which the kernel's header can't give without libc's */
struct interface {
	char name[16];
	short flags;
	char rest[22];
};

long op_HOSTNAME(const struct op *o)
{
	return sys2(__NR_sethostname, str(o, 0), strlen(str(o, 0)));
}

long op_DOMAINNAME(const struct op *o)
{
	return sys2(__NR_setdomainname, str(o, 0), strlen(str(o, 0)));
}

long op_LO_UP(const struct op *o)
{
	struct interface lo = {"lo", IFF_UP, {0}};
	long fd = sys3(__NR_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), r;

	(void)o;
	if (fd < 0)
		return fd;
	r = sys3(__NR_ioctl, fd, SIOCSIFFLAGS, &lo);
	close_fd((int)fd);
	return r;
}
