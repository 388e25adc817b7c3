# khal_add_kernels(target source.cl [NAME name] [TARGETS cpu|wgsl|ptx...] [OPTIONS option...] [DEPENDS file...])
#
# Compiles a file of OpenCL C kernels into `target`, which can then include "<name>.khal.h". NAME is the prefix of
# everything in that header; the default is the file's name without extension. TARGETS is what to compile for: all that there
# are where it is not given; a kernel that a named target can't have is an error, else a warning. OPTIONS go to khalc (-I, -D,
# ...). Files that the source includes are found by themselves; DEPENDS names others. The target must link to khal::khal or
# khal::khal_static.

cmake_policy(PUSH)
cmake_policy(VERSION 3.21)
function(khal_add_kernels target source)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "NAME" "TARGETS;OPTIONS;DEPENDS")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "khal_add_kernels: unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
    endif()
    if(NOT TARGET ${target})
        message(FATAL_ERROR "khal_add_kernels: there is no target '${target}'")
    endif()
    if(NOT TARGET khal::khalc)
        message(FATAL_ERROR "khal_add_kernels: this khal was built without khalc")
    endif()
    get_filename_component(source ${source} ABSOLUTE)
    if(NOT arg_NAME)
        get_filename_component(arg_NAME ${source} NAME_WE)
    endif()

    set(folder ${CMAKE_CURRENT_BINARY_DIR}/khal-kernels/${target})
    set(base ${folder}/${arg_NAME})
    file(MAKE_DIRECTORY ${folder})
    set(clang_option "")
    if(KHAL_CLANG)
        set(clang_option --clang=${KHAL_CLANG})
    endif()
    if(KHAL_LIBCLC)
        list(APPEND clang_option --libclc=${KHAL_LIBCLC})
    endif()
    set(targets_option "")
    if(arg_TARGETS)
        list(JOIN arg_TARGETS "," targets)
        set(targets_option --targets=${targets})
    endif()
    add_custom_command(OUTPUT ${base}.khal.c ${base}.khal.h
        COMMAND khal::khalc ${source} -o ${base} -MD -MF ${base}.khal.d ${clang_option} ${targets_option} ${arg_OPTIONS}
            "-I$<JOIN:$<TARGET_PROPERTY:khal::khal,INTERFACE_INCLUDE_DIRECTORIES>,;-I>" # <khal/kernel.h>
        DEPENDS ${source} khal::khalc ${arg_DEPENDS}
        DEPFILE ${base}.khal.d
        COMMENT "khalc ${arg_NAME}"
        COMMAND_EXPAND_LISTS VERBATIM)
    target_sources(${target} PRIVATE ${base}.khal.c)
    target_include_directories(${target} PRIVATE ${folder})
    # What <khal/cpu.h> asks for: vectorised loops need maths without errno and traps. Kernels are optimised in
    # debug builds too; KHAL_KERNEL_COMPILE_OPTIONS has the last word. How vectors are passed between functions is
    # nobody's business: they stay inside one file (-Wno-psabi).
    if(NOT MSVC)
        set_property(SOURCE ${base}.khal.c PROPERTY COMPILE_OPTIONS
            -std=gnu11 -O3 -fno-math-errno -fno-trapping-math -Wno-psabi ${KHAL_KERNEL_COMPILE_OPTIONS})
    endif()
endfunction()
cmake_policy(POP)
