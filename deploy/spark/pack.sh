#!/bin/bash
# Weft and its Python packages in one archive, for executors that have a Python of the same version and nothing else.
#   deploy/spark/pack.sh weft-env.tar.gz
set -e
target=$(realpath "${1:?name the archive, such as weft-env.tar.gz}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
root=$(dirname "$0")/../..
"$folder/env/bin/pip" install --quiet --require-hashes --requirement "$root/deploy/requirements.lock"
"$folder/env/bin/pip" install --quiet --no-deps --no-build-isolation --no-index "$root"
python3 -m venv "$folder/tool"
"$folder/tool/bin/pip" install --quiet venv-pack
"$folder/tool/bin/venv-pack" --prefix "$folder/env" --output "$target" --force
