# Sourced by gpu_check.sh and record_*.sh, with their arguments. Changes to the project folder
# `root` and sets `program` (of the finished build), `environment` (JSON) and `output`, the results
# folder of this GPU ($1; default results/<GPU>, e.g. results/h200). Fails without a Hopper GPU.

cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
program=$PWD/build/hgemm-tune
environment=$("$program" doctor --environment)
gpu=$(sed -n 's/^ *"gpu_name": *"\(NVIDIA \)\?\([^"]*\)".*/\2/p' <<<"$environment")
default_output=results/$(tr 'A-Z ' 'a-z-' <<<"$gpu")
output=${1:-$default_output}
mkdir -p "$output"
