#!/usr/bin/env python3
"""Makes seeds for the fuzz targets `ast` and `build`: clang's JSON tree of an OpenCL C file, without what khalc never reads.

    make-seeds.py FILE.cl... FOLDER      (CLANG names the compiler; the default is clang)
"""
import json
import os
import re
import subprocess
import sys

DROPPED = {"isUsed", "isReferenced", "mangledName", "nonOdrUseReason", "includedFrom", "spellingLoc", "tokLen", "offset",
           "inline", "parentDeclContextId"}


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
        if key == "range":
            if node.get("kind") != "ExtVectorElementExpr":
                continue
            out[key] = {"end": value.get("end", {})}
        elif key == "loc":
            out[key] = {k: v for k, v in value.items() if k == "line"}
        elif isinstance(value, str) and value.startswith("0x") and (key == "id" or key.endswith("Decl") or key.endswith("Id")):
            out[key] = ids.setdefault(value, f"0x{len(ids) + 1:x}")
        else:
            out[key] = trim(value, ids)
    return out


def main():
    *sources, folder = sys.argv[1:]
    for source in sources:
        dump = subprocess.run(
            [os.environ.get("CLANG", "clang"), "-x", "cl", "-cl-std=CL1.2", "-target", "spir64", "-fsyntax-only",
             "-Xclang", "-ast-dump=json", source], check=True, capture_output=True).stdout
        tree = json.loads(dump)
        with open(source) as f:
            words = set(re.findall(r"\w+", f.read())) | {"size_t"}
        tree["inner"] = [n for n in tree["inner"] if not n.get("isImplicit") and n.get("name") in words]
        name = os.path.splitext(os.path.basename(source))[0]
        with open(os.path.join(folder, name + ".json"), "w") as out:
            json.dump(trim(tree, {}), out, separators=(",", ":"))


main()
