# The step of action.yml: installs netwarp, runs it, and adds the summary to the job's page. Inputs are in the
# environment, so that no input is ever a part of this script.
set -euo pipefail

fail() {
  echo "::error title=netwarp::$1"
  exit 2
}

[ -n "$SCENARIO" ] || [ -n "$COMMAND" ] || fail "give an input: scenario or command"
[ -z "$SCENARIO" ] || [ -z "$COMMAND" ] || fail "scenario and command are both given; give one of them"

if ! command -v netwarp >/dev/null; then
  place="${RUNNER_TEMP:-/tmp}/netwarp-venv"
  python3 -m venv "$place"
  read -ra wanted <<<"$INSTALL"
  "$place/bin/pip" install --quiet "${wanted[@]}"
  PATH="$place/bin:$PATH"
  echo "$place/bin" >>"$GITHUB_PATH"
fi
netwarp --version

kernel=()
[ -z "$KERNEL" ] || kernel=(--kernel "$KERNEL")
mkdir -p "$OUTPUT"
summary="$OUTPUT/summary.md"

code=0
if [ -n "$SCENARIO" ]; then
  options=(--seeds "$SEEDS" -o "$OUTPUT" "${kernel[@]}")
  [ "$UNDECIDED_PASSES" != true ] || options+=(--undecided-passes)
  [ -z "$BASE_KERNEL" ] || options+=(--base-kernel "$BASE_KERNEL")
  if [ -n "$BASE" ]; then
    options+=(--base "$BASE")
    # The checkout of a pull request has one commit.
    branch="${BASE#origin/}"
    if [ "$branch" != "$BASE" ] && ! git rev-parse --quiet --verify "$BASE^{commit}" >/dev/null; then
      git fetch --quiet --depth=1 origin "$branch:refs/remotes/origin/$branch" || fail "cannot fetch the base $BASE"
    fi
  fi
  netwarp gate "$SCENARIO" "${options[@]}" || code=$?
else
  netwarp exec --seeds "$SEEDS" -o "$OUTPUT/head" --junit "$OUTPUT/netwarp.xml" "${kernel[@]}" -- bash -c "$COMMAND" 2>&1 |
    tee "$OUTPUT/command.txt" || code=$?
  { echo '```'; tail -n 100 "$OUTPUT/command.txt"; echo '```'; } >"$summary"
fi
[ ! -f "$summary" ] || cat "$summary" >>"$GITHUB_STEP_SUMMARY"
exit "$code"
