/* A process that has launched is forked: the child is held to its time limit, too. */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    ptx_run(".version 8.0\n.target sm_80\n.address_size 64\n.entry k() { ret; }", 0, NULL, 1, 1, 1, 1, 1, 1, 0);
    CHECK(strcmp(ptx_last_error(), "") == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        ptx_run(".version 8.0\n.target sm_80\n.address_size 64\n.entry k() { M: bra M; }", 0, NULL, 1, 1, 1, 1, 1, 1, 0);
        CHECK(strstr(ptx_last_error(), "time limit"));
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 0;
}
