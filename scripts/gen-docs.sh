#!/bin/sh
# Makes docs/errors.md and docs/khalc-diagnostics.md from the two lists of diagnostics.
# gen-docs.sh --check: fails when they are not current.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$root/docs
if [ "${1-}" = --check ]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
fi

errors() {
    cat <<'END'
# Diagnostics of libkhal

Made from `include/khal/errors.def` by `scripts/gen-docs.sh`. `khal_error_get()->id` holds the id, `KHAL_ERROR_` and
the name below; its message tells the actual and the allowed value. Ids keep their numbers for good.
END
    awk '
        /^\/\*.*\*\/$/ { heading = substr($0, 4, length($0) - 6); next }
        /^KHAL_ERROR\(/ {
            if (heading != "") {
                printf "\n## %s\n\n| number | id | status | meaning |\n|---|---|---|---|\n", toupper(substr(heading, 1, 1)) substr(heading, 2)
                heading = ""
            }
            summary = $0
            sub(/^[^"]*"/, "", summary)
            sub(/"\)[^"]*$/, "", summary)
            line = $0
            sub(/^KHAL_ERROR\(/, "", line)
            split(line, field, /, */)
            printf "| %s | `%s` | `%s` | %s |\n", field[1], field[2], field[3], summary
        }' "$root/include/khal/errors.def"
}

diagnostics() {
    cat <<'END'
# Diagnostics of khalc

Made from `khalc/diagnostics.def` by `scripts/gen-docs.sh`. khalc writes `file:line:column: error: text [KC0020 goto]`;
ids keep their numbers for good.
END
    awk '
        /^\/\*.*\*\/$/ && !/KC_DIAGNOSTIC\(/ { heading = substr($0, 4, length($0) - 6); next }
        /^KC_DIAGNOSTIC\(/ {
            if (heading != "") {
                printf "\n## %s\n\n| id | name | meaning |\n|---|---|---|\n", toupper(substr(heading, 1, 1)) substr(heading, 2)
                heading = ""
            }
            summary = $0
            sub(/^[^"]*"/, "", summary)
            sub(/"\)[^"]*$/, "", summary)
            line = $0
            sub(/^KC_DIAGNOSTIC\(/, "", line)
            split(line, field, /, */)
            name = tolower(field[2])
            gsub(/_/, "-", name)
            printf "| KC%04d | `%s` | %s |\n", field[1], name, summary
        }' "$root/khalc/diagnostics.def"
}

errors > "$folder/errors.md"
diagnostics > "$folder/khalc-diagnostics.md"
[ "$folder" = "$root/docs" ] && exit 0

status=0
for page in errors.md khalc-diagnostics.md; do
    if ! diff -u "$root/docs/$page" "$folder/$page"; then
        echo "docs/$page is not current: run scripts/gen-docs.sh" >&2
        status=1
    fi
done
exit $status
