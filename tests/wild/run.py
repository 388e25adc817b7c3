#!/usr/bin/env python3
"""Runs OpenCL files that others wrote through khalc, and their kernels beside another OpenCL implementation.

    tests/wild/run.py --build build --list cases.txt [--only NAME] [--no-run]
    tests/wild/run.py --build build --list cases.txt --ptxas PATH [--arch sm_75]

Each line of the list: GROUP FILE [OPTION ...], where the options (-D, -I, -cl-std=) are those that the file's project compiles
it with. Prints a line a file and, with an OpenCL implementation there, a line a kernel; then a table a group.
A file that clang itself refuses counts apart: it is no kernel file for OpenCL C 1.2 with these options.
With --ptxas, the files are compiled to PTX, which is assembled, and nothing runs.
"""
import argparse, collections, os, re, shlex, subprocess, sys, tempfile

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))


def sh(command, timeout=120):
    try:
        p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout)
        return p.returncode, p.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired:
        return -99, "timeout"


def try_ptx(build, path, options, out, args, count):
    """Prints what became of the kernels of a file that khalc takes."""
    code, text = sh([build + "/khalc", path, "--emit=ptx", "-o", out + ".ptx"] + options, 600)
    left_out = set(re.findall(r"kernel '(\w+)'[^\n]*\[KC008\d ", text))
    count["kernels left out"] += len(left_out)
    if code:
        count["no PTX"] += 1
        print("    no PTX: " + text.strip()[:600])
        return
    kernels = len(re.findall(r"^\.visible \.entry \w+\(", open(out + ".ptx").read(), re.M))
    count["kernels"] += kernels
    code, text = sh([args.ptxas, "-arch=" + args.arch, out + ".ptx", "-o", out + ".cubin"], 1200)
    count["not assembled" if code else "kernels assembled"] += kernels
    if code:
        print("    ptxas: " + text.strip()[:600])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--list", required=True)
    parser.add_argument("--only")
    parser.add_argument("--no-run", action="store_true")
    parser.add_argument("--clang", default="clang-19")
    parser.add_argument("--ptxas")
    parser.add_argument("--arch", default="sm_75")
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    work = tempfile.mkdtemp(prefix="khal-wild-")
    compare = os.path.join(work, "compare")
    if not args.no_run and not args.ptxas:
        code, text = sh(["gcc", "-std=gnu11", "-O1", "-I", root + "/include", here + "/compare.c", "-o", compare,
                         "-L", build, "-lkhal", "-Wl,-rpath," + build, "-ldl", "-lm"])
        if code:
            sys.exit(text)
    groups = collections.OrderedDict()
    for line in open(args.list):
        words = shlex.split(line, comments=True)
        if not words or (args.only and args.only not in line):
            continue
        group, path, options = words[0], words[1], words[2:]
        count = groups.setdefault(group, collections.Counter())
        count["files"] += 1
        std = [] if any(o.startswith("-cl-std") for o in options) else ["-cl-std=CL1.2"]
        folder = ["-I", os.path.dirname(path)]
        code, text = sh([args.clang, "-x", "cl", "-target", "spir64", "-fsyntax-only", "-w"] + std + options + folder + [path])
        clang_takes = code == 0
        out = os.path.join(work, "k")
        targets = ["--targets=cpu"] if args.ptxas else []
        code, text = sh([build + "/khalc", path, "-o", out] + targets + options + folder)
        name = os.path.basename(path)
        if code == 0:
            count["taken"] += 1
            verdict = "taken"
        elif code not in (1, 2) or "INTERNAL" in text or "[KC0001" in text:
            count["fault"] += 1
            verdict = "FAULT %d %s" % (code, text.strip()[-300:])
        elif not clang_takes:
            count["not OpenCL C 1.2"] += 1
            verdict = "clang refuses"
        else:
            ids = sorted(set(re.findall(r"\[KC\d+ ([a-z0-9-]+)\]", text)))
            for i in ids:
                count["refused: " + i] += 1
            count["refused"] += 1
            verdict = "refused " + " ".join(ids) + " | " + next((l for l in text.splitlines() if "error:" in l), "")[:200]
        print("%s %s: %s" % (group, name, verdict), flush=True)
        if code:
            continue
        if args.ptxas:
            try_ptx(build, path, options + folder, out, args, count)
            continue
        code, text = sh(["gcc", "-std=gnu11", "-O1", "-w", "-fPIC", "-shared", "-I", root + "/include", out + ".khal.c", "-o", out + ".so",
                         "-lm"], 600)
        if code:
            count["C refused"] += 1
            print("    the C compiler refuses: " + text[:600])
            continue
        count["compiled"] += 1
        if args.no_run:
            continue
        code, text = sh([compare, out + ".so", "k_library", path] + std + options + folder, 900)
        for row in text.splitlines():
            word = row.split(" ")[0]
            if word in ("same", "close", "differs", "crashed-khal", "crashed-opencl", "crashed-both", "refused-opencl", "error"):
                count["kernels"] += 1
                count["k " + word] += 1
                if word not in ("same", "close"):
                    print("    " + row)
            elif "khal:" in row:
                print("    " + row)
        if code:
            print("    compare: %d %s" % (code, text[-300:]))
        sys.stdout.flush()
    for group, count in groups.items():
        print(group, dict(count))


main()
