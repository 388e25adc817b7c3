#!/usr/bin/env python3
"""Makes seeds for the fuzz target `build`: clang's JSON tree of an OpenCL C file, without most of what khalc never reads,
and after a byte 0 the lines of the text dump that it reads.

    make-seeds.py FILE.cl... FOLDER      (CLANG names the compiler; the default is clang)
"""
import json
import os
import re
import subprocess
import sys

DROPPED = {"isUsed", "isReferenced", "mangledName", "nonOdrUseReason", "includedFrom", "spellingLoc", "tokLen", "offset", "range",
           "inline", "parentDeclContextId"}


def run_clang(source, dump):
    return subprocess.run(
        [os.environ.get("CLANG", "clang"), "-x", "cl", "-cl-std=CL1.2", "-target", "spir64", "-fsyntax-only",
         "-Dreqd_work_group_size(...)=annotate(\"khal.rwgs\", __VA_ARGS__), reqd_work_group_size(__VA_ARGS__)",
         "-Xclang", dump, source], check=True, capture_output=True, text=True).stdout


def trim(node, ids):
    """The node with short ids and without the places that only an editor wants."""
    if isinstance(node, list):
        return [trim(n, ids) for n in node]
    if not isinstance(node, dict):
        return node
    out = {}
    for key, value in node.items():
        if key in DROPPED:
            continue
        if key == "loc":
            out[key] = {k: v for k, v in value.items() if k == "line"}
        elif isinstance(value, str) and value.startswith("0x") and (key == "id" or key.endswith("Decl") or key.endswith("Id")):
            out[key] = ids.setdefault(value, f"0x{len(ids) + 1:x}")
        else:
            out[key] = trim(value, ids)
    return out


def main():
    *sources, folder = sys.argv[1:]
    for source in sources:
        tree = json.loads(run_clang(source, "-ast-dump=json"))
        with open(source) as f:
            words = set(re.findall(r"\w+", f.read())) | {"size_t"}
        tree["inner"] = [n for n in tree["inner"] if not n.get("isImplicit") and n.get("name", "size_t") in words]
        name = os.path.splitext(os.path.basename(source))[0]
        with open(os.path.join(folder, name + ".json"), "w") as out:
            json.dump(trim(tree, {}), out, separators=(",", ":"))
            names = [l.strip("|`- ") for l in run_clang(source, "-ast-dump").splitlines() if "ExtVectorElementExpr 0x" in l]
            if names:
                out.write("\0" + "\n".join(names))


main()
