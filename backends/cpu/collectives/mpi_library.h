// MPI's library, opened at run time.
//
// Three ABIs are known: the standard one, MPICH's own, and Open MPI's. Handles are passed as
// pointers in all of them: where they are ints, these lie in the lower half, which is what the
// library reads and writes on the machines that we run on.
#pragma once

#include <cstddef>
#include <string>

namespace infini::cpu::collectives {

struct MpiLibrary {
    using Handle = void *;

    // False with the reason where there is none that fits what started this process.
    bool open(std::string *problem);
    // What the library says of an error.
    std::string error_text(int code) const;

    int (*Initialized)(int *) = nullptr;
    int (*Finalized)(int *) = nullptr;
    int (*Init_thread)(int *, char ***, int, int *) = nullptr;
    int (*Query_thread)(int *) = nullptr;
    int (*Finalize)() = nullptr;
    int (*Comm_rank)(Handle, int *) = nullptr;
    int (*Comm_size)(Handle, int *) = nullptr;
    int (*Comm_dup)(Handle, Handle *) = nullptr;
    int (*Comm_get_attr)(Handle, int, void *, int *) = nullptr;
    int (*Comm_set_errhandler)(Handle, Handle) = nullptr;
    int (*Isend)(const void *, int, Handle, int, int, Handle, Handle *) = nullptr;
    int (*Irecv)(void *, int, Handle, int, int, Handle, Handle *) = nullptr;
    int (*Improbe)(int, int, Handle, int *, Handle *, void *) = nullptr;
    int (*Mrecv)(void *, int, Handle, Handle *, void *) = nullptr;
    int (*Test)(Handle *, int *, void *) = nullptr;
    int (*Get_count)(const void *, Handle, int *) = nullptr;
    int (*Cancel)(Handle *) = nullptr;
    int (*Request_free)(Handle *) = nullptr;
    int (*Error_string)(int, char *, int *) = nullptr;

    Handle world = nullptr, self = nullptr, byte = nullptr, errors_return = nullptr,
           null_request = nullptr;
    void *status_ignore = nullptr;
    int any_source = -1, tag_limit_key = 0;
    int serialized = 2, multiple = 3;  // kinds of thread support
    std::string name;                  // of the file

private:
    bool find_functions(std::string *problem);
    bool find_constants(std::string *problem);

    void *library_ = nullptr;
};

// Was this process started by a launcher of MPI?
bool mpi_is_launched();
// How many processes the launcher started, in all and on this host; 0 where it does not say.
int mpi_launched_processes();
int mpi_processes_of_this_host();
// Has the program itself started an MPI that we know?
bool mpi_is_initialized();

}  // namespace infini::cpu::collectives
